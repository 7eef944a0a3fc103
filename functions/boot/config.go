// Package boot turns the environment into the parts of a function: settings,
// logger, metrics, AWS clients, and the handlers put together from them. The
// local process uses the same with defaults of its own.
package boot

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/eurekaless/registry/core/eviction"
)

// Config is the settings of a function or of the local process. [Settings]
// says for each its variable, default and unit; a field that a function does
// not use has its default there. Nothing in it is secret, except that the
// local process accepts credentials in the URLs of RemoteRegions.
type Config struct {
	// LeaseTable and DeltaTable are names of tables.
	LeaseTable string
	DeltaTable string
	// CacheRefresh is the interval of the read-only view; 0: every read is
	// consistent with the table.
	CacheRefresh time.Duration
	// DeltaRetention is the window of the deltas.
	DeltaRetention time.Duration
	// EvictionInterval is the pace of eviction passes; 0, only locally: never.
	EvictionInterval time.Duration
	// Eviction says which leases a pass may evict.
	Eviction eviction.Policy
	// RenewalWriteInterval is for how long after a renewal that it wrote a
	// process answers heartbeats from memory; 0: it writes every one.
	RenewalWriteInterval time.Duration
	// OverrideKept is how long an override outlives an eviction.
	OverrideKept time.Duration
	// TTLGrace is how far past a lease's end its TTL attribute lies.
	TTLGrace time.Duration
	// ListMemory is how many bytes the lists of applications and VIPs take that
	// are kept or being sent.
	ListMemory int64
	// MaxBody is the largest request body in bytes.
	MaxBody int64
	// BodyMemory is how many bytes of request bodies are worked on at once.
	BodyMemory int64
	// MaxMetadata is how many metadata entries an instance may have.
	MaxMetadata int
	// MaxInstance is the largest instance in bytes, as it is in lists; readers
	// skip larger ones.
	MaxInstance int
	// MaxBatch is how many operations a peer may send in one request.
	MaxBatch int
	// MaxInstances is how many instances an application may have; 0: any.
	MaxInstances int
	// Region is shown on the status page; AWSRegion is where the tables are.
	Region    string
	AWSRegion string
	// RemoteRegions are other regions to read.
	RemoteRegions []RemoteRegion
	// MaxRegion is the largest answer of one of them, and MaxResponse of a
	// registry that is imported or compared, in bytes after decompression.
	MaxRegion   int64
	MaxResponse int64
	// DynamoDBEndpoint and StreamsEndpoint are other addresses of the
	// services than AWS's own; empty: AWS's.
	DynamoDBEndpoint string
	StreamsEndpoint  string
	// LogLevel is the least level that is logged.
	LogLevel slog.Level
	// CredentialsSecret is the ARN of the secret that holds the credentials.
	CredentialsSecret string
	// CredentialsFile is where the local process has them from.
	CredentialsFile string
	// Anonymous serves requests without credentials. AnonymousByDefault says
	// that nobody asked for it, as on a loopback address of the local process.
	Anonymous          bool
	AnonymousByDefault bool

	// Listen, LocalEvents and EngineListen are the local process's: its
	// address, whether requests go through gateway events, and the address of
	// the command `engine` (empty: a free loopback port).
	Listen       string
	LocalEvents  bool
	EngineListen string
	// Background says whether the local process reads the stream and runs the
	// eviction passes.
	Background bool
	// Streaming says that the function URL in front streams responses.
	Streaming bool
	// AccessLog logs a line per request.
	AccessLog bool
	// EdgeCaching lets shared caches keep lists that need credentials.
	EdgeCaching bool
	// RateLimit is how many reads a second the local process answers a client;
	// 0: any number. PrivilegedClients are names of clients that it does not
	// count.
	RateLimit         float64
	PrivilegedClients []string

	changed []Value
}

// Value is a setting as the environment has it.
type Value struct {
	Name, Value string
}

// Changed returns the settings that differ from their defaults, in the order
// of [Settings].
func (c *Config) Changed() []Value { return c.changed }

// Lookup finds an environment variable, as os.LookupEnv does.
type Lookup func(name string) (string, bool)

// Load reads the settings of one user. An empty variable counts as unset. The
// error joins every fault, each naming its variable.
func Load(lookup Lookup, user User) (Config, error) {
	var cfg Config
	var faults []error
	for _, s := range Settings() {
		text := s.DefaultFor(user)
		if value, ok := lookup(s.Name); ok && value != "" && s.Users.Has(user) {
			if value != text {
				cfg.changed = append(cfg.changed, Value{s.Name, withoutPasswords(value)})
			}
			text = value
		}
		if text == "" {
			continue
		}
		if err := s.set(&cfg, text); err != nil {
			faults = append(faults, fmt.Errorf("%s=%q: %w", s.Name, withoutPasswords(text), err))
		}
	}
	if cfg.Region == "" {
		cfg.Region = cfg.AWSRegion
	}
	if asked, _ := lookup("REGISTRY_ANONYMOUS"); user == Local && asked == "" {
		cfg.Anonymous = Loopback(cfg.Listen) && cfg.CredentialsFile+cfg.CredentialsSecret == ""
		cfg.AnonymousByDefault = cfg.Anonymous
	}
	if asked, _ := lookup("REGISTRY_BACKGROUND"); user == Local && asked == "" {
		cfg.Background = !AtAWS(cfg.DynamoDBEndpoint)
	}
	faults = append(faults, cfg.check(user)...)
	return cfg, errors.Join(faults...)
}

// check returns the faults that no setting has alone.
func (c *Config) check(user User) []error {
	var faults []error
	fault := func(wrong bool, format string, args ...any) {
		if wrong {
			faults = append(faults, fmt.Errorf(format, args...))
		}
	}
	fault(c.LeaseTable == c.DeltaTable,
		"REGISTRY_LEASE_TABLE, REGISTRY_DELTA_TABLE: both are %q, they must differ", c.LeaseTable)
	fault(c.DeltaRetention < 2*c.CacheRefresh,
		"REGISTRY_DELTA_RETENTION=%s: readers that refresh every %s need at least twice as much", c.DeltaRetention, c.CacheRefresh)
	// A tombstone keeps a lease's quiet time for an hour.
	fault(c.RenewalWriteInterval > time.Hour,
		"REGISTRY_RENEWAL_WRITE_INTERVAL=%s: at most an hour", c.RenewalWriteInterval)
	fault(c.Anonymous && c.CredentialsSecret+c.CredentialsFile != "",
		"REGISTRY_ANONYMOUS=true: there are credentials too, which nobody would be asked for")
	if user == Local {
		fault(c.CredentialsFile != "" && c.CredentialsSecret != "",
			"REGISTRY_CREDENTIALS_FILE, REGISTRY_CREDENTIALS_SECRET: set only one of them")
		fault(c.Listen != "" && !c.Anonymous && c.CredentialsFile+c.CredentialsSecret == "", "REGISTRY_CREDENTIALS_FILE: unset, and open access must be asked for "+
			"with REGISTRY_ANONYMOUS=true when others can reach REGISTRY_LISTEN=%s", c.Listen)
		return faults
	}
	for _, r := range c.RemoteRegions {
		fault(r.hasCredentials(), "REGISTRY_REMOTE_REGIONS: %s: the URL has credentials; they belong in the secret, under \"regions\"", r.Name)
	}
	fault(user == Evict && c.EvictionInterval == 0,
		"REGISTRY_EVICTION_INTERVAL=0s: the schedule has an interval, the function must know it")
	fault(served.Has(user) && !c.Anonymous && c.CredentialsSecret == "",
		"REGISTRY_CREDENTIALS_SECRET: unset, and REGISTRY_ANONYMOUS does not ask for open access")
	return faults
}

// Loopback reports whether an address, host:port, is of this machine alone.
func Loopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		host = address
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// AtAWS reports whether an endpoint is DynamoDB at AWS.
func AtAWS(endpoint string) bool {
	u, err := url.Parse(endpoint)
	if err != nil {
		return false
	}
	for _, domain := range []string{".amazonaws.com", ".amazonaws.com.cn", ".api.aws"} {
		if strings.HasSuffix(u.Hostname(), domain) {
			return true
		}
	}
	return false
}
