// Command write is the write function: registrations, renewals, cancels, status
// and metadata, each a conditional write of the lease table.
package main

import (
	"fmt"
	"os"
	"runtime/debug"

	"github.com/aws/aws-lambda-go/lambda"

	"github.com/eurekaless/registry/functions/boot"
)

func main() {
	parts, err := boot.Function(os.LookupEnv, os.Stdout, boot.Write)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if _, set := os.LookupEnv("GOGC"); !set {
		debug.SetGCPercent(boot.WriteGCPercent)
	}
	lambda.Start(parts.Write())
}
