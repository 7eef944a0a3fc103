package dashboard

import (
	"cmp"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/eurekaless/registry/core/eureka"
)

// PageSize is how many instances a page shows.
const PageSize = 100

// maxFilter is how many characters of a filter count.
const maxFilter = 200

// Query is what a reader asks to see: the parameters of the page's address.
type Query struct {
	// Filter is a text that an instance's names must contain, whatever the
	// case; empty: all.
	Filter string
	// Status is one that instances must have; empty: any.
	Status eureka.Status
	// Sort is the column that orders; Descending turns it around.
	Sort       string
	Descending bool
	// Page counts from 1.
	Page int
}

// Columns of the list, by which it can be sorted; the first is the default.
var columns = []struct {
	Name, Title string
	compare     func(a, b *eureka.InstanceInfo) int
}{
	{"app", "Application", func(a, b *eureka.InstanceInfo) int { return strings.Compare(a.App, b.App) }},
	{"id", "Instance", func(a, b *eureka.InstanceInfo) int { return strings.Compare(a.ID(), b.ID()) }},
	{"status", "Status", func(a, b *eureka.InstanceInfo) int { return strings.Compare(string(a.Status), string(b.Status)) }},
	{"zone", "Zone", func(a, b *eureka.InstanceInfo) int { return strings.Compare(zone(a), zone(b)) }},
	{"address", "Address", func(a, b *eureka.InstanceInfo) int { return strings.Compare(address(a), address(b)) }},
	{"changed", "Changed", func(a, b *eureka.InstanceInfo) int { return b.LastUpdated.Compare(a.LastUpdated) }},
}

// ParseQuery reads a query; what it does not understand is the default.
func ParseQuery(values url.Values) Query {
	q := Query{Filter: strings.TrimSpace(values.Get("q")), Sort: columns[0].Name, Page: 1}
	if runes := []rune(q.Filter); len(runes) > maxFilter {
		q.Filter = string(runes[:maxFilter])
	}
	if status, ok := eureka.ParseStatus(values.Get("status")); ok {
		q.Status = status
	}
	for _, c := range columns {
		if c.Name == values.Get("sort") {
			q.Sort = c.Name
		}
	}
	q.Descending = values.Get("order") == "desc"
	if page, err := strconv.Atoi(values.Get("page")); err == nil && page > 0 {
		q.Page = page
	}
	return q
}

// Encode returns the query as ParseQuery reads it, after a question mark.
func (q Query) Encode() string {
	values := url.Values{}
	set := func(name, value string, given bool) {
		if given {
			values.Set(name, value)
		}
	}
	set("q", q.Filter, q.Filter != "")
	set("status", string(q.Status), q.Status != "")
	set("sort", q.Sort, q.Sort != columns[0].Name)
	set("order", "desc", q.Descending)
	set("page", strconv.Itoa(q.Page), q.Page > 1)
	return "?" + values.Encode()
}

// Selection is the part of the registry that a query names.
type Selection struct {
	Query Query
	// Total counts all instances, Found those that the query names.
	Total, Found int
	// First and Last number the shown ones from 1; Pages counts pages.
	First, Last, Pages int
	// Groups are the shown instances: one group for each application where
	// they are sorted by it, else one for all.
	Groups []Group
}

// Group is shown instances under a heading.
type Group struct {
	// Name is the application's; empty for a group without heading.
	Name string
	// Counts says how many instances of which status the whole application
	// has, as far as the query names them.
	Counts []Count
	Rows   []Row
}

// Count is a number of instances of a status.
type Count struct {
	Status eureka.Status
	Number int
}

// Row is an instance in a list.
type Row struct {
	App, ID string
	Status  eureka.Status
	// Overridden says that the status is an administrator's.
	Overridden bool
	// Held says that its lease has expired and that its eviction is held back.
	Held          bool
	Zone, Address string
	Links         []Link
	Changed       time.Time
}

// Select returns what a query names; apps are sorted by name, and their
// instances by id. A page behind the last one is the last one.
func Select(apps []eureka.Application, q Query, held Held) *Selection {
	s := &Selection{}
	var found []*eureka.InstanceInfo
	filter := strings.ToLower(q.Filter)
	counts := map[string]eureka.StatusCounts{}
	for _, app := range apps {
		s.Total += len(app.Instances)
		counts[app.Name] = eureka.StatusCounts{}
		for _, i := range app.Instances {
			if (q.Status == "" || q.Status == i.Status) && matches(i, filter) {
				found = append(found, i)
				counts[app.Name].Count(i)
			}
		}
	}
	order(found, q)
	s.Found = len(found)
	s.Pages = max(1, (s.Found+PageSize-1)/PageSize)
	q.Page = min(q.Page, s.Pages)
	s.Query = q
	from := (q.Page - 1) * PageSize
	shown := found[from:min(from+PageSize, s.Found)]
	s.First, s.Last = min(from+1, s.Found), from+len(shown)
	s.Groups = groups(shown, q.Sort == columns[0].Name, counts, held)
	return s
}

// Sentence says how many instances are shown, of how many.
func (s *Selection) Sentence() string {
	of := ""
	if s.Found != s.Total {
		of = ", filtered from " + Number(s.Total)
	}
	switch {
	case s.Total == 0:
		return "No instance is registered."
	case s.Found == 0:
		return "No match among " + instances(s.Total) + "."
	case s.Pages > 1:
		return Number(s.First) + " to " + Number(s.Last) + " of " + instances(s.Found) + of + "."
	}
	return instances(s.Found) + of + "."
}

func instances(n int) string {
	if n == 1 {
		return "1 instance"
	}
	return Number(n) + " instances"
}

// order sorts instances that are in the order of the default.
func order(found []*eureka.InstanceInfo, q Query) {
	for _, c := range columns {
		if c.Name != q.Sort {
			continue
		}
		slices.SortStableFunc(found, func(a, b *eureka.InstanceInfo) int {
			if q.Descending {
				return c.compare(b, a)
			}
			return c.compare(a, b)
		})
	}
}

// matches reports whether a filter, in lower case, is in any of the names that
// a reader may look for.
func matches(i *eureka.InstanceInfo, filter string) bool {
	if filter == "" {
		return true
	}
	for _, text := range []string{i.App, i.ID(), i.HostName, i.IPAddr, i.VIPAddress, i.SecureVIPAddress, zone(i), string(i.Status)} {
		if strings.Contains(strings.ToLower(text), filter) {
			return true
		}
	}
	return false
}

// groups makes rows of instances.
func groups(shown []*eureka.InstanceInfo, byApp bool, counts map[string]eureka.StatusCounts, held Held) []Group {
	var out []Group
	for _, i := range shown {
		name := ""
		if byApp {
			name = i.App
		}
		if len(out) == 0 || out[len(out)-1].Name != name {
			out = append(out, Group{Name: name, Counts: ListCounts(counts[name])})
		}
		last := &out[len(out)-1]
		last.Rows = append(last.Rows, row(i, held))
	}
	return out
}

// ListCounts returns counts with the most frequent status first.
func ListCounts(counts eureka.StatusCounts) []Count {
	var out []Count
	for status, n := range counts {
		if n > 0 {
			out = append(out, Count{status, n})
		}
	}
	slices.SortFunc(out, func(a, b Count) int {
		return cmp.Or(b.Number-a.Number, strings.Compare(string(a.Status), string(b.Status)))
	})
	return out
}

func row(i *eureka.InstanceInfo, held Held) Row {
	return Row{
		App: i.App, ID: i.ID(), Status: i.Status, Overridden: overridden(i), Held: held.has(i),
		Zone: zone(i), Address: address(i), Changed: i.LastUpdated,
		Links: links(Link{"home", i.HomePageURL}, Link{"health", healthURL(i)}, Link{"status", i.StatusPageURL}),
	}
}

func overridden(i *eureka.InstanceInfo) bool {
	return i.OverriddenStatus != "" && i.OverriddenStatus != eureka.Unknown
}

func healthURL(i *eureka.InstanceInfo) string {
	return cmp.Or(i.HealthCheckURL, i.SecureHealthCheckURL)
}

// zone returns where an instance says that it is.
func zone(i *eureka.InstanceInfo) string {
	return cmp.Or(i.Metadata["zone"], i.DataCenter.Metadata["availability-zone"])
}

// address returns an instance's address and the port that it uses.
func address(i *eureka.InstanceInfo) string {
	port := i.Port
	if !port.Enabled && i.SecurePort.Enabled {
		port = i.SecurePort
	}
	host := cmp.Or(i.IPAddr, i.HostName)
	if !port.Enabled {
		return host
	}
	return net.JoinHostPort(host, strconv.Itoa(port.Number))
}

// Overview is the page of all instances.
type Overview struct {
	Frame
	System System
	*Selection
	// Statuses are those to choose from.
	Statuses []Count
}

// Heading is a column's head: a link that sorts by it, or the other way round.
type Heading struct {
	Title, Link string
	// Sorted is aria-sort's value.
	Sorted string
}

// Headings returns the columns' heads.
func (s *Selection) Headings() []Heading {
	var out []Heading
	for _, c := range columns {
		q := s.Query
		q.Sort, q.Descending, q.Page = c.Name, false, 1
		sorted := "none"
		if s.Query.Sort == c.Name {
			sorted, q.Descending = "ascending", !s.Query.Descending
			if s.Query.Descending {
				sorted = "descending"
			}
		}
		out = append(out, Heading{c.Title, q.Encode(), sorted})
	}
	return out
}

// Turn returns the address of a page that is that many further, and nothing
// when there is none.
func (s *Selection) Turn(by int) string {
	q := s.Query
	q.Page += by
	if q.Page < 1 || q.Page > s.Pages {
		return ""
	}
	return q.Encode()
}

// Columns returns how many columns the list has.
func (s *Selection) Columns() int { return len(columns) + 1 }
