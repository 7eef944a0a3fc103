// Command stream is the stream function: it brings changes of the lease table to
// the readers.
package main

import (
	"fmt"
	"os"

	"github.com/aws/aws-lambda-go/lambda"

	"github.com/eurekaless/registry/functions/boot"
)

func main() {
	parts, err := boot.Function(os.LookupEnv, os.Stdout, boot.Stream)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	lambda.Start(parts.Stream())
}
