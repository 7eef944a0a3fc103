// Package regions reads other regions' registries, so that their instances can
// be shown beside one's own to those who ask for them (?regions=). Each is
// fetched when it is asked for and the lists have turned over since: in full at
// first, then by deltas. A region that does not answer is shown as it was for
// as long as deltas are kept, and then left out; it never makes an error.
package regions

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/eurekaless/registry/core/eureka"
	"github.com/eurekaless/registry/core/mirror"
)

// Defaults of [Config].
const (
	DefaultKept    = 3 * time.Minute
	DefaultTimeout = 3 * time.Second
)

// Remote is another region.
type Remote struct {
	// Name is what ?regions= calls it.
	Name   string
	Source mirror.Source
}

// Config is what a [Set] works with.
type Config struct {
	Remotes []Remote
	// Kept is for how long a region is shown that does not answer; default
	// [DefaultKept].
	Kept time.Duration
	// Timeout bounds the fetches of a turn, which go side by side; default
	// [DefaultTimeout].
	Timeout time.Duration
	// OnFetch, if not nil, is called after each turn with the number of
	// regions that are absent; for metrics.
	OnFetch func(absent int)
	// Now is the servers' clock; default time.Now.
	Now func() time.Time
	// Logger gets fetches that failed; default slog.Default().
	Logger *slog.Logger
}

// Set is the remote regions. It is safe for concurrent use and starts nothing
// that outlasts a call.
type Set struct {
	cfg Config

	// mu guards all that follows. Whoever holds it may fetch.
	mu      sync.Mutex
	turn    time.Time
	regions []*region
}

// region is one region; its copy is replaced by whoever holds the set's mu.
type region struct {
	name string
	copy *mirror.Copy
	// content is the copy as it is shown, made once a fetch; its Generation
	// grows with each.
	content Region
}

// Region is a region at one moment. It is never changed.
type Region struct {
	Name string
	// Present says that there is something to show.
	Present bool
	// Generation differs between contents of a region.
	Generation int64
	// Fetched is when the region last answered; zero: never.
	Fetched time.Time
	// Instances are all of the region, Changes those that it said to have
	// changed, each with its last state, both sorted by key.
	Instances, Changes []*eureka.InstanceInfo
}

// New returns the regions of cfg, none of them fetched yet.
func New(cfg Config) *Set {
	if cfg.Kept == 0 {
		cfg.Kept = DefaultKept
	}
	if cfg.Timeout == 0 {
		cfg.Timeout = DefaultTimeout
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.Default()
	}
	s := &Set{cfg: cfg}
	for _, r := range cfg.Remotes {
		s.regions = append(s.regions, &region{name: r.Name, copy: mirror.New(r.Source, cfg.Kept*2/3)})
	}
	return s
}

// Named returns the regions of a list such as "us-west-2,eu-west-1" that there
// are, present or not, once each and in the order of the settings. Other names
// are ignored, as the stock server does.
func (s *Set) Named(ctx context.Context, turn time.Time, list string) []Region {
	names := strings.Split(list, ",")
	for n := range names {
		names[n] = strings.TrimSpace(names[n])
	}
	return slices.DeleteFunc(s.known(ctx, turn, names), func(r Region) bool { return !slices.Contains(names, r.Name) })
}

// All returns all regions.
func (s *Set) All(ctx context.Context, turn time.Time) []Region { return s.known(ctx, turn, nil) }

// known returns all regions, fetched anew if the lists turned over since and
// one of the names is a region's; no names: any.
func (s *Set) known(ctx context.Context, turn time.Time, names []string) []Region {
	asked := len(names) == 0 || slices.ContainsFunc(s.cfg.Remotes, func(r Remote) bool { return slices.Contains(names, r.Name) })
	if !asked {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if turn.After(s.turn) {
		s.fetch(ctx)
		if ctx.Err() == nil { // a request that was given up says nothing of the regions
			s.turn = turn
		}
	}
	now := s.cfg.Now()
	out := make([]Region, len(s.regions))
	for n, r := range s.regions {
		out[n] = r.at(now, s.cfg.Kept)
	}
	return out
}

// fetch fetches all regions side by side.
func (s *Set) fetch(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.Timeout)
	defer cancel()
	now := s.cfg.Now()
	var fetches sync.WaitGroup
	for _, r := range s.regions {
		fetches.Go(func() {
			if err := r.copy.Refresh(ctx, now); err != nil {
				s.cfg.Logger.WarnContext(ctx, "region not fetched", "region", r.name, "error", err)
				return
			}
			r.show()
		})
	}
	fetches.Wait()
	if s.cfg.OnFetch == nil {
		return
	}
	absent := 0
	for _, r := range s.regions {
		if !r.present(now, s.cfg.Kept) {
			absent++
		}
	}
	s.cfg.OnFetch(absent)
}

func (r *region) present(now time.Time, kept time.Duration) bool {
	fetched := r.copy.Fetched()
	return !fetched.IsZero() && now.Sub(fetched) <= kept
}

// show makes the content of what was just fetched.
func (r *region) show() {
	byKey := func(a, b *eureka.InstanceInfo) int { return mirror.Compare(a.Key(), b.Key()) }
	r.content = Region{
		Generation: r.content.Generation + 1,
		Instances:  slices.SortedFunc(maps.Values(r.copy.Instances()), byKey),
		Changes:    slices.SortedFunc(slices.Values(r.copy.Changes()), byKey),
	}
}

// at returns the region as it is shown at a time.
func (r *region) at(now time.Time, kept time.Duration) Region {
	out := Region{Generation: r.content.Generation}
	if r.present(now, kept) {
		out = r.content
		out.Present = true
	}
	out.Name, out.Fetched = r.name, r.copy.Fetched()
	return out
}
