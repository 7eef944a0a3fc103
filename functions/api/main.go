// Command api is the api function: reads and writes behind one function URL,
// whose responses stream.
package main

import (
	"fmt"
	"os"

	"github.com/aws/aws-lambda-go/lambda"

	"github.com/eurekaless/registry/core/dashboard/templates"
	"github.com/eurekaless/registry/functions/boot"
)

func main() {
	parts, err := boot.Function(os.LookupEnv, os.Stdout, boot.API)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	parts.Pages = templates.New()
	if parts.Config.Streaming {
		lambda.Start(parts.Read().Stream)
	}
	lambda.Start(parts.Read())
}
