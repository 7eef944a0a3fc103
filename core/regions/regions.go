// Package regions reads other regions' registries, so that their instances can
// be shown beside one's own to those who ask for them (?regions=). Each is
// fetched when it is asked for and the lists have turned over since: in full at
// first, then by deltas. A region that does not answer is shown as it was for
// as long as deltas are kept, and then left out; it never makes an error.
package regions

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/eurekaless/registry/core/eureka"
	"github.com/eurekaless/registry/core/mirror"
	"github.com/eurekaless/registry/core/wire"
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
	// MaxInstance is the size in bytes, as [wire.Exceeds] counts it, above which
	// an instance is left out; 0: any.
	MaxInstance int
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
	// regions are read by whoever fetches; what they show is guarded by mu.
	regions []*region

	// mu guards all that follows. Nobody fetches or decodes while holding it.
	mu   sync.Mutex
	turn time.Time
	// fetching is closed when the fetch under way ends; nil: there is none.
	fetching chan struct{}
}

// region is one region. Its copy belongs to whoever fetches.
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
	s.refresh(ctx, turn)
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.cfg.Now()
	out := make([]Region, len(s.regions))
	for n, r := range s.regions {
		out[n] = r.at(now, s.cfg.Kept)
	}
	return out
}

// refresh fetches all regions once a turn. Who comes while somebody else fetches
// goes on with what there is; only before the first fetch there is nothing, and
// everybody waits.
func (s *Set) refresh(ctx context.Context, turn time.Time) {
	for {
		s.mu.Lock()
		if !turn.After(s.turn) {
			s.mu.Unlock()
			return
		}
		if s.fetching == nil {
			break
		}
		first, fetching := s.turn.IsZero(), s.fetching
		s.mu.Unlock()
		if !first {
			return
		}
		select {
		case <-fetching:
		case <-ctx.Done():
			return
		}
	}
	done := make(chan struct{})
	s.fetching = done
	s.mu.Unlock()
	contents, absent := s.fetch(ctx)

	s.mu.Lock()
	for n, content := range contents {
		s.regions[n].content = content
	}
	if ctx.Err() == nil { // a request that was given up says nothing of the regions
		s.turn = turn
	}
	s.fetching = nil
	s.mu.Unlock()
	close(done)
	if s.cfg.OnFetch != nil {
		s.cfg.OnFetch(absent)
	}
}

// fetch fetches all regions side by side. It returns what they show then, and
// how many of them are absent.
func (s *Set) fetch(ctx context.Context) (contents []Region, absent int) {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.Timeout)
	defer cancel()
	now := s.cfg.Now()
	contents = make([]Region, len(s.regions))
	var fetches sync.WaitGroup
	for n, r := range s.regions {
		contents[n] = r.content
		fetches.Go(func() {
			if err := r.copy.Refresh(ctx, now); err != nil {
				s.cfg.Logger.WarnContext(ctx, "region not fetched", "region", r.name, "error", err)
				return
			}
			contents[n] = s.shown(ctx, r)
		})
	}
	fetches.Wait()
	for _, content := range contents {
		if !content.present(now, s.cfg.Kept) {
			absent++
		}
	}
	return contents, absent
}

// shown returns the content of what was just fetched.
func (s *Set) shown(ctx context.Context, r *region) Region {
	byKey := func(a, b *eureka.InstanceInfo) int { return mirror.Compare(a.Key(), b.Key()) }
	skipped := 0
	fits := func(i *eureka.InstanceInfo) bool {
		if wire.Exceeds(i, s.cfg.MaxInstance) {
			skipped++
			return false
		}
		return true
	}
	content := Region{Generation: r.content.Generation + 1, Fetched: r.copy.Fetched()}
	for _, i := range r.copy.Instances() {
		if fits(i) {
			content.Instances = append(content.Instances, i)
		}
	}
	if skipped > 0 {
		s.cfg.Logger.WarnContext(ctx, "instances of a region skipped: too large", "region", r.name, "instances", skipped)
	}
	for _, i := range r.copy.Changes() {
		if fits(i) {
			content.Changes = append(content.Changes, i)
		}
	}
	slices.SortFunc(content.Instances, byKey)
	slices.SortFunc(content.Changes, byKey)
	return content
}

func (r *Region) present(now time.Time, kept time.Duration) bool {
	return !r.Fetched.IsZero() && now.Sub(r.Fetched) <= kept
}

// at returns the region as it is shown at a time.
func (r *region) at(now time.Time, kept time.Duration) Region {
	out := Region{Generation: r.content.Generation, Fetched: r.content.Fetched}
	if r.content.present(now, kept) {
		out = r.content
		out.Present = true
	}
	out.Name = r.name
	return out
}
