// Package dashboard renders the registry's pages for people: instances with a
// filter and pages, one instance, the confirmation of a change, statistics, and
// the last registrations and cancellations. Who asks for them gathers what they
// show; nothing here reads or changes the registry.
//
// A page is one document: style and script are in it, and a content security
// policy names both by their hashes, so that nothing else runs, whatever an
// instance's fields hold, and nothing is fetched from elsewhere. All links are
// relative and need no path of their own below the page, so pages work at any
// prefix. Everything works without the script, which only saves the filter's
// button.
package dashboard

import (
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"html/template"
	"io"
	"net/url"
	"strings"
	"time"
)

//go:embed assets
var assets embed.FS

var (
	style  = read("style.css")
	script = read("script.js")
	// pages are the templates, each with the frame around it.
	pages = map[string]*template.Template{
		"overview": parse("overview.html"),
		"instance": parse("instance.html"),
		"confirm":  parse("confirm.html"),
		"recent":   parse("recent.html"),
		"status":   parse("status.html"),
		"message":  parse("message.html"),
	}
)

func read(name string) string {
	data, err := assets.ReadFile("assets/" + name)
	if err != nil {
		panic(err) // a file that the compiler embedded
	}
	return string(data)
}

func parse(name string) *template.Template {
	return template.Must(template.New("frame.html").Funcs(template.FuncMap{
		"ago":    ago,
		"span":   span,
		"short":  func(text string) string { return shorten(text, shortLength) },
		"stamp":  func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
		"number": number,
		"style":  func() template.CSS { return template.CSS(style) },
		"script": func() template.JS { return template.JS(script) },
	}).ParseFS(assets, "assets/frame.html", "assets/system.html", "assets/"+name))
}

// Policy is the pages' Content-Security-Policy.
func Policy() string {
	return strings.Join([]string{
		"default-src 'none'",
		"style-src " + source(style),
		"script-src " + source(script),
		"img-src data:",
		"connect-src 'self'",
		"form-action 'self'",
		"frame-ancestors 'none'",
		"base-uri 'none'",
	}, "; ")
}

// source names an embedded text by its hash.
func source(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

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

// WriteMessage renders a message.
func WriteMessage(w io.Writer, m *Message) error { return render(w, "message", m) }

func render(w io.Writer, page string, data any) error { return pages[page].Execute(w, data) }

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
