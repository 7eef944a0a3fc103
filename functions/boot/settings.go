package boot

import (
	"strings"
	"time"
)

// User is who reads a setting.
type User uint8

// The users of settings. A set of them is their sum.
const (
	Write User = 1 << iota
	Read
	Stream
	Evict
	Local
	API
)

// Sets of users.
const (
	everybody = Write | Read | API | Stream | Evict | Local
	tableUser = Write | Read | API | Evict | Local
	deltaUser = Read | API | Stream | Evict | Local
	evictUser = Evict | Local
	writeUser = Write | API | Local
	readUser  = Read | API | Local
	served    = Write | Read | API
)

// Has reports whether all of users are in the set.
func (u User) Has(users User) bool { return u&users == users }

// String names the users of a set, as the template names the functions.
func (u User) String() string {
	var names []string
	for i, name := range []string{"write", "read", "stream", "evict", "local", "api"} {
		if u.Has(1 << i) {
			names = append(names, name)
		}
	}
	return strings.Join(names, ", ")
}

// Setting is one variable of the environment.
type Setting struct {
	// Name is the variable's.
	Name string
	// Default is the value when it is unset or empty; empty: none.
	Default string
	// LocalDefault is the local process's where it has another.
	LocalDefault string
	// Users read it; for others it does not exist.
	Users User
	// Meaning says what it does, with its unit.
	Meaning string

	set func(*Config, string) error
}

// DefaultFor returns the default that a user has.
func (s Setting) DefaultFor(user User) string {
	if user == Local && s.LocalDefault != "" {
		return s.LocalDefault
	}
	return s.Default
}

// Where says where a setting applies: "local", "Lambda" or "both".
func (s Setting) Where() string {
	switch {
	case s.Users == Local:
		return "local"
	case !s.Users.Has(Local):
		return "Lambda"
	}
	return "both"
}

// Settings returns all settings: the one list of them, which the template and
// the README are compared with.
func Settings() []Setting {
	return []Setting{
		{"REGISTRY_LISTEN", "127.0.0.1:8761", "", Local,
			"address of the API and the pages", address(func(c *Config) *string { return &c.Listen })},
		{"REGISTRY_LOCAL_EVENTS", "false", "", Local,
			"send every request as a gateway event through the Lambda handlers", boolean(func(c *Config) *bool { return &c.LocalEvents })},
		{"REGISTRY_ENGINE_LISTEN", "", "", Local,
			"address of the DynamoDB emulator, which `registry engine` runs; unset: a free loopback port", address(func(c *Config) *string { return &c.EngineListen })},
		{"REGISTRY_BACKGROUND", "true", "", Local,
			"read the stream and run the eviction passes in this process; unset, and the tables are at AWS: false, as functions do it there", boolean(func(c *Config) *bool { return &c.Background })},
		{"AWS_REGION", "", "us-east-1", everybody,
			"region of the tables; Lambda sets it", awsRegion(func(c *Config) *string { return &c.AWSRegion })},
		{"AWS_ENDPOINT_URL_DYNAMODB", "", "", everybody,
			"DynamoDB at this address instead of AWS's; unset locally: tables in memory", endpoint(func(c *Config) *string { return &c.DynamoDBEndpoint })},
		{"AWS_ENDPOINT_URL_DYNAMODB_STREAMS", "", "", Local,
			"DynamoDB Streams at this address; unset: at that of DynamoDB", endpoint(func(c *Config) *string { return &c.StreamsEndpoint })},
		{"REGISTRY_LEASE_TABLE", "eureka-leases", "", tableUser,
			"name of the lease table", tableName(func(c *Config) *string { return &c.LeaseTable })},
		{"REGISTRY_DELTA_TABLE", "eureka-deltas", "", deltaUser,
			"name of the delta table", tableName(func(c *Config) *string { return &c.DeltaTable })},
		{"REGISTRY_CACHE_REFRESH", "30s", "", readUser,
			"interval of the read-only view; 0s: each read is consistent with the table", pace(func(c *Config) *time.Duration { return &c.CacheRefresh })},
		{"REGISTRY_DELTA_RETENTION", "180s", "", deltaUser,
			"window of /apps/delta, at least twice REGISTRY_CACHE_REFRESH", positive(func(c *Config) *time.Duration { return &c.DeltaRetention })},
		{"REGISTRY_EVICTION_INTERVAL", "60s", "", evictUser,
			"pace of eviction passes, on AWS the schedule's; 0s, only locally: never", pace(func(c *Config) *time.Duration { return &c.EvictionInterval })},
		{"REGISTRY_CLOCK_ALLOWANCE", "5s", "0s", evictUser,
			"added to a lease's duration, for clocks that differ", duration(func(c *Config) *time.Duration { return &c.Eviction.ClockAllowance })},
		{"REGISTRY_SELF_PRESERVATION", "true", "", evictUser,
			"hold evictions back while too many leases are silent at once", boolean(func(c *Config) *bool { return &c.Eviction.SelfPreservation })},
		{"REGISTRY_RENEWAL_THRESHOLD", "0.85", "", evictUser,
			"part of the expected leases at or below which the seen ones mean self-preservation, between 0 and 1", ratio(func(c *Config) *float64 { return &c.Eviction.RenewalThreshold })},
		{"REGISTRY_SELF_PRESERVATION_MIN_LEASES", "10", "", evictUser,
			"leases from which on there is self-preservation", count(func(c *Config) *int { return &c.Eviction.MinLeases })},
		{"REGISTRY_SELF_PRESERVATION_MAX", "1h", "", evictUser,
			"longest time for which self-preservation keeps a silent lease", positive(func(c *Config) *time.Duration { return &c.Eviction.MaxSilence })},
		{"REGISTRY_RENEWAL_WRITE_INTERVAL", "0s", "", writeUser,
			"how long a process answers heartbeats from memory after it wrote one, at most an hour and the lease's duration; leases end so much later. 0s: every heartbeat is written", duration(func(c *Config) *time.Duration { return &c.RenewalWriteInterval })},
		{"REGISTRY_OVERRIDE_KEPT", "1h", "", tableUser,
			"how long an override outlives an eviction", positive(func(c *Config) *time.Duration { return &c.OverrideKept })},
		{"REGISTRY_TTL_GRACE", "24h", "", writeUser,
			"how far past a lease's end its TTL attribute lies", positive(func(c *Config) *time.Duration { return &c.TTLGrace })},
		{"REGISTRY_LIST_MEMORY", "32MiB", "", Local,
			"bytes of the lists of applications, VIPs and regions that are kept or being sent at a time; further ones wait", size(func(c *Config) *int64 { return &c.ListMemory })},
		{"REGISTRY_MAX_BODY", "1MiB", "", writeUser,
			"largest request body, in bytes, KiB or MiB", size(func(c *Config) *int64 { return &c.MaxBody })},
		{"REGISTRY_BODY_MEMORY", "8MiB", "", Local,
			"bytes of request bodies that are worked on at once; further requests wait. What a body is decoded to takes up to ten times as much", size(func(c *Config) *int64 { return &c.BodyMemory })},
		{"REGISTRY_MAX_METADATA", "1000", "", writeUser,
			"metadata entries that an instance may have; 0: any number", count(func(c *Config) *int { return &c.MaxMetadata })},
		{"REGISTRY_MAX_INSTANCE", "100KiB", "", everybody,
			"largest instance in JSON or XML, whichever is longer, in bytes, KiB or MiB, at most 1MiB; larger ones are refused, and skipped where they are stored already", instanceSize},
		{"REGISTRY_MAX_BATCH", "250", "", writeUser,
			"operations that a peer may send in one request; other servers send up to 250", atLeastOne(func(c *Config) *int { return &c.MaxBatch })},
		{"REGISTRY_MAX_INSTANCES_PER_APP", "", "", writeUser,
			"instances that an application may have, give or take those that register at the same moment; unset: any number", count(func(c *Config) *int { return &c.MaxInstances })},
		{"REGISTRY_REGION", "", "", readUser,
			"region that the status page shows; unset: that of the tables", text(func(c *Config) *string { return &c.Region })},
		{"REGISTRY_REMOTE_REGIONS", "", "", readUser,
			"other regions' registries as name=url pairs separated by commas, whose instances are added for ?regions=name; logins for them are in the credentials, under \"regions\"", remoteRegions},
		{"REGISTRY_MAX_REGION", "8MiB", "", readUser,
			"largest answer of a remote region, after decompression, in bytes, KiB or MiB, and half of the memory for its instances; a larger region is left out", size(func(c *Config) *int64 { return &c.MaxRegion })},
		{"REGISTRY_MAX_RESPONSE", "16MiB", "", Local,
			"largest answer that import and compare read, after decompression, in bytes, KiB or MiB, and half of the memory for its instances", size(func(c *Config) *int64 { return &c.MaxResponse })},
		{"REGISTRY_LOG_LEVEL", "info", "", everybody,
			"least level that is logged: debug, info, warn or error", level},
		{"REGISTRY_CREDENTIALS_SECRET", "", "", served | Local,
			"ARN of the secret that holds the credentials", text(func(c *Config) *string { return &c.CredentialsSecret })},
		{"REGISTRY_CREDENTIALS_FILE", "", "", Local,
			"file with the credentials", text(func(c *Config) *string { return &c.CredentialsFile })},
		{"REGISTRY_ANONYMOUS", "false", "true", served | Local,
			"serve without credentials; only where it is set by hand, or on a loopback address without credentials", boolean(func(c *Config) *bool { return &c.Anonymous })},
		{"REGISTRY_STREAMING", "false", "", API,
			"answer events of a function URL as one with response streaming expects it, up to 200 MB", boolean(func(c *Config) *bool { return &c.Streaming })},
		{"REGISTRY_ACCESS_LOG", "false", "", API,
			"log a line per request, at level info; other entries have a log of their own", boolean(func(c *Config) *bool { return &c.AccessLog })},
		{"REGISTRY_EDGE_CACHING", "false", "", readUser,
			"let shared caches in front keep lists that need credentials; their key must hold Authorization and all that Vary names. Lists that anybody may read are always theirs to keep", boolean(func(c *Config) *bool { return &c.EdgeCaching })},
		{"REGISTRY_RATE_LIMIT", "", "", Local,
			"reads a second that a client is answered, by its DiscoveryIdentity-Name, else by its address; unset: any number", perSecond(func(c *Config) *float64 { return &c.RateLimit })},
		{"REGISTRY_PRIVILEGED_CLIENTS", "", "", Local,
			"names of clients that REGISTRY_RATE_LIMIT does not count, separated by commas", list(func(c *Config) *[]string { return &c.PrivilegedClients })},
	}
}
