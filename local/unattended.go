package main

import (
	"context"
	"time"

	"github.com/eurekaless/registry/functions/boot"
)

// lingerTime is how long a process with its tables at AWS goes on serving after
// it was told to stop: clients keep its address for as long, in DNS caches and
// in the JVM, and fail over to another process only when a request fails.
const lingerTime = time.Minute

// serviceName stands for the function's name in the metrics.
const serviceName = "registry-serve"

// unattended reports whether the process runs as a service beside the stack's
// functions, with its tables at AWS, and nobody at a terminal.
func (p *process) unattended() bool { return boot.AtAWS(p.config.DynamoDBEndpoint) }

// logAsFunction makes log lines and metrics go to the standard output in the
// functions' formats, which CloudWatch Logs understands.
func (p *process) logAsFunction() {
	p.log = boot.NewLogger(p.out, p.config.LogLevel)
	p.meter = boot.NewMetrics(p.out, serviceName, boot.FlushEvery, time.Now)
}

// outlasting returns the context that ends when the process is to stop serving:
// with ctx, or lingerTime later when it is unattended. A second signal ends the
// process at once.
func (p *process) outlasting(ctx context.Context) context.Context {
	if !p.unattended() {
		return ctx
	}
	lingering, end := context.WithCancel(context.WithoutCancel(ctx))
	context.AfterFunc(ctx, func() {
		p.log.Info("stopping", "servesForSeconds", lingerTime.Seconds())
		time.AfterFunc(lingerTime, end)
	})
	return lingering
}
