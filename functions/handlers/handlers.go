// Package handlers holds the four Lambda handlers as plain values: HTTP (which
// the write and the read function share), Stream and Evict. Each has Invoke,
// event JSON in and answer JSON out, which is what the Lambda runtime wants
// and what the local process calls for the same behaviour; Stream and Evict
// can be called with values as well. Nothing here starts a runtime, ends a
// process, or keeps anything between invocations but what it was given.
package handlers

import (
	"context"
	"time"
)

// reserve is the part of an invocation's time that is kept for saying that
// the rest was not enough. Lambda ends a container that does not answer in
// time, and with it the connections and the view that it holds.
const reserve = 500 * time.Millisecond

// within returns the context that ends so much before the invocation's that an
// answer can still be given. The local process sets no deadline.
func within(ctx context.Context) (context.Context, context.CancelFunc) {
	deadline, ok := ctx.Deadline()
	if !ok {
		return ctx, func() {}
	}
	return context.WithDeadline(ctx, deadline.Add(-reserve))
}
