package main

import (
	"context"
	"errors"
	"slices"

	"github.com/eurekaless/registry/functions/boot"
	"github.com/eurekaless/registry/local/migration"
)

const exportHelp = `
Prints all leases of the table at AWS_ENDPOINT_URL_DYNAMODB, which must be set,
as JSON: one a line, sorted by application and instance, with the times and the
version that the table keeps beside what was registered. It reads consistently
and changes nothing. "import FILE TO" registers what it printed again.`

// exportReads: where the table is.
func exportReads(s boot.Setting) bool {
	return slices.Contains([]string{
		"AWS_REGION", "AWS_ENDPOINT_URL_DYNAMODB", "REGISTRY_LEASE_TABLE", "REGISTRY_LOG_LEVEL",
	}, s.Name)
}

// runExport is the sub-command export.
func runExport(ctx context.Context, p *process) error {
	if p.config.DynamoDBEndpoint == "" {
		return errors.New("AWS_ENDPOINT_URL_DYNAMODB is not set: it says where the table is")
	}
	b, err := reach(ctx, p)
	if err == nil {
		err = b.findTables(ctx, p.config, p.config.LeaseTable)
	}
	if err != nil {
		return err
	}
	leases, err := b.parts(p).Tables.Scan(ctx)
	if err != nil {
		return err
	}
	return migration.Export(p.out, leases)
}
