package dynamodb

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// Operations returns a client as what a [Store] needs of it and no more. A
// function that renders pages needs this: their templates call methods by name,
// and where anything does, the linker keeps every exported method of each type
// that becomes an interface. Of the client itself these would be all operations
// of DynamoDB, 0.3 MB of a function's package (TestPackageSize); behind functions
// they are those that are called.
func Operations(client *dynamodb.Client) API {
	return operations{
		getItem: client.GetItem, putItem: client.PutItem, updateItem: client.UpdateItem,
		batchWriteItem: client.BatchWriteItem, query: client.Query, scan: client.Scan,
	}
}

// operation is one of the client's.
type operation[Input, Output any] func(context.Context, *Input, ...func(*dynamodb.Options)) (*Output, error)

type operations struct {
	getItem        operation[dynamodb.GetItemInput, dynamodb.GetItemOutput]
	putItem        operation[dynamodb.PutItemInput, dynamodb.PutItemOutput]
	updateItem     operation[dynamodb.UpdateItemInput, dynamodb.UpdateItemOutput]
	batchWriteItem operation[dynamodb.BatchWriteItemInput, dynamodb.BatchWriteItemOutput]
	query          operation[dynamodb.QueryInput, dynamodb.QueryOutput]
	scan           operation[dynamodb.ScanInput, dynamodb.ScanOutput]
}

func (o operations) GetItem(ctx context.Context, in *dynamodb.GetItemInput, options ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	return o.getItem(ctx, in, options...)
}

func (o operations) PutItem(ctx context.Context, in *dynamodb.PutItemInput, options ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	return o.putItem(ctx, in, options...)
}

func (o operations) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, options ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	return o.updateItem(ctx, in, options...)
}

func (o operations) BatchWriteItem(ctx context.Context, in *dynamodb.BatchWriteItemInput, options ...func(*dynamodb.Options)) (*dynamodb.BatchWriteItemOutput, error) {
	return o.batchWriteItem(ctx, in, options...)
}

func (o operations) Query(ctx context.Context, in *dynamodb.QueryInput, options ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	return o.query(ctx, in, options...)
}

func (o operations) Scan(ctx context.Context, in *dynamodb.ScanInput, options ...func(*dynamodb.Options)) (*dynamodb.ScanOutput, error) {
	return o.scan(ctx, in, options...)
}
