package discovery

import (
	"context"
	"fmt"
	"os"

	"github.com/eurekaless/registry/core/eureka"
	"github.com/eurekaless/registry/core/wire"
)

// Backup returns a registry for the time in which no server answered yet.
type Backup func(ctx context.Context) (*eureka.Applications, error)

// BackupFile returns a backup from a file that holds the JSON of an answer to
// GET /apps.
func BackupFile(path string) Backup {
	return func(context.Context) (*eureka.Applications, error) {
		body, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("read backup registry: %w", err)
		}
		apps, err := wire.DecodeApplications(wire.JSON, body)
		if err != nil {
			return nil, fmt.Errorf("read backup registry %s: %w", path, err)
		}
		return apps, nil
	}
}
