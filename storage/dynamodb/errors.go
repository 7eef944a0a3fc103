package dynamodb

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/middleware"

	"github.com/eurekaless/registry/core/eureka"
)

// classify returns the contract's error for what the SDK's client returned.
// It is the only place that knows DynamoDB's errors, but for failed conditions.
//
//   - The context ended, the network, a 5xx, a missing table or permission:
//     eureka.ErrUnavailable. A write may have been applied.
//   - Throttled at every try: eureka.ErrThrottled.
//   - An item above 400 KB: eureka.ErrTooLarge.
//   - Any other refusal of the request as such is a fault of this package, and
//     no sentinel.
func classify(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if ended := ctx.Err(); ended != nil {
		if errors.Is(err, ended) {
			return fmt.Errorf("%w: %w", eureka.ErrUnavailable, err)
		}
		return fmt.Errorf("%w: %w: %w", eureka.ErrUnavailable, ended, err)
	}
	var api smithy.APIError
	if errors.As(err, &api) {
		switch {
		case throttled(err) && !errors.As(err, new(*unsureError)):
			return fmt.Errorf("%w: %w", eureka.ErrThrottled, err)
		case api.ErrorCode() == codeValidation && strings.Contains(api.ErrorMessage(), "Item size"):
			return fmt.Errorf("%w: %w", eureka.ErrTooLarge, err)
		case api.ErrorCode() == codeValidation, api.ErrorCode() == codeSerialization:
			return err
		}
	}
	return fmt.Errorf("%w: %w", eureka.ErrUnavailable, err)
}

const (
	codeValidation    = "ValidationException"
	codeSerialization = "SerializationException"
)

// throttled reports whether the database refused to work for now.
func throttled(err error) bool {
	return retry.IsErrorThrottles(retry.DefaultThrottles).IsErrorThrottle(err).Bool()
}

// unsureError is an error of a call one of whose tries may have been applied,
// although the last was not.
type unsureError struct{ error }

// Unwrap returns the last try's error.
func (e *unsureError) Unwrap() error { return e.error }

// markUnsure is a middleware for the SDK's client. The SDK returns the last
// try's error only: throttled, after a try whose answer was lost, does not mean
// that nothing was done.
func markUnsure(stack *middleware.Stack) error {
	return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("MarkUnsure",
		func(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (
			middleware.InitializeOutput, middleware.Metadata, error,
		) {
			out, metadata, err := next.HandleInitialize(ctx, in)
			if err != nil && unsure(metadata) {
				err = &unsureError{err}
			}
			return out, metadata, err
		}), middleware.Before)
}

// unsure reports whether a try failed in a way that may have been applied.
func unsure(metadata middleware.Metadata) bool {
	results, _ := retry.GetAttemptResults(metadata)
	for _, r := range results.Results {
		if r.Err != nil && !throttled(r.Err) {
			return true
		}
	}
	return false
}

// ctxError returns the contract's error of a context that has ended.
func ctxError(ctx context.Context) error {
	return classify(ctx, ctx.Err())
}
