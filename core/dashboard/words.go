package dashboard

import (
	"fmt"
	"strconv"
	"time"
	"unicode/utf8"
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

// ago returns how long before now a time was, in words; "never" for none.
func ago(now, t time.Time) string {
	if t.IsZero() {
		return "never"
	}
	if d := now.Sub(t); d >= time.Second {
		return span(d) + " ago"
	}
	return "just now"
}

// span returns a duration in its largest unit, rounded down.
func span(d time.Duration) string {
	day := 24 * time.Hour
	switch {
	case d < 0:
		return "0 s"
	case d < 2*time.Minute:
		return fmt.Sprintf("%d s", d/time.Second)
	case d < 2*time.Hour:
		return fmt.Sprintf("%d min", d/time.Minute)
	case d < 2*day:
		return fmt.Sprintf("%d h", d/time.Hour)
	}
	return fmt.Sprintf("%d days", d/day)
}

// number returns a number with its digits in groups of three.
func number(n int) string {
	text := strconv.Itoa(n)
	for at := len(text) - 3; at > 0 && text[at-1] != '-'; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text
}
