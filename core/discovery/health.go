package discovery

import (
	"context"
	"time"
)

// health asks the health check, at once and then at the interval, until the
// context ends. It has a goroutine of its own, so that a check that hangs does
// not end the lease of a process that may still serve.
func (c *Client) health(ctx context.Context, ready chan<- struct{}) {
	ticker := time.NewTicker(c.cfg.ReplicationInterval)
	defer ticker.Stop()
	c.checkHealth(ctx)
	close(ready)
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			c.checkHealth(ctx)
		}
	}
}

func (c *Client) checkHealth(ctx context.Context) {
	if ctx.Err() != nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, c.cfg.HealthTimeout)
	defer cancel()
	if status := c.cfg.HealthCheck(ctx, c.own.current().Status); status != "" {
		c.setStatus(status)
	}
}
