package dynamodb_test

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsdynamodb "github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/eurekaless/registry/core/eureka"
	"github.com/eurekaless/registry/storage/dynamodb"
	"github.com/eurekaless/registry/storage/dynamodb/enginetest"
	"github.com/eurekaless/registry/storage/storagetest"
)

func TestConformance(t *testing.T) {
	enginetest.Each(t, func(t *testing.T, e enginetest.Engine) {
		storagetest.Run(t, func(t *testing.T) storagetest.Driver {
			client, cfg := e.Client(t), e.Tables(t)
			cfg.TTLGrace, cfg.OverrideKept = 5*time.Hour, 3*time.Hour
			s := dynamodb.New(client, cfg)
			return storagetest.Driver{
				Registry: s, Counter: s, Eviction: s, Deltas: s, Publications: s, Source: s,
				TTLGrace: cfg.TTLGrace, OverrideKept: cfg.OverrideKept,
				Inspect: inspect(client, cfg),
			}
		})
	})
}

type item = map[string]types.AttributeValue

func text(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

func leaseKey(key eureka.Key) item {
	return item{dynamodb.AttrApp: text(key.App), dynamodb.AttrID: text(key.ID)}
}

func inspect(client *awsdynamodb.Client, cfg dynamodb.Config) storagetest.Inspect {
	pointer := func(name string) item {
		return item{dynamodb.AttrPartition: text(name), dynamodb.AttrPosition: text("current")}
	}
	deleteItem := func(ctx context.Context, key item) error {
		_, err := client.DeleteItem(ctx, &awsdynamodb.DeleteItemInput{TableName: &cfg.DeltaTable, Key: key})
		return err
	}
	set := func(ctx context.Context, table string, key item, attribute string, v types.AttributeValue) error {
		_, err := client.UpdateItem(ctx, &awsdynamodb.UpdateItemInput{
			TableName: &table, Key: key,
			UpdateExpression:          aws.String("SET #a = :a"),
			ExpressionAttributeNames:  map[string]string{"#a": attribute},
			ExpressionAttributeValues: item{":a": v},
		})
		return err
	}
	return storagetest.Inspect{
		Unpublish: func(ctx context.Context) error {
			for _, name := range []string{"snapshot", "statistics", "recent"} {
				if err := deleteItem(ctx, pointer(name)); err != nil {
					return err
				}
			}
			return nil
		},
		DropChunk: func(ctx context.Context) error {
			out, err := client.GetItem(ctx, &awsdynamodb.GetItemInput{TableName: &cfg.DeltaTable, Key: pointer("snapshot")})
			if err != nil {
				return err
			}
			generation := out.Item[dynamodb.AttrGeneration].(*types.AttributeValueMemberS).Value
			return deleteItem(ctx, item{
				dynamodb.AttrPartition: text("snapshot#" + generation + "#1"), dynamodb.AttrPosition: text("part"),
			})
		},
		Reformat: func(ctx context.Context) error {
			return set(ctx, cfg.DeltaTable, pointer("snapshot"), dynamodb.AttrFormat, &types.AttributeValueMemberN{Value: "99"})
		},
		Corrupt: func(ctx context.Context, key eureka.Key) error {
			return set(ctx, cfg.LeaseTable, leaseKey(key), dynamodb.AttrInfo, &types.AttributeValueMemberB{Value: []byte("garbage")})
		},
		Expiry: func(ctx context.Context, key eureka.Key) (time.Time, error) {
			out, err := client.GetItem(ctx, &awsdynamodb.GetItemInput{
				TableName: &cfg.LeaseTable, Key: leaseKey(key), ConsistentRead: aws.Bool(true),
			})
			if err != nil {
				return time.Time{}, err
			}
			seconds, err := strconv.ParseInt(out.Item[dynamodb.AttrTTL].(*types.AttributeValueMemberN).Value, 10, 64)
			return time.Unix(seconds, 0), err
		},
	}
}
