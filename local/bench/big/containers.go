package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// handler is a function's.
type handler interface {
	Invoke(ctx context.Context, event []byte) ([]byte, error)
}

// answer is a function's.
type answer struct {
	StatusCode      int
	Headers         map[string]string
	Body            string
	IsBase64Encoded bool
}

// ask lets a handler answer an event.
func ask(ctx context.Context, h handler, event []byte) (answer, error) {
	out, err := h.Invoke(ctx, event)
	if err != nil {
		return answer{}, err
	}
	var a answer
	return a, json.Unmarshal(out, &a)
}

// sighting is a view as a container showed it.
type sighting struct {
	container int
	// cold: the container's first view. It may be ahead of its boundary.
	cold     bool
	boundary time.Time
	// seen is when it was first asked for.
	seen time.Time
	hash string
	// tag is the entity tag of the deltas: of their bytes.
	tag string
}

// ledger collects the views of all containers.
type ledger struct {
	mu        sync.Mutex
	sightings []sighting
	stale     int
}

// container is a read function's container, asked at random moments.
type container struct {
	number  int
	read    handler
	ledger  *ledger
	lastTag string
	views   int
}

var deltas = event(http.MethodGet, "/eureka/apps/delta", "", "")

// live asks until the context ends, for the first time within the first
// interval, then at any time: a view may be asked for the first time at its very
// end, or never.
func (c *container) live(ctx context.Context, interval time.Duration) error {
	for pause := rand.N(interval); sleep(ctx, pause); pause = rand.N(3 * interval / 2) {
		if err := c.look(ctx); err != nil && ctx.Err() == nil {
			return fmt.Errorf("container %d: %w", c.number, err)
		}
	}
	return nil
}

// sleep reports whether the context is still alive afterwards.
func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

var (
	versionPattern = regexp.MustCompile(`"versions__delta":"?(\d+)`)
	hashPattern    = regexp.MustCompile(`"apps__hashcode":"(\w*)"`)
)

// look asks for the deltas and notes a view that was not shown before.
func (c *container) look(ctx context.Context) error {
	seen := time.Now()
	a, err := ask(ctx, c.read, deltas)
	if err != nil {
		return err
	}
	tag := a.header("ETag")
	if a.StatusCode != http.StatusOK || tag == "" {
		return fmt.Errorf("status %d: %.200s", a.StatusCode, a.Body)
	}
	c.ledger.mu.Lock()
	defer c.ledger.mu.Unlock()
	if a.header("Registry-Age") != "" {
		c.ledger.stale++
	}
	if tag == c.lastTag {
		return nil
	}
	c.lastTag = tag
	body, err := a.text()
	if err != nil {
		return err
	}
	version, hash := versionPattern.FindSubmatch(body), hashPattern.FindSubmatch(body)
	if version == nil || hash == nil {
		return fmt.Errorf("no version or no hash code in %.200s", body)
	}
	millis, err := strconv.ParseInt(string(version[1]), 10, 64)
	if err != nil {
		return err
	}
	c.views++
	if millis <= 1 {
		return nil // nothing changed lately, so it does not tell its boundary
	}
	c.ledger.sightings = append(c.ledger.sightings, sighting{
		container: c.number, cold: c.views == 1, boundary: time.UnixMilli(millis), seen: seen, hash: string(hash[1]), tag: tag,
	})
	return nil
}

func (a answer) header(name string) string {
	for n, value := range a.Headers {
		if strings.EqualFold(n, name) {
			return value
		}
	}
	return ""
}

// text returns the body as it was before compression.
func (a answer) text() ([]byte, error) {
	if !a.IsBase64Encoded {
		return []byte(a.Body), nil
	}
	data, err := base64.StdEncoding.DecodeString(a.Body)
	if err != nil {
		return nil, err
	}
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(z)
}

// judge prints the views of each boundary, and fails when two containers
// showed different ones. A container's first view may be ahead of its boundary
// and is only counted.
func (l *ledger) judge(out io.Writer) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	at := map[int64][]sighting{}
	for _, s := range l.sightings {
		at[s.boundary.UnixMilli()] = append(at[s.boundary.UnixMilli()], s)
	}
	var wrong []string
	for _, boundary := range slices.Sorted(maps.Keys(at)) {
		name := time.UnixMilli(boundary).UTC().Format(time.TimeOnly)
		c := compare(at[boundary])
		fmt.Fprintf(out, "boundary %s: %s\n", name, c)
		if len(c.hashes) > 1 || len(c.tags) > 1 {
			wrong = append(wrong, name)
		}
	}
	if l.stale > 0 {
		fmt.Fprintf(out, "%d answers came from a view that could not be refreshed in time\n", l.stale)
	}
	switch {
	case len(wrong) > 0:
		return fmt.Errorf("containers disagree at %s", strings.Join(wrong, ", "))
	case len(at) == 0:
		return errors.New("no container showed a view with changes")
	}
	return nil
}

// comparison is what containers showed of one boundary.
type comparison struct {
	containers, cold, ahead int
	// first and last are when the view was first asked for, after the boundary.
	first, last time.Duration
	// hashes and tags are all that containers showed that were not cold.
	hashes, tags map[string]bool
}

func compare(sightings []sighting) comparison {
	c := comparison{containers: len(sightings), hashes: map[string]bool{}, tags: map[string]bool{}}
	for i, s := range sightings {
		after := s.seen.Sub(s.boundary)
		if i == 0 {
			c.first = after
		}
		c.first, c.last = min(c.first, after), max(c.last, after)
		if !s.cold {
			c.hashes[s.hash], c.tags[s.tag] = true, true
		}
	}
	for _, s := range sightings {
		if s.cold {
			c.cold++
			if len(c.hashes) > 0 && !c.hashes[s.hash] {
				c.ahead++
			}
		}
	}
	return c
}

func (c comparison) String() string {
	return fmt.Sprintf("%2d containers, first asked %.1f to %.1f s after it: %d hash code, %d deltas; %d of them cold, %d ahead  %s",
		c.containers, c.first.Seconds(), c.last.Seconds(), len(c.hashes), len(c.tags), c.cold, c.ahead,
		strings.Join(slices.Sorted(maps.Keys(c.hashes)), " "))
}
