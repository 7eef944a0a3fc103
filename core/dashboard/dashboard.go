// Package dashboard is what the registry's pages for people show: instances with
// a filter and pages, one instance, the confirmation of a change, statistics,
// and the last registrations and cancellations. Who asks for them gathers what
// they show, and package templates renders them; nothing here reads or changes
// the registry.
package dashboard

import (
	"net/url"
	"time"
)

// Page is what one page shows: one of [Pages].
type Page interface {
	// Name is that of the page's template.
	Name() string
}

// Pages returns one of each, empty.
func Pages() []Page {
	return []Page{&Overview{}, &Details{}, &Confirmation{}, &Recent{}, &Status{}, &Message{}}
}

// Name is overview.
func (*Overview) Name() string { return "overview" }

// Name is instance.
func (*Details) Name() string { return "instance" }

// Name is confirm.
func (*Confirmation) Name() string { return "confirm" }

// Name is recent.
func (*Recent) Name() string { return "recent" }

// Name is status.
func (*Status) Name() string { return "status" }

// Name is message.
func (*Message) Name() string { return "message" }

// Frame is what every page has.
type Frame struct {
	// Now is the servers' time, which ages are counted from.
	Now time.Time
	// Region and Environment say which registry this is.
	Region      string
	Environment string
	// Admin shows the actions.
	Admin bool
}

// Message is a page that says one thing.
type Message struct {
	Frame
	Title, Text string
}

// Link is a link that a browser may follow.
type Link struct{ Name, URL string }

// links returns those of an instance's addresses that lead to a web page.
// Everything else that an instance says there stays text.
func links(named ...Link) []Link {
	var out []Link
	for _, l := range named {
		u, err := url.Parse(l.URL)
		if err == nil && u.Host != "" && (u.Scheme == "http" || u.Scheme == "https") {
			out = append(out, l)
		}
	}
	return out
}
