package templates

import (
	"time"
	"unicode/utf8"

	"github.com/eurekaless/registry/core/dashboard"
)

// shortLength is how many characters of a value lists show.
const shortLength = 80

// shorten returns the beginning of a text, with an ellipsis where it was cut.
func shorten(text string, length int) string {
	if utf8.RuneCountInString(text) <= length {
		return text
	}
	return string([]rune(text)[:length]) + "…"
}

// maxSkew is how far clients' clocks are usually apart from this one.
const maxSkew = time.Minute

// ago returns how long before now a time was, in words; "never" for none.
func ago(now, t time.Time) string {
	d := now.Sub(t)
	switch {
	case t.IsZero():
		return "never"
	case d >= time.Second:
		return dashboard.Span(d) + " ago"
	case d < -maxSkew:
		return "in the future"
	}
	return "just now"
}

// until returns how long after now a time is, in words.
func until(now, t time.Time) string {
	if d := t.Sub(now); d >= time.Second {
		return "in " + dashboard.Span(d)
	}
	return ago(now, t)
}
