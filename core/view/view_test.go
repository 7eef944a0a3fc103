package view

import (
	"crypto/sha256"
	"hash/crc32"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/core/delta"
	"github.com/eurekaless/registry/core/eureka"
	"github.com/eurekaless/registry/core/wire"
)

var jsonFull = wire.Encoding{Format: wire.JSON}

// stateOf returns the state of instances, all of version 1.
func stateOf(instances ...*eureka.InstanceInfo) *state {
	var entries []delta.Entry
	for _, i := range instances {
		entries = append(entries, delta.Entry{Key: i.Key(), Version: 1, Instance: i})
	}
	return newState(entries, start)
}

// under returns an instance with these VIP addresses.
func under(app, id, vips, secureVIPs string) *eureka.InstanceInfo {
	i := up(app, id)
	i.VIPAddress, i.SecureVIPAddress = vips, secureVIPs
	return i
}

func TestVIP(t *testing.T) {
	down := under("A", "2", "one", "")
	down.Status = eureka.Down
	v := asView(stateOf(
		under("A", "1", "one,two", "s-one"), down, under("A", "3", "two", "s-one"),
		under("B", "1", "two,one", ""), under("C", "1", "One", ",s-one,"), under("D", "1", "spaced, two", ""),
	))
	for _, c := range []struct {
		vip       string
		want      []string // as "APP/id"
		secure    bool
		hashCode  string
		otherwise string
	}{
		{vip: "one", want: []string{"A/1", "A/2", "B/1"}, hashCode: "DOWN_1_UP_2_"},
		{vip: "two", want: []string{"A/1", "A/3", "B/1"}, hashCode: "UP_3_"},
		{vip: "One", want: []string{"C/1"}, hashCode: "UP_1_"},
		{vip: " two", want: []string{"D/1"}, hashCode: "UP_1_"},
		{vip: "s-one"},
		{vip: "one", secure: true},
		{vip: "s-one", secure: true, want: []string{"A/1", "A/3", "C/1"}, hashCode: "UP_3_"},
		{vip: ""},
		{vip: "", secure: true},
		{vip: "one,two"},
	} {
		body := v.VIP
		if c.secure {
			body = v.SecureVIP
		}
		want := eureka.Applications{Version: -1, HashCode: c.hashCode}
		for _, name := range c.want {
			app, id, _ := strings.Cut(name, "/")
			a := v.state.application(app)
			at, _ := a.find(id)
			if n := len(want.Applications); n == 0 || want.Applications[n-1].Name != app {
				want.Applications = append(want.Applications, eureka.Application{Name: app})
			}
			last := &want.Applications[len(want.Applications)-1]
			last.Instances = append(last.Instances, a.Instances[at])
		}
		for _, e := range encodings {
			assert.Equal(t, string(e.AppendApplications(nil, &want)), string(body(c.vip, e).Plain()), "%q", c.vip)
		}
	}
}

// TestVIPFollowsChanges: the index is kept up, not made anew.
func TestVIPFollowsChanges(t *testing.T) {
	s := stateOf(under("A", "1", "one", "s"), under("A", "2", "one,two", "s"), under("B", "1", "two", "s"))
	s, _ = s.apply([]delta.Row{
		{Key: eureka.NewKey("A", "2"), Version: 2, Instance: under("A", "2", "three", "s")},
		{Key: eureka.NewKey("B", "1"), Version: 2, Instance: row("B", "1", 2, "", 0).Instance},
	}, at(30), time.Minute)
	assert.Equal(t, []vipEntry{{"one", "A"}, {"three", "A"}}, slices.Concat(runs(s.vips)...))
	assert.Equal(t, []vipEntry{{"s", "A"}}, slices.Concat(runs(s.secureVIPs)...))
}

// TestUnknownNamesShareABody: names that are made up take no memory.
func TestUnknownNamesShareABody(t *testing.T) {
	v := asView(stateOf(under("A", "1", "one", "")))
	assert.Same(t, v.VIP("no-1", jsonFull), v.VIP("no-2", jsonFull))
	assert.NotSame(t, v.VIP("no-1", jsonFull), v.SecureVIP("no-1", jsonFull))
	assert.NotSame(t, v.VIP("no-1", jsonFull), v.VIP("one", jsonFull))
	_, ok := v.Application("no-1", jsonFull)
	assert.False(t, ok)
	bodies := 0
	v.bodies.Range(func(any, any) bool { bodies++; return true })
	assert.Equal(t, 3, bodies)
}

func TestApplication(t *testing.T) {
	s := stateOf(up("SHOP", "1"), up("SHOP", "2"), up("OTHER", "1"))
	v := asView(s)
	for _, e := range encodings {
		body, ok := v.Application("Shop", e)
		require.True(t, ok)
		want := string(e.AppendApplicationDocument(nil, &s.application("SHOP").Application))
		assert.Equal(t, want, string(body.Plain()))
		assert.Equal(t, want, string(unzip(t, body.Gzip())))
		again, _ := v.Application("SHOP", e)
		assert.Same(t, body, again)
	}
}

func TestFind(t *testing.T) {
	v := asView(stateOf(up("A", "1"), up("B", "1"), up("B", "2"), up("C", "c:8080")))
	for id, want := range map[string]string{"1": "A", "2": "B", "c:8080": "C"} {
		key, ok := v.Find(id)
		assert.True(t, ok)
		assert.Equal(t, eureka.NewKey(want, id), key)
	}
	for _, id := range []string{"", "0", "3", "C:8080"} {
		_, ok := v.Find(id)
		assert.False(t, ok, id)
	}
}

func TestViewIsNotChanged(t *testing.T) {
	v := asView(stateOf(up("A", "1")))
	v.Counts()[eureka.Up] = 99
	assert.Equal(t, "UP_1_", v.Counts().HashCode())
}

func TestETag(t *testing.T) {
	s := fleet(200)
	v, same := asView(s), asView(fleet(200))
	down := fleetInstance(7)
	down.Status = eureka.Down
	changed, _ := s.apply([]delta.Row{{Key: down.Key(), Version: 2, Instance: down, Written: at(1)}}, at(30), time.Minute)
	seen := map[string]string{}
	note := func(what, tag string) {
		require.Regexp(t, `^"[\w-]+"$`, tag)
		if other, ok := seen[tag]; ok {
			assert.Fail(t, "shared tag", "%s and %s", what, other)
		}
		seen[tag] = what
	}
	for _, e := range encodings {
		for _, zipped := range []bool{false, true} {
			what := encodingName(e)
			app, _ := v.Application("SERVICE-0001", e)
			for kind, b := range map[string]*Body{
				"all": v.All(e), "changed": asView(changed).All(e), "delta": v.Delta(e), "app": app, "vip": v.VIP("SERVICE-0001.vip", e),
			} {
				if zipped {
					kind += " gzip"
				}
				note(what+" "+kind, b.ETag(zipped))
			}
			assert.Equal(t, v.All(e).ETag(zipped), same.All(e).ETag(zipped), "of another container")
			assert.Equal(t, sha256.Sum256(v.All(e).Bytes(zipped)), sha256.Sum256(same.All(e).Bytes(zipped)))
		}
	}
}

// TestETagOfEqualCRC: two texts that gzip's checksum cannot tell apart.
func TestETagOfEqualCRC(t *testing.T) {
	text := []byte("instance")
	other := slices.Clone(text)
	multiple := uint64(crc32.IEEE)<<1 | 1 // the CRC's polynomial itself
	for i := range other {
		other[i] ^= byte(multiple >> (8 * i))
	}
	require.Equal(t, crc32.ChecksumIEEE(text), crc32.ChecksumIEEE(other))
	assert.NotEqual(t, etag(jsonFull, plain, []checksum{newChecksum(text)}), etag(jsonFull, plain, []checksum{newChecksum(other)}))
}

func TestPlainSize(t *testing.T) {
	for _, first := range []func(*Body){
		func(*Body) {},
		func(b *Body) { b.Gzip() },
		func(b *Body) { b.Plain() },
	} {
		v := asView(fleet(200))
		app, _ := v.Application("SERVICE-0001", jsonFull)
		for _, b := range []*Body{v.All(jsonFull), v.Delta(jsonFull), app} {
			first(b)
			size := b.PlainSize()
			assert.EqualValues(t, len(b.Plain()), size)
			assert.EqualValues(t, len(b.Plain()), b.PlainSize())
		}
	}
}

// TestBodiesAreMadeOnce: and only those that are asked for.
func TestBodiesAreMadeOnce(t *testing.T) {
	m := &countingMaker{}
	b := &Body{encoding: jsonFull, maker: m}
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			b.Gzip()
			b.ETag(true)
			b.PlainSize()
		})
	}
	wait.Wait()
	assert.Equal(t, [codings]int{gzipped: 1}, m.made)
	b.Plain()
	b.Plain()
	assert.Equal(t, [codings]int{plain: 1, gzipped: 1}, m.made)
}

// countingMaker counts what is made.
type countingMaker struct {
	mu   sync.Mutex
	made [codings]int
}

func (m *countingMaker) make(c coding) ([]byte, []checksum) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.made[c]++
	return []byte("body"), []checksum{newChecksum([]byte("body"))}
}

func TestMemo(t *testing.T) {
	type key struct{ gzip bool }
	b := asView(fleet(1)).All(jsonFull)
	var mu sync.Mutex
	made := 0
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			got := b.Memo(key{true}, func() any {
				mu.Lock()
				defer mu.Unlock()
				made++
				return "envelope"
			})
			assert.Equal(t, "envelope", got)
		})
	}
	wait.Wait()
	assert.Equal(t, 1, made)
	assert.Equal(t, "other", b.Memo(key{false}, func() any { return "other" }))
}
