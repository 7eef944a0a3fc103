package discovery

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
)

// server is one Eureka server.
type server struct {
	// base is its URL without credentials and without a slash at the end
	// (TestH16, TestH17).
	base string
	// user and password are sent with each request when there is a user.
	user, password string
	// zone is empty for a server of any zone.
	zone string
}

// parseServer reads a service URL. Its errors do not show the URL, which may
// hold credentials.
func parseServer(serviceURL, zone string) (*server, error) {
	u, err := url.Parse(strings.TrimSpace(serviceURL))
	switch {
	case err != nil:
		return nil, errors.New("is not a URL")
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, errors.New("is not an http or https URL")
	case u.Hostname() == "":
		return nil, errors.New("has no host")
	case u.RawQuery != "" || u.Fragment != "":
		return nil, errors.New("has a query or a fragment")
	}
	s := &server{zone: zone, user: u.User.Username()}
	s.password, _ = u.User.Password()
	u.User = nil
	s.base = strings.TrimRight(u.String(), "/")
	return s, nil
}

// parseServers reads all service URLs and reports every fault.
func parseServers(anyZone []string, byZone map[string][]string) ([]*server, error) {
	var list []*server
	var faults []error
	add := func(field, zone string, urls []string) {
		for n, serviceURL := range urls {
			s, err := parseServer(serviceURL, zone)
			if err != nil {
				faults = append(faults, fmt.Errorf("%s[%d] %w", field, n, err))
				continue
			}
			list = append(list, s)
		}
	}
	add("ServiceURLs", "", anyZone)
	for _, zone := range slices.Sorted(maps.Keys(byZone)) {
		add(fmt.Sprintf("ZoneURLs[%q]", zone), zone, byZone[zone])
	}
	return list, errors.Join(faults...)
}

// servers chooses which servers to ask, and in which order: those of the own
// zone first, then those of the other zones in their order, then the rest;
// within a zone in random order, which is drawn anew from time to time so that
// load spreads over servers that were added or came back. A server that failed
// is left alone for a while. It is safe for concurrent use.
type servers struct {
	now        func() time.Time
	quarantine time.Duration
	tenure     time.Duration

	mu    sync.Mutex
	list  []*server
	zones []string
	// redraw is when the order is drawn anew.
	redraw time.Time
	// until is when the servers that failed may be asked again.
	until map[*server]time.Time
}

func newServers(list []*server, cfg *Config) *servers {
	s := &servers{now: cfg.Now, quarantine: cfg.QuarantineTime, tenure: cfg.ServerTenure,
		list: list, zones: cfg.Zones, until: map[*server]time.Time{}}
	s.draw()
	return s
}

// prefer takes the zones in order of preference.
func (s *servers) prefer(zones []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.zones = zones
	s.draw()
}

// draw puts the servers in order.
func (s *servers) draw() {
	rand.Shuffle(len(s.list), func(i, j int) { s.list[i], s.list[j] = s.list[j], s.list[i] })
	slices.SortStableFunc(s.list, func(a, b *server) int { return cmp.Compare(s.rank(a), s.rank(b)) })
	s.redraw = s.now().Add(s.tenure)
}

func (s *servers) rank(v *server) int {
	at := slices.Index(s.zones, v.zone)
	switch {
	case at >= 0:
		return at
	case v.zone != "":
		return len(s.zones)
	}
	return len(s.zones) + 1
}

// candidates returns all servers in the order in which they are to be tried:
// those in quarantine come last, the one whose quarantine ends first before
// the others, since a server that may fail is better than none.
func (s *servers) candidates() []*server {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	if !now.Before(s.redraw) {
		s.draw()
	}
	maps.DeleteFunc(s.until, func(_ *server, end time.Time) bool { return !now.Before(end) })
	out := slices.Clone(s.list)
	slices.SortStableFunc(out, func(a, b *server) int { return s.until[a].Compare(s.until[b]) })
	return out
}

// failed begins a server's quarantine.
func (s *servers) failed(v *server) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.until[v] = s.now().Add(s.quarantine)
}

// answered ends a server's quarantine.
func (s *servers) answered(v *server) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.until, v)
}
