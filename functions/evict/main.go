// Command evict is the evict function: once a minute it finds the leases that
// ended, heals what readers missed, and publishes snapshot and statistics.
package main

import (
	"fmt"
	"os"

	"github.com/aws/aws-lambda-go/lambda"

	"github.com/eurekaless/registry/functions/boot"
)

func main() {
	handler, err := handler()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	lambda.Start(handler)
}

func handler() (lambda.Handler, error) {
	parts, err := boot.Function(os.LookupEnv, os.Stdout, boot.Evict)
	if err != nil {
		return nil, err
	}
	return parts.Evict()
}
