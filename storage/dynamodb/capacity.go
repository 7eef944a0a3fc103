package dynamodb

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go/middleware"
)

// Usage is what one call of the database took.
type Usage struct {
	// Operation is DynamoDB's name of it, such as "UpdateItem".
	Operation string
	// ReadUnits and WriteUnits are what it consumed, of all tables together;
	// 0 when it failed, or the engine does not tell.
	ReadUnits, WriteUnits float64
	// Attempts is how often it was tried.
	Attempts int
	// Err is the call's error.
	Err error
}

// ObserveUsage returns an option for clients: each call asks for the capacity
// that it consumes, and is reported when it has ended. The function is called
// on the caller's goroutine and with its context, by many at once.
func ObserveUsage(report func(context.Context, Usage)) func(*dynamodb.Options) {
	observe := func(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (
		middleware.InitializeOutput, middleware.Metadata, error,
	) {
		askForCapacity(in.Parameters)
		out, metadata, err := next.HandleInitialize(ctx, in)
		usage := Usage{Operation: awsmiddleware.GetOperationName(ctx), Err: err}
		if results, ok := retry.GetAttemptResults(metadata); ok {
			usage.Attempts = len(results.Results)
		}
		if err == nil {
			usage.ReadUnits, usage.WriteUnits = consumed(out.Result)
		}
		report(ctx, usage)
		return out, metadata, err
	}
	return func(o *dynamodb.Options) {
		o.APIOptions = append(o.APIOptions, func(stack *middleware.Stack) error {
			return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("ObserveUsage", observe), middleware.Before)
		})
	}
}

// askForCapacity makes an input ask for its consumed capacity.
func askForCapacity(input any) {
	const total = types.ReturnConsumedCapacityTotal
	switch in := input.(type) {
	case *dynamodb.GetItemInput:
		in.ReturnConsumedCapacity = total
	case *dynamodb.PutItemInput:
		in.ReturnConsumedCapacity = total
	case *dynamodb.UpdateItemInput:
		in.ReturnConsumedCapacity = total
	case *dynamodb.BatchWriteItemInput:
		in.ReturnConsumedCapacity = total
	case *dynamodb.QueryInput:
		in.ReturnConsumedCapacity = total
	case *dynamodb.ScanInput:
		in.ReturnConsumedCapacity = total
	}
}

// consumed returns the capacity units of an output.
func consumed(output any) (read, write float64) {
	switch out := output.(type) {
	case *dynamodb.GetItemOutput:
		read = units(out.ConsumedCapacity)
	case *dynamodb.QueryOutput:
		read = units(out.ConsumedCapacity)
	case *dynamodb.ScanOutput:
		read = units(out.ConsumedCapacity)
	case *dynamodb.PutItemOutput:
		write = units(out.ConsumedCapacity)
	case *dynamodb.UpdateItemOutput:
		write = units(out.ConsumedCapacity)
	case *dynamodb.BatchWriteItemOutput:
		for i := range out.ConsumedCapacity {
			write += units(&out.ConsumedCapacity[i])
		}
	}
	return read, write
}

func units(c *types.ConsumedCapacity) float64 {
	if c == nil {
		return 0
	}
	return aws.ToFloat64(c.CapacityUnits)
}
