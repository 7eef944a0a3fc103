package discovery

import (
	"context"
	"time"

	"github.com/eurekaless/registry/core/eureka"
)

// Instance returns a copy of this process's instance as it says of itself, or
// nil when it has none. [Client.Update] changes the instance.
func (c *Client) Instance() *eureka.InstanceInfo {
	if c.own == nil {
		return nil
	}
	return c.own.current().Clone()
}

// SetStatus changes the instance's own word, which is registered at once. (A
// stock server keeps an instance that said UP or OUT_OF_SERVICE as it is when
// it says the other of the two; use [Client.TakeOutOfService] for that.)
func (c *Client) SetStatus(status eureka.Status) error {
	if c.own == nil {
		return ErrNoInstance
	}
	if _, known := eureka.ParseStatus(string(status)); !known {
		return eureka.Invalidf("status", "%q is none of the protocol's", status)
	}
	c.setStatus(status)
	return nil
}

func (c *Client) setStatus(status eureka.Status) {
	c.own.update(func(i *eureka.InstanceInfo) { i.Status = status })
}

// SetMetadata changes entries of the instance's metadata, which is registered
// at once. An empty value removes an entry.
func (c *Client) SetMetadata(entries map[string]string) error {
	return c.Update(func(i *eureka.InstanceInfo) {
		for key, value := range entries {
			if value == "" {
				delete(i.Metadata, key)
				continue
			}
			setMetadata(i, key, value)
		}
	})
}

// Update changes the instance by a function that gets a copy, and registers it
// at once when that makes a difference. The application and the id stay. The
// function must not call the client.
func (c *Client) Update(change func(*eureka.InstanceInfo)) error {
	if c.own == nil {
		return ErrNoInstance
	}
	c.own.update(change)
	return nil
}

// TakeOutOfService makes the registry show the instance as OUT_OF_SERVICE,
// whatever it says itself, until [Client.ReturnToService]. It returns when the
// registry has taken it; eureka.ErrLeaseNotFound when the instance is not
// registered.
func (c *Client) TakeOutOfService(ctx context.Context) error {
	if c.own == nil {
		return ErrNoInstance
	}
	return c.during(ctx, c.hard, func(ctx context.Context) error {
		return c.api.SetStatus(ctx, c.own.current().Key(), eureka.OutOfService, time.Time{})
	})
}

// ReturnToService ends what [Client.TakeOutOfService], or an operator, did:
// the instance's own word counts again.
func (c *Client) ReturnToService(ctx context.Context) error {
	if c.own == nil {
		return ErrNoInstance
	}
	return c.during(ctx, c.hard, func(ctx context.Context) error {
		own := c.own.current()
		return c.api.RemoveOverride(ctx, own.Key(), own.Status, time.Time{})
	})
}

// Report is the state of a client. Each error is that of the last try, and nil
// after a success.
type Report struct {
	// Status is the instance's own word, RemoteStatus the registry's as last
	// fetched; UNKNOWN when there is none.
	Status, RemoteStatus eureka.Status
	// Registered and Renewed are when the registry last took a registration
	// and a heartbeat; zero when it never did.
	Registered, Renewed         time.Time
	RegistrationErr, RenewalErr error
	// Fetched is when the registry last answered a fetch.
	Fetched  time.Time
	FetchErr error
}

// Report returns the state of the client.
func (c *Client) Report() Report {
	r := Report{Status: eureka.Unknown, Fetched: c.View().Fetched()}
	c.fetcher.mu.Lock()
	r.FetchErr = c.fetcher.err
	c.fetcher.mu.Unlock()
	c.mu.Lock()
	r.RemoteStatus = c.remote
	c.mu.Unlock()
	if c.own == nil {
		return r
	}
	l := c.registrar.reported()
	r.Status = c.own.current().Status
	r.Registered, r.Renewed = l.registered, l.renewed
	r.RegistrationErr, r.RenewalErr = l.registrationErr, l.renewalErr
	return r
}
