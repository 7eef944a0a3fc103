package dynamodb

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
)

// ErrNotLocal says that tables are created by the template, everywhere but at
// a loopback address.
var ErrNotLocal = errors.New("tables are created at a loopback address only")

// tableWait bounds the wait for a created table.
const tableWait = 30 * time.Second

// CreateTables creates those of the two tables that are not there, with TTL
// and stream, and returns the names of the created. The client's endpoint must
// be at a loopback address, or nothing is done and the error is [ErrNotLocal].
func CreateTables(ctx context.Context, client *dynamodb.Client, leaseTable, deltaTable string) ([]string, error) {
	if endpoint := aws.ToString(client.Options().BaseEndpoint); !Loopback(endpoint) {
		return nil, fmt.Errorf("endpoint %q: %w", endpoint, ErrNotLocal)
	}
	var created []string
	for _, definition := range []*dynamodb.CreateTableInput{LeaseTable(leaseTable), DeltaTable(deltaTable)} {
		name := aws.ToString(definition.TableName)
		made, err := createTable(ctx, client, definition)
		if err != nil {
			return created, fmt.Errorf("create table %q: %w", name, err)
		}
		if made {
			created = append(created, name)
		}
	}
	return created, nil
}

// createTable reports whether the table was not there before.
func createTable(ctx context.Context, client *dynamodb.Client, definition *dynamodb.CreateTableInput) (bool, error) {
	_, err := client.CreateTable(ctx, definition)
	there := errors.As(err, new(*types.ResourceInUseException))
	if err != nil && !there {
		return false, err
	}
	waiter := dynamodb.NewTableExistsWaiter(client, func(o *dynamodb.TableExistsWaiterOptions) {
		o.MinDelay, o.MaxDelay = 100*time.Millisecond, time.Second
	})
	if err := waiter.Wait(ctx, &dynamodb.DescribeTableInput{TableName: definition.TableName}, tableWait); err != nil {
		return false, err
	}
	_, err = client.UpdateTimeToLive(ctx, &dynamodb.UpdateTimeToLiveInput{
		TableName: definition.TableName,
		TimeToLiveSpecification: &types.TimeToLiveSpecification{
			AttributeName: aws.String(AttrTTL), Enabled: aws.Bool(true),
		},
	})
	if err != nil && !ttlEnabled(err) {
		return false, err
	}
	return !there, nil
}

// ttlEnabled reports whether TTL could not be enabled because it is.
func ttlEnabled(err error) bool {
	var api smithy.APIError
	return errors.As(err, &api) && api.ErrorCode() == codeValidation && strings.Contains(api.ErrorMessage(), "already enabled")
}
