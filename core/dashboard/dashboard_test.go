package dashboard_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/core/dashboard"
	"github.com/eurekaless/registry/core/dashboard/templates"
	"github.com/eurekaless/registry/core/delta"
	"github.com/eurekaless/registry/core/eureka"
)

var (
	now   = time.Date(2025, 6, 1, 12, 0, 0, 0, time.UTC)
	pages = templates.New()
)

// instance is one of SHOP, with changes.
func instance(id string, changes ...func(*eureka.InstanceInfo)) *eureka.InstanceInfo {
	i := &eureka.InstanceInfo{
		App: "SHOP", InstanceID: id, HostName: id + ".example.org", IPAddr: "192.0.2.1", Status: eureka.Up,
		Port: eureka.Port{Number: 8080, Enabled: true}, LastUpdated: now.Add(-time.Minute),
	}
	for _, change := range changes {
		change(i)
	}
	return i
}

func fleet(n int) []eureka.Application {
	var apps []eureka.Application
	for at := range n {
		if at%100 == 0 {
			apps = append(apps, eureka.Application{Name: fmt.Sprintf("APP-%03d", at/100)})
		}
		last := &apps[len(apps)-1]
		last.Instances = append(last.Instances, instance(fmt.Sprintf("i-%05d", at), func(i *eureka.InstanceInfo) {
			i.App = last.Name
			i.LastUpdated = now.Add(-time.Duration(at) * time.Second)
			if at%10 == 0 {
				i.Status = eureka.Down
			}
		}))
	}
	return apps
}

func query(text string) dashboard.Query {
	values, err := url.ParseQuery(text)
	if err != nil {
		panic(err)
	}
	return dashboard.ParseQuery(values)
}

// TestEveryPageHasATemplate, which renders one of nothing too.
func TestEveryPageHasATemplate(t *testing.T) {
	for _, page := range dashboard.Pages() {
		if o, ok := page.(*dashboard.Overview); ok {
			o.Selection = dashboard.Select(nil, query(""), dashboard.Held{})
		}
		var out bytes.Buffer
		require.NoError(t, pages.Render(&out, page), page.Name())
		assert.Contains(t, out.String(), "</html>", page.Name())
	}
}

func ids(s *dashboard.Selection) []string {
	var out []string
	for _, g := range s.Groups {
		for _, r := range g.Rows {
			out = append(out, r.ID)
		}
	}
	return out
}

func TestSelect(t *testing.T) {
	apps := fleet(1000)
	cases := []struct {
		query              string
		found, pages       int
		first, last        int
		firstID            string
		groups, firstGroup int
	}{
		{"", 1000, 10, 1, 100, "i-00000", 1, 100},
		{"page=3", 1000, 10, 201, 300, "i-00200", 1, 100},
		{"page=99", 1000, 10, 901, 1000, "i-00900", 1, 100},
		{"page=-1", 1000, 10, 1, 100, "i-00000", 1, 100},
		{"q=app-003", 100, 1, 1, 100, "i-00300", 1, 100},
		{"q=I-0031", 10, 1, 1, 10, "i-00310", 1, 10},
		{"status=DOWN", 100, 1, 1, 100, "i-00000", 10, 10},
		{"status=nonsense", 1000, 10, 1, 100, "i-00000", 1, 100},
		{"q=i-0031&status=DOWN", 1, 1, 1, 1, "i-00310", 1, 1},
		{"sort=id&order=desc", 1000, 10, 1, 100, "i-00999", 1, 100},
		{"sort=changed&order=desc", 1000, 10, 1, 100, "i-00999", 1, 100},
		{"sort=status", 1000, 10, 1, 100, "i-00000", 1, 100},
		{"q=nothing", 0, 1, 0, 0, "", 0, 0},
	}
	for _, c := range cases {
		t.Run(c.query, func(t *testing.T) {
			s := dashboard.Select(apps, query(c.query), dashboard.Held{})
			assert.Equal(t, 1000, s.Total)
			assert.Equal(t, []int{c.found, c.pages, c.first, c.last}, []int{s.Found, s.Pages, s.First, s.Last})
			require.Len(t, s.Groups, c.groups)
			if c.groups > 0 {
				assert.Equal(t, c.firstID, ids(s)[0])
				assert.Len(t, s.Groups[0].Rows, c.firstGroup)
			}
		})
	}
}

// TestSentence: how many instances are shown, in plain words. (Case H41.)
func TestSentence(t *testing.T) {
	for _, c := range []struct {
		instances   int
		query, want string
	}{
		{0, "", "No instance is registered."},
		{1, "", "1 instance."},
		{24, "", "24 instances."},
		{24, "q=zzz", "No match among 24 instances."},
		{1, "q=zzz", "No match among 1 instance."},
		{24, "q=i-00003", "1 instance, filtered from 24."},
		{1000, "page=2", "101 to 200 of 1,000 instances."},
		{2000, "q=app-00", "1 to 100 of 1,000 instances, filtered from 2,000."},
		{101, "page=2", "101 to 101 of 101 instances."},
	} {
		s := dashboard.Select(fleet(c.instances), query(c.query), dashboard.Held{})
		assert.Equal(t, c.want, s.Sentence())
	}
}

// TestInstancePageSaysWhatIs: an override once, and when the lease ends. (Case
// H41.)
func TestInstancePageSaysWhatIs(t *testing.T) {
	for _, c := range []struct {
		status, override eureka.Status
		ends             time.Time
		want             []string
	}{
		{eureka.OutOfService, eureka.OutOfService, now.Add(70 * time.Second), []string{`OUT_OF_SERVICE</span>, set by an override`, ">in 70 s</time>"}},
		{eureka.Down, eureka.OutOfService, now.Add(-30 * time.Second), []string{`DOWN</span>, with the override <span class="status OUT_OF_SERVICE">`, ">30 s ago</time>"}},
		{eureka.Up, eureka.Unknown, now.Add(time.Hour), []string{`UP</span></p>`, ">in 60 min</time>"}},
	} {
		i := instance("shop-1", func(i *eureka.InstanceInfo) { i.Status, i.OverriddenStatus = c.status, c.override })
		details := dashboard.NewDetails(dashboard.Frame{Now: now}, i, dashboard.Held{})
		details.Ends = c.ends
		var out bytes.Buffer
		require.NoError(t, pages.Render(&out, details))
		for _, want := range c.want {
			assert.Contains(t, out.String(), want)
		}
		assert.NotContains(t, out.String(), "by override OUT_OF_SERVICE")
	}
}

// TestFilterHintNamesWhatItLooksAt. (Case H41.)
func TestFilterHintNamesWhatItLooksAt(t *testing.T) {
	assert.Contains(t, overview(t, fleet(1), ""), `placeholder="application, instance, host, address, VIP, zone, status"`)
}

func TestQueryRoundTrip(t *testing.T) {
	for _, text := range []string{"", "q=a+b", "q=%26%3C", "status=UP", "order=desc&sort=zone", "page=7"} {
		q := query(text)
		assert.Equal(t, "?"+text, q.Encode())
		assert.Equal(t, q, query(strings.TrimPrefix(q.Encode(), "?")))
	}
	assert.Len(t, query("q="+strings.Repeat("x", 5000)).Filter, 200)
}

func TestHeadingsTurnTheOrder(t *testing.T) {
	s := dashboard.Select(fleet(10), query("sort=zone&page=1"), dashboard.Held{})
	for _, h := range s.Headings() {
		want := "none"
		if h.Title == "Zone" {
			want = "ascending"
			assert.Equal(t, "?order=desc&sort=zone", h.Link)
		}
		assert.Equal(t, want, h.Sorted, h.Title)
	}
}

// TestPolicy: the hashes in the policy are those of what the pages hold, and
// there is nothing that needs another.
func TestPolicy(t *testing.T) {
	page := overview(t, fleet(3), "")
	for _, tag := range []string{"style", "script"} {
		blocks := regexp.MustCompile("(?s)<"+tag+"[^>]*>(.*?)</"+tag+">").FindAllStringSubmatch(page, -1)
		require.Len(t, blocks, 1, tag)
		sum := sha256.Sum256([]byte(blocks[0][1]))
		assert.Contains(t, pages.Policy(), tag+"-src 'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+"'")
	}
	assert.NotContains(t, pages.Policy(), "unsafe")
	assert.NotRegexp(t, ` (style|on\w+)="`, page)
	assert.NotRegexp(t, `(src|href)="(https?:)?//`, page, "nothing of elsewhere")
}

func overview(t *testing.T, apps []eureka.Application, text string) string {
	t.Helper()
	var out bytes.Buffer
	require.NoError(t, pages.Render(&out, &dashboard.Overview{
		Frame: dashboard.Frame{Now: now}, Selection: dashboard.Select(apps, query(text), dashboard.Held{}),
	}))
	return out.String()
}

// TestHostileInstances: whatever an instance's fields hold, it stays text.
func TestHostileInstances(t *testing.T) {
	markup := `"><script>alert(1)</script><img src=x onerror=alert(2)>`
	hostile := instance(markup, func(i *eureka.InstanceInfo) {
		i.App, i.HostName, i.IPAddr, i.VIPAddress = markup, markup, markup, markup
		i.Status, i.OverriddenStatus = eureka.Status(`UP" onclick="alert(3)`), eureka.Status(markup)
		i.HomePageURL, i.StatusPageURL = "javascript:alert(4)", " \x01javascript:alert(5)"
		i.HealthCheckURL, i.SecureHealthCheckURL = "data:text/html,<script>alert(6)</script>", `http://192.0.2.1/"><script>alert(7)</script>`
		i.Metadata = map[string]string{markup: markup, "zone": strings.Repeat("long ", 20000)}
	})
	var details, confirmation bytes.Buffer
	frame := dashboard.Frame{Now: now, Admin: true, Region: markup}
	require.NoError(t, pages.Render(&details, dashboard.NewDetails(frame, hostile, dashboard.Held{})))
	action, _ := dashboard.FindAction(dashboard.Cancel)
	require.NoError(t, pages.Render(&confirmation, &dashboard.Confirmation{
		Frame: frame, App: hostile.App, ID: hostile.ID(), Status: hostile.Status, Action: action,
	}))
	list := overview(t, []eureka.Application{{Name: markup, Instances: []*eureka.InstanceInfo{hostile}}}, "q=%22%3E%3Cscript%3E")
	for name, page := range map[string]string{"list": list, "details": details.String(), "confirmation": confirmation.String()} {
		assert.Equal(t, 1, strings.Count(page, "<script"), name)
		assert.NotContains(t, page, "<img", name)
		assert.NotContains(t, page, `href="javascript:`, name)
		assert.NotContains(t, page, `href="data:t`, name)
		assert.NotContains(t, page, `" onclick="`, name)
	}
	assert.Less(t, len(list), 30<<10, "lists cut long values")
	assert.Contains(t, details.String(), strings.Repeat("long ", 20000), "the instance's page does not")
}

func TestWordsForTimes(t *testing.T) {
	cases := map[time.Duration]string{
		0: "just now", 12 * time.Second: "12 s ago", 119 * time.Second: "119 s ago", 2 * time.Minute: "2 min ago",
		3 * time.Hour: "3 h ago", 49 * time.Hour: "2 days ago", -time.Second: "just now", -time.Hour: "in the future",
	}
	for before, want := range cases {
		i := instance("shop-1", func(i *eureka.InstanceInfo) { i.Lease.LastRenewed = now.Add(-before) })
		var out bytes.Buffer
		require.NoError(t, pages.Render(&out, dashboard.NewDetails(dashboard.Frame{Now: now}, i, dashboard.Held{})))
		renewed := regexp.MustCompile(`<dt>renewed</dt><dd><time[^>]*>([^<]*)`).FindStringSubmatch(out.String())
		require.NotNil(t, renewed)
		assert.Equal(t, want, renewed[1])
	}
}

func BenchmarkOverview(b *testing.B) {
	apps := fleet(10_000)
	q := query("q=i-0&sort=zone")
	for b.Loop() {
		var out bytes.Buffer
		page := dashboard.Overview{Frame: dashboard.Frame{Now: now}, Selection: dashboard.Select(apps, q, dashboard.Held{})}
		if err := pages.Render(&out, &page); err != nil {
			b.Fatal(err)
		}
	}
}

// TestHeldBack: an instance whose eviction is held back is marked with words,
// in the list and on its own page, unless it has renewed since the pass.
func TestHeldBack(t *testing.T) {
	held := dashboard.NewHeld(&delta.Statistics{
		Pass: now, HeldBack: 2, Held: []eureka.Key{eureka.NewKey("SHOP", "silent"), eureka.NewKey("SHOP", "back")},
	})
	renewed := func(at time.Time) func(*eureka.InstanceInfo) {
		return func(i *eureka.InstanceInfo) { i.Lease.LastRenewed = at }
	}
	for _, c := range []struct {
		instance *eureka.InstanceInfo
		marked   bool
	}{
		{instance("silent", renewed(now.Add(-2*time.Minute))), true},
		{instance("back", renewed(now.Add(time.Second))), false},
		{instance("alive", renewed(now.Add(-time.Second))), false},
	} {
		frame := dashboard.Frame{Now: now.Add(2 * time.Second)}
		apps := []eureka.Application{{Name: "SHOP", Instances: []*eureka.InstanceInfo{c.instance}}}
		var list, details bytes.Buffer
		require.NoError(t, pages.Render(&list, &dashboard.Overview{
			Frame: frame, Selection: dashboard.Select(apps, query(""), held),
		}))
		require.NoError(t, pages.Render(&details, dashboard.NewDetails(frame, c.instance, held)))
		for name, page := range map[string]string{"list": list.String(), "details": details.String()} {
			assert.Equal(t, c.marked, strings.Contains(page, "expired, held back</span>"), "%s of %s", name, c.instance.ID())
		}
	}
}
