package discovery

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/eurekaless/registry/core/eureka"
)

// Defaults of [Config].
const (
	DefaultServiceURL              = "http://localhost:8761/eureka"
	DefaultFetchInterval           = 30 * time.Second
	DefaultReplicationInterval     = 30 * time.Second
	DefaultInitialReplicationDelay = 40 * time.Second
	DefaultRequestTimeout          = 8 * time.Second
	DefaultRetryPause              = time.Second
	DefaultQuarantineTime          = time.Minute
	DefaultServerTenure            = 20 * time.Minute
	DefaultDeltaWindow             = 150 * time.Second
	DefaultHealthTimeout           = 5 * time.Second
	DefaultMaxResponseBytes        = 16 << 20
	// DefaultClientName is what a client without an instance is called.
	DefaultClientName = "discovery"
)

// Config is what a [Client] works with. The zero value is a client that only
// fetches, from [DefaultServiceURL].
//
// It may hold credentials, so printing it (also with %+v, and in logs) prints
// a summary without them.
type Config struct {
	// ServiceURLs are the base URLs of Eureka servers, such as
	// "https://user:secret@registry.example.org/eureka", in no order;
	// credentials are percent-encoded, a slash at the end makes no
	// difference. In Spring this is "defaultZone". Default
	// [DefaultServiceURL], if there are no ZoneURLs either.
	ServiceURLs []string
	// ZoneURLs are the base URLs of servers of one availability zone, by the
	// zone's name. Default none.
	ZoneURLs map[string][]string
	// Region is the own region's name. When it is set, instances of other
	// regions come last. Default none.
	Region string
	// Zones are the names of availability zones in order of preference, the
	// own zone first: of servers to ask and of instances to call. Default: the
	// one of Instance, or what Locate says, or none, which treats all alike.
	Zones []string
	// RemoteRegions are other regions whose instances are fetched too, where
	// the registry knows them. Default none.
	RemoteRegions []string

	// Instance is what to register; nil: this process only looks others up.
	Instance *Instance
	// RegisterAtStart registers while Start runs, instead of after
	// InitialReplicationDelay. Set it when the service already listens then.
	RegisterAtStart bool
	// InitialReplicationDelay is the time from the start to the first
	// registration, unless the status or metadata change before. Default 40 s.
	InitialReplicationDelay time.Duration
	// ReplicationInterval is the time between two looks at the instance,
	// which is registered anew when it has changed. Changes are registered at
	// once, but after a burst of two no more than one in this time. Default
	// 30 s.
	ReplicationInterval time.Duration
	// HealthCheck, if not nil, is asked for the instance's status at the start
	// and then every ReplicationInterval.
	HealthCheck HealthCheck
	// HealthTimeout is when the context of a health check ends. Default 5 s.
	HealthTimeout time.Duration
	// Locate, if not nil, is asked at the start, and then before each planned
	// replication, where the instance runs; see [AmazonLocator]. Default nil:
	// a data centre of one's own.
	Locate Locator

	// DisableFetch is for a process that only registers.
	DisableFetch bool
	// FetchInterval is the time between two fetches of the registry. Default
	// 30 s.
	FetchInterval time.Duration
	// DisableDelta fetches everything each time.
	DisableDelta bool
	// DeltaWindow is how old the data may be for a delta to complete it; older
	// data is fetched anew. It must be less than the servers keep changes,
	// which is three minutes unless they are told otherwise. Default 150 s.
	DeltaWindow time.Duration
	// OnlyVIP fetches the instances behind one VIP address instead of the
	// registry. Default none.
	OnlyVIP string
	// AllStatuses makes look-ups return instances of every status, instead of
	// those that are UP.
	AllStatuses bool
	// Compact fetches the short form of instances: without metadata, lease
	// and URLs. (Where the zone is in the metadata it is not known then.)
	Compact bool
	// DisableGzip fetches uncompressed.
	DisableGzip bool
	// Backup, if not nil, is asked for a registry when no server answers at
	// the start; see [BackupFile].
	Backup Backup

	// PreferPlainPort calls an instance that has both ports enabled by its
	// plain one. Default: the secure one.
	PreferPlainPort bool
	// CallByIPAddress calls instances by their IP address. Default: by their
	// host name.
	CallByIPAddress bool
	// Picker chooses among the nearest usable instances. Default [Shuffled].
	Picker Picker

	// RequestTimeout bounds each request to a server, its answer's body
	// included. Default 8 s.
	RequestTimeout time.Duration
	// MaxResponseBytes bounds each answer of a server, in bytes after
	// decompression, so that a broken or hostile one cannot fill the memory;
	// what is made of it takes at most twice that. A larger answer is an error
	// ([ErrResponseTooLarge]), and the last good registry stays. Default
	// 16 MiB: some 12,000 instances with all they have, or three times as many
	// with Compact. At the default a hostile server makes this process take at
	// most 256 MiB.
	MaxResponseBytes int
	// RetryPause is the pause after the first failure to register, or to
	// fetch while nothing was fetched yet. Pauses double from failure to
	// failure up to ten times this, and are shortened by up to a quarter at
	// random. Default 1 s.
	RetryPause time.Duration
	// QuarantineTime is how long a server that failed is asked only when all
	// have failed. Default 1 min.
	QuarantineTime time.Duration
	// ServerTenure is the time after which the order of servers within a zone
	// is drawn anew. Default 20 min.
	ServerTenure time.Duration
	// ClientName is sent as DiscoveryIdentity-Name, by which servers limit
	// the rate of requests. Default: the application's name, or
	// [DefaultClientName].
	ClientName string
	// Transport sends requests to servers. Default: a transport of the
	// client's own.
	Transport http.RoundTripper
	// OnCall, if not nil, is called after each request to a server, for
	// metrics. It must not block, and be safe for concurrent use.
	OnCall func(Call)
	// Logger gets what changed and what failed. Default slog.Default().
	Logger *slog.Logger
	// Now is the clock, for timestamps and ages. Default time.Now.
	Now func() time.Time
}

// HealthCheck returns the status of this process, given the one it has. It
// must return when its context ends. An empty status changes nothing.
type HealthCheck func(ctx context.Context, current eureka.Status) eureka.Status

// checked returns the configuration with its defaults, and the servers, or
// every fault at once.
func (c Config) checked() (Config, []*server, error) {
	faults := c.intervalFaults()
	c.setDefaults()
	list, err := parseServers(c.ServiceURLs, c.ZoneURLs)
	if err != nil {
		faults = append(faults, err)
	}
	if c.Instance != nil {
		faults = append(faults, c.Instance.faults()...)
	}
	if len(faults) > 0 {
		return Config{}, nil, fmt.Errorf("discovery configuration: %w", errors.Join(faults...))
	}
	return c, list, nil
}

func (c *Config) intervalFaults() []error {
	var faults []error
	if c.MaxResponseBytes < 0 {
		faults = append(faults, fmt.Errorf("MaxResponseBytes %d is negative", c.MaxResponseBytes))
	}
	for _, interval := range []struct {
		name  string
		value time.Duration
	}{
		{"InitialReplicationDelay", c.InitialReplicationDelay}, {"ReplicationInterval", c.ReplicationInterval},
		{"HealthTimeout", c.HealthTimeout}, {"FetchInterval", c.FetchInterval}, {"DeltaWindow", c.DeltaWindow},
		{"RequestTimeout", c.RequestTimeout}, {"RetryPause", c.RetryPause}, {"QuarantineTime", c.QuarantineTime},
		{"ServerTenure", c.ServerTenure},
	} {
		if interval.value < 0 {
			faults = append(faults, fmt.Errorf("%s %s is negative", interval.name, interval.value))
		}
	}
	return faults
}

func (c *Config) setDefaults() {
	if len(c.ServiceURLs) == 0 && len(c.ZoneURLs) == 0 {
		c.ServiceURLs = []string{DefaultServiceURL}
	}
	if i := c.Instance; i != nil {
		c.ClientName = cmp.Or(c.ClientName, i.App)
		if zone := cmp.Or(i.DataCenter.Metadata[amazonZone], i.Metadata[metadataZone]); zone != "" && len(c.Zones) == 0 {
			c.Zones = []string{zone}
		}
	}
	c.ClientName = cmp.Or(c.ClientName, DefaultClientName)
	c.FetchInterval = cmp.Or(c.FetchInterval, DefaultFetchInterval)
	c.ReplicationInterval = cmp.Or(c.ReplicationInterval, DefaultReplicationInterval)
	c.InitialReplicationDelay = cmp.Or(c.InitialReplicationDelay, DefaultInitialReplicationDelay)
	c.RequestTimeout = cmp.Or(c.RequestTimeout, DefaultRequestTimeout)
	c.RetryPause = cmp.Or(c.RetryPause, DefaultRetryPause)
	c.QuarantineTime = cmp.Or(c.QuarantineTime, DefaultQuarantineTime)
	c.ServerTenure = cmp.Or(c.ServerTenure, DefaultServerTenure)
	c.DeltaWindow = cmp.Or(c.DeltaWindow, DefaultDeltaWindow)
	c.MaxResponseBytes = cmp.Or(c.MaxResponseBytes, DefaultMaxResponseBytes)
	c.HealthTimeout = cmp.Or(c.HealthTimeout, DefaultHealthTimeout)
	if c.Picker == nil {
		c.Picker = Shuffled()
	}
	if c.Transport == nil {
		c.Transport = newTransport()
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	if c.Now == nil {
		c.Now = time.Now
	}
}

// String returns a summary without credentials.
func (c Config) String() string {
	var parts []string
	list, _ := parseServers(c.ServiceURLs, c.ZoneURLs) // what cannot be read is left out
	for _, s := range list {
		parts = append(parts, s.base)
	}
	app := "none"
	if c.Instance != nil {
		app = c.Instance.App
	}
	return fmt.Sprintf("discovery of %s at [%s]", app, strings.Join(parts, " "))
}

// GoString is as [Config.String].
func (c Config) GoString() string { return c.String() }

// LogValue is as [Config.String].
func (c Config) LogValue() slog.Value { return slog.StringValue(c.String()) }
