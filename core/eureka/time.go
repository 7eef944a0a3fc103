package eureka

import (
	"strconv"
	"time"
)

// lastYear is the last year that RFC 3339 can write.
const lastYear = 9999

// FormatTime returns a time for people and documents: RFC 3339 in UTC, or the
// epoch milliseconds of a time that RFC 3339 cannot write. A client that counts
// in microseconds sends such times.
func FormatTime(t time.Time) string { return FormatTimeAs(t, time.RFC3339) }

// FormatTimeAs is [FormatTime] with a layout of its own.
func FormatTimeAs(t time.Time, layout string) string {
	t = t.UTC()
	if year := t.Year(); year < 0 || year > lastYear {
		return strconv.FormatInt(t.UnixMilli(), 10)
	}
	return t.Format(layout)
}
