package boot

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/aws/aws-lambda-go/lambdacontext"
)

// NewLogger returns a logger that writes JSON lines as Lambda's own log format
// has them, each with the id of the request that its context belongs to.
// Whatever does not print is escaped, so that no client can forge a line, or
// play tricks on the terminal of whoever reads it.
func NewLogger(w io.Writer, level slog.Level) *slog.Logger {
	return slog.New(requestHandler{slog.NewJSONHandler(Printable(w), &slog.HandlerOptions{
		Level: level,
		ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
			if len(groups) == 0 && a.Key == slog.TimeKey {
				a.Key = "timestamp"
			}
			if len(groups) == 0 && a.Key == slog.MessageKey {
				a.Key = "message"
			}
			return a
		},
	})})
}

// Printable returns a writer for lines that a person may read on a terminal.
// It escapes every character that does not print, as JSON escapes them: control
// characters, which terminals obey, and those that turn the direction of
// writing. JSON that passes through it means the same. Each call of Write must
// have whole characters.
func Printable(w io.Writer) io.Writer { return printable{w} }

type printable struct{ w io.Writer }

func (p printable) Write(line []byte) (int, error) {
	if utf8.Valid(line) && !bytes.ContainsFunc(line, hidden) {
		return p.w.Write(line)
	}
	var out bytes.Buffer
	for _, r := range string(line) { // what is not UTF-8 becomes U+FFFD
		switch {
		case !hidden(r):
			out.WriteRune(r)
		case r > 0xFFFF:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&out, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&out, `\u%04x`, r)
		}
	}
	if _, err := p.w.Write(out.Bytes()); err != nil {
		return 0, err
	}
	return len(line), nil
}

// hidden reports whether a character shows nothing of itself.
func hidden(r rune) bool { return r != '\n' && r != '\t' && !unicode.IsPrint(r) }

// requestHandler adds the request's id to each line.
type requestHandler struct{ slog.Handler }

func (h requestHandler) Handle(ctx context.Context, r slog.Record) error {
	if lc, ok := lambdacontext.FromContext(ctx); ok {
		r = r.Clone()
		r.AddAttrs(slog.String("requestId", lc.AwsRequestID))
	}
	return h.Handler.Handle(ctx, r)
}

func (h requestHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return requestHandler{h.Handler.WithAttrs(attrs)}
}

func (h requestHandler) WithGroup(name string) slog.Handler {
	return requestHandler{h.Handler.WithGroup(name)}
}
