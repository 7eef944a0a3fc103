package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"
)

const (
	// healthTimeout is less than a container's health check may take.
	healthTimeout = 4 * time.Second
	// maxHealthText is how much of an unhealthy answer is shown, in bytes.
	maxHealthText = 200
)

// runHealth is the sub-command health.
func runHealth(ctx context.Context, p *process) error {
	host, port, err := net.SplitHostPort(p.config.Listen)
	if err != nil {
		return fmt.Errorf("REGISTRY_LISTEN: %w", err)
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+net.JoinHostPort(host, port)+"/health", nil)
	if err != nil {
		return err
	}
	// A proxy that the environment names is for others.
	client := &http.Client{Transport: &http.Transport{Proxy: nil}}
	resp, err := client.Do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(resp.Body, maxHealthText)) // what came of it is enough
		return fmt.Errorf("%s answers %s: %s", r.URL, resp.Status, text)
	}
	return nil
}
