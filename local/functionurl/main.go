// Command functionurl is a function URL in front of `sam local start-lambda`,
// which has none. infra/sam-local runs it for Entry=url. Responses are buffered,
// since the SAM CLI passes on streamed ones only if they are text.
package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/eurekaless/registry/local/apigateway"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:3000", "address of the function URL")
	lambda := flag.String("lambda", "http://127.0.0.1:3001", "endpoint of Lambda")
	name := flag.String("function", "ApiFunction", "name of the function")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	server := &http.Server{
		Addr:              *listen,
		Handler:           apigateway.NewFunctionURL(function{endpoint: *lambda, name: *name}, log, time.Now),
		ReadHeaderTimeout: 10 * time.Second,
	}
	context.AfterFunc(ctx, func() { _ = server.Close() })
	if err := server.ListenAndServe(); ctx.Err() == nil {
		log.Error("function URL ended", "error", err)
		os.Exit(1)
	}
}

// function is a function behind Lambda's API.
type function struct{ endpoint, name string }

// Invoke calls the function and returns its response.
func (f function) Invoke(ctx context.Context, payload []byte) ([]byte, error) {
	url := f.endpoint + "/2015-03-31/functions/" + f.name + "/invocations"
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(payload))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, fmt.Errorf("invoke %s: %w", f.name, err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, fmt.Errorf("invoke %s: %w", f.name, err)
	}
	if resp.StatusCode != http.StatusOK || resp.Header.Get("X-Amz-Function-Error") != "" {
		return nil, fmt.Errorf("invoke %s: status %d: %.500s", f.name, resp.StatusCode, body)
	}
	return body, nil
}
