package dynamodb

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Count implements [registry.Counter]: half a read unit for each 4 KB of the
// application's items, tombstones among them, up to the page that reaches the
// limit.
func (s *Store) Count(ctx context.Context, app string, limit int) (int, error) {
	in := &dynamodb.QueryInput{
		TableName:                 &s.cfg.LeaseTable,
		KeyConditionExpression:    aws.String("#app = :app"),
		FilterExpression:          aws.String("attribute_exists(#info)"),
		ExpressionAttributeNames:  map[string]string{"#app": AttrApp, "#info": AttrInfo},
		ExpressionAttributeValues: item{":app": text(app)},
		Select:                    types.SelectCount,
	}
	n := 0
	for {
		out, err := s.api.Query(ctx, in)
		if err != nil {
			return 0, fmt.Errorf("count leases of %s: %w", app, classify(ctx, err))
		}
		n += int(out.Count)
		if n >= limit || len(out.LastEvaluatedKey) == 0 {
			return min(n, limit), nil
		}
		in.ExclusiveStartKey = out.LastEvaluatedKey
	}
}
