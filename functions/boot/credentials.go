package boot

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/arn"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"

	"github.com/eurekaless/registry/core/access"
	"github.com/eurekaless/registry/core/httpapi"
)

// maxCredentials is the size of the largest file of credentials, in bytes. A
// secret may have a sixteenth of it.
const maxCredentials = 1 << 20

// secretGuard returns the guard by the secret that the settings name; nil
// without one. The secret is read at once: while a container starts, it has a
// whole processor. A secret that cannot be read then is tried again by the
// first request, which says so.
func secretGuard(cfg Config, awsConfig aws.Config, log *slog.Logger) httpapi.Gate {
	if cfg.CredentialsSecret == "" {
		return nil
	}
	guard := access.New(access.Config{Source: SecretSource(awsConfig, cfg.CredentialsSecret), Logger: log})
	_ = guard.Load(context.Background()) // the guard has logged it
	return guard
}

// SecretSource returns a source that reads the current version of a secret,
// in the region that its ARN names.
func SecretSource(cfg aws.Config, secret string) access.Source {
	client := secretsmanager.NewFromConfig(cfg, func(o *secretsmanager.Options) {
		if parsed, err := arn.Parse(secret); err == nil {
			o.Region = parsed.Region
		}
	})
	return func(ctx context.Context) ([]byte, error) {
		out, err := client.GetSecretValue(ctx, &secretsmanager.GetSecretValueInput{SecretId: &secret})
		if err != nil {
			return nil, fmt.Errorf("read secret %s: %w", secret, err)
		}
		if out.SecretString == nil {
			return out.SecretBinary, nil
		}
		return []byte(*out.SecretString), nil
	}
}

// errNotRegular is why a pipe or a device is not read: its content is there only
// once, if somebody writes it at all, and credentials are read again and again.
var errNotRegular = errors.New("not a regular file")

// FileSource returns a source that reads a file.
func FileSource(name string) access.Source {
	return func(context.Context) ([]byte, error) {
		if info, err := os.Stat(name); err == nil && !info.IsDir() && !info.Mode().IsRegular() {
			return nil, fmt.Errorf("credentials: %w", &fs.PathError{Op: "open", Path: name, Err: errNotRegular})
		}
		file, err := os.Open(name)
		if err != nil {
			return nil, fmt.Errorf("credentials: %w", err)
		}
		defer file.Close()
		data, err := io.ReadAll(io.LimitReader(file, maxCredentials+1))
		if err != nil {
			return nil, fmt.Errorf("credentials: %w", err)
		}
		if len(data) > maxCredentials {
			return nil, fmt.Errorf("credentials: %s has more than %d bytes", name, maxCredentials)
		}
		return data, nil
	}
}
