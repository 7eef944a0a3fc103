package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"time"

	"github.com/eurekaless/registry/core/access"
	"github.com/eurekaless/registry/core/httpapi"
	"github.com/eurekaless/registry/functions/boot"
	"github.com/eurekaless/registry/local/fairness"
	"github.com/eurekaless/registry/storage/dynamodb"
	"github.com/eurekaless/registry/storage/dynamodb/sdkconfig"
)

// guard returns the guard by the file or the secret with the credentials, which
// it reads; nil where nobody needs any.
func guard(ctx context.Context, p *process) (httpapi.Gate, error) {
	if p.config.Anonymous {
		return nil, nil
	}
	name, source := "REGISTRY_CREDENTIALS_FILE", boot.FileSource(p.config.CredentialsFile)
	if secret := p.config.CredentialsSecret; secret != "" {
		loaded, err := sdkconfig.Load(ctx, dynamodb.ClientConfig{})
		if err != nil {
			return nil, err
		}
		name, source = "REGISTRY_CREDENTIALS_SECRET", boot.SecretSource(loaded, secret)
	} else if err := checkCredentials(ctx, p.config.CredentialsFile); err != nil {
		return nil, err
	}
	g := access.New(access.Config{Source: source, Logger: p.log})
	if err := g.Load(ctx); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return g, nil
}

// checkCredentials returns on one line why a file of credentials cannot be used.
func checkCredentials(ctx context.Context, file string) error {
	document, err := boot.FileSource(file)(ctx)
	if err == nil {
		err = access.Check(document)
	}
	if reason := new(fs.PathError); errors.As(err, &reason) {
		err = reason.Err
	}
	if err != nil {
		return fmt.Errorf("REGISTRY_CREDENTIALS_FILE=%s: %w", file, err)
	}
	return nil
}

// limiter returns the limiter of reads; nil where there is no limit.
func limiter(config boot.Config) httpapi.Gate {
	if config.RateLimit == 0 {
		return nil
	}
	return fairness.New(config.RateLimit, config.PrivilegedClients, time.Now)
}

// maxPasswordLine is more than any password has, in bytes.
const maxPasswordLine = 4096

// runCredentials is the sub-command credentials. The password is read where
// neither a list of processes nor a shell's history shows it.
func runCredentials(ctx context.Context, p *process) error {
	password, err := readPassword(ctx, p.in)
	if err != nil {
		return fmt.Errorf("read the password: %w", err)
	}
	hash, err := access.Hash(password)
	if err != nil {
		return err
	}
	p.say("%s", hash)
	return nil
}

// readPassword reads a line. When the context ends it does not wait for what a
// terminal would still give.
func readPassword(ctx context.Context, in io.Reader) (string, error) {
	var line string
	var err error
	read := make(chan struct{})
	go func() {
		defer close(read)
		line, err = bufio.NewReader(io.LimitReader(in, maxPasswordLine)).ReadString('\n')
	}()
	select {
	case <-ctx.Done():
		return "", ctx.Err()
	case <-read:
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	return strings.TrimRight(line, "\r\n"), nil
}
