// Package templates renders the dashboard's pages with html/template. It is a
// package of its own so that what serves no pages is built without it.
//
// A page is one document: style and script are in it, and a content security
// policy names both by their hashes, so that nothing else runs, whatever an
// instance's fields hold, and nothing is fetched from elsewhere. All links are
// relative and need no path of their own below the page, so pages work at any
// prefix. Everything works without the script, which only saves the filter's
// button.
package templates

import (
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"html/template"
	"io"
	"strings"
	"sync"

	"github.com/eurekaless/registry/core/dashboard"
	"github.com/eurekaless/registry/core/eureka"
)

var (
	//go:embed assets/*.html
	documents embed.FS
	//go:embed assets/style.css
	style string
	//go:embed assets/script.js
	script string
)

// Set is the templates of all pages. It is safe for concurrent use.
type Set struct {
	// pages returns the template of each page's name, each with the frame
	// around it.
	pages  func() map[string]*template.Template
	policy func() string
}

// New returns the templates. They are parsed when the first page is rendered:
// most containers answer programs alone.
func New() *Set {
	return &Set{pages: sync.OnceValue(parseAll), policy: sync.OnceValue(policy)}
}

// Render writes a page as a document.
func (s *Set) Render(w io.Writer, page dashboard.Page) error {
	return s.pages()[page.Name()].Execute(w, page)
}

// Policy returns the pages' Content-Security-Policy.
func (s *Set) Policy() string { return s.policy() }

func parseAll() map[string]*template.Template {
	pages := map[string]*template.Template{}
	for _, page := range dashboard.Pages() {
		pages[page.Name()] = parse(page.Name())
	}
	return pages
}

// parse parses what the compiler embedded.
func parse(name string) *template.Template {
	return template.Must(template.New("frame.html").Funcs(template.FuncMap{
		"ago":    ago,
		"span":   dashboard.Span,
		"short":  func(text string) string { return shorten(text, shortLength) },
		"stamp":  eureka.FormatTime,
		"number": dashboard.Number, "until": until,
		"style":  func() template.CSS { return template.CSS(style) },
		"script": func() template.JS { return template.JS(script) },
	}).ParseFS(documents, "assets/frame.html", "assets/system.html", "assets/"+name+".html"))
}

func policy() string {
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
