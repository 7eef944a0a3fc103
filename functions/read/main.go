// Command read is the read function: lists from the warm container's view, single
// instances from the lease table.
package main

import (
	"fmt"
	"os"

	"github.com/aws/aws-lambda-go/lambda"

	"github.com/eurekaless/registry/core/dashboard/templates"
	"github.com/eurekaless/registry/functions/boot"
)

func main() {
	parts, err := boot.Function(os.LookupEnv, os.Stdout, boot.Read)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	parts.Pages = templates.New()
	lambda.Start(parts.Read())
}
