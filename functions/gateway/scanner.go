package gateway

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"
)

// scanner reads JSON from the front. After the first thing that it does not
// know it has failed and does nothing more. Strings that it returns share the
// text's memory.
type scanner struct {
	text   string
	at     int
	depth  int
	failed bool
}

// maxDepth is deeper than anything that a gateway sends.
const maxDepth = 100

// done reports whether all was read and known.
func (s *scanner) done() bool {
	s.space()
	return !s.failed && s.at == len(s.text)
}

func (s *scanner) space() {
	for s.at < len(s.text) {
		switch s.text[s.at] {
		case ' ', '\n', '\r', '\t':
			s.at++
		default:
			return
		}
	}
}

// peek returns the next byte that is no space; 0 at the end.
func (s *scanner) peek() byte {
	s.space()
	if s.failed || s.at == len(s.text) {
		return 0
	}
	return s.text[s.at]
}

// take passes over a byte.
func (s *scanner) take(c byte) {
	if s.peek() != c {
		s.failed = true
		return
	}
	s.at++
}

// word passes over a word if it is next.
func (s *scanner) word(w string) bool {
	if s.peek(); s.failed || !strings.HasPrefix(s.text[s.at:], w) {
		return false
	}
	s.at += len(w)
	return true
}

// elements reads what is between brackets; each reads one element.
func (s *scanner) elements(open, end byte, each func()) {
	s.depth++
	defer func() { s.depth-- }()
	if s.depth > maxDepth {
		s.failed = true
	}
	s.take(open)
	if s.peek() == end {
		s.at++
		return
	}
	for !s.failed {
		each()
		if s.peek() == end {
			s.at++
			return
		}
		s.take(',')
	}
}

// object reads an object; known reads a member's value, or returns false for
// one that nobody needs. A needed one whose name is in other letters is
// something that only encoding/json knows.
func (s *scanner) object(known func(name string) bool) {
	if s.word("null") {
		return
	}
	s.elements('{', '}', func() {
		name := s.literal()
		s.take(':')
		switch {
		case s.failed || known(name):
		case inOtherLetters(name):
			s.failed = true
		default:
			s.skip()
		}
	})
}

// needed are the names of the members that are read, in any object.
var needed = []string{
	"version", "headers", "queryStringParameters", "pathParameters", "body", "isBase64Encoded", "requestContext",
	"httpMethod", "path", "multiValueHeaders", "multiValueQueryStringParameters", "rawPath", "rawQueryString", "cookies",
	"stage", "domainName", "resourcePath", "identity", "http", "method", "sourceIp",
}

// inOtherLetters reports whether a name may be a needed one with other capital
// letters.
func inOtherLetters(name string) bool {
	for i := range len(name) {
		if name[i] >= utf8.RuneSelf {
			return true
		}
	}
	return slices.ContainsFunc(needed, func(n string) bool {
		return len(n) == len(name) && n != name && strings.EqualFold(n, name)
	})
}

// literal reads a string.
func (s *scanner) literal() string {
	s.take('"')
	for i := s.at; !s.failed && i < len(s.text); i++ {
		switch c := s.text[i]; {
		case c == '"':
			out := s.text[s.at:i]
			s.at = i + 1
			return out
		case c == '\\' || c < ' ' || c >= utf8.RuneSelf:
			return s.escaped(i)
		}
	}
	s.failed = true
	return ""
}

// escaped reads a string with something in it that is not as it is, from
// somewhere in it on.
func (s *scanner) escaped(from int) string {
	for i := from; i < len(s.text); i++ {
		switch s.text[i] {
		case '\\':
			i++
		case '"':
			var out string
			s.failed = json.Unmarshal([]byte(s.text[s.at-1:i+1]), &out) != nil
			s.at = i + 1
			return out
		}
	}
	s.failed = true
	return ""
}

func (s *scanner) string(to *string) {
	if !s.word("null") {
		*to = s.literal()
	}
}

func (s *scanner) bool(to *bool) {
	switch {
	case s.word("true"):
		*to = true
	case s.word("false"):
		*to = false
	case !s.word("null"):
		s.failed = true
	}
}

// strings reads a map of strings.
func (s *scanner) strings(to *map[string]string) {
	if s.word("null") {
		*to = nil
		return
	}
	if *to == nil {
		*to = make(map[string]string, 16)
	}
	s.elements('{', '}', func() {
		name, value := s.literal(), ""
		s.take(':')
		s.string(&value)
		(*to)[name] = value
	})
}

// lists reads a map of lists of strings.
func (s *scanner) lists(to *map[string][]string) {
	if s.word("null") {
		*to = nil
		return
	}
	if *to == nil {
		*to = make(map[string][]string, 16)
	}
	s.elements('{', '}', func() {
		name, values := s.literal(), []string(nil)
		s.take(':')
		s.list(&values)
		(*to)[name] = values
	})
}

// list reads a list of strings.
func (s *scanner) list(to *[]string) {
	if s.word("null") {
		*to = nil
		return
	}
	out := []string{}
	s.elements('[', ']', func() {
		value := ""
		s.string(&value)
		out = append(out, value)
	})
	*to = out
}

// skip passes over a value of any kind.
func (s *scanner) skip() {
	switch s.peek() {
	case '"':
		s.literal()
	case '{':
		s.elements('{', '}', func() {
			s.literal()
			s.take(':')
			s.skip()
		})
	case '[':
		s.elements('[', ']', s.skip)
	default:
		end := s.at
		for end < len(s.text) && strings.IndexByte(",}] \n\r\t", s.text[end]) < 0 {
			end++
		}
		s.failed = s.failed || !json.Valid([]byte(s.text[s.at:end]))
		s.at = end
	}
}
