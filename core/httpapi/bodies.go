package httpapi

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"golang.org/x/sync/semaphore"

	"github.com/eurekaless/registry/core/eureka"
)

// DefaultBodyMemory is how many bytes of request bodies are worked on at once.
const DefaultBodyMemory = 8 << 20

const (
	// smallBody is how much of a body is read without waiting. Nearly all
	// registrations are smaller, so a client that sends a large body slowly
	// holds up none of them.
	smallBody = 16 << 10
	// bodyWeight is added to the length of each body that is worked on, and
	// batchWeight to that of a batch: answers to it hold instances, too.
	bodyWeight  = 4 << 10
	batchWeight = 1 << 20
)

// bodies reads request bodies and bounds the memory that they take together,
// from reading to the end of the request: what a body is decoded to is some
// times its length. It is safe for concurrent use.
type bodies struct {
	// max is the largest body in bytes, before and after decompression.
	max int64
	// reading weighs large bodies that are being read, and working all that
	// were read, both in bytes.
	reading, working *semaphore.Weighted
}

// newBodies returns bodies of at most max bytes, of which about memory bytes
// are worked on at once, but at least one of the largest.
func newBodies(limit, memory int64) *bodies {
	memory = max(memory, limit+batchWeight)
	return &bodies{max: limit, reading: semaphore.NewWeighted(memory), working: semaphore.NewWeighted(memory)}
}

// read reads a request's body, decompressed, and waits until there is memory to
// work on it, with so much more than its length. The caller calls done when the
// request is over.
func (b *bodies) read(r *http.Request, weight int64) (body []byte, done func(), err error) {
	source, err := b.source(r)
	if err != nil {
		return nil, nil, err
	}
	body, reserved, err := b.readAll(r, source)
	if err == nil {
		weight += int64(len(body))
		err = take(r.Context(), b.working, weight)
	}
	if err != nil {
		b.reading.Release(reserved)
		return nil, nil, err
	}
	return body, func() {
		b.working.Release(weight)
		b.reading.Release(reserved)
	}, nil
}

// source returns a reader of the body that fails beyond the limit.
func (b *bodies) source(r *http.Request) (io.Reader, error) {
	body := http.MaxBytesReader(nil, r.Body, b.max)
	switch strings.ToLower(r.Header.Get("Content-Encoding")) {
	case "", "identity":
		return body, nil
	case "gzip":
		unzipped, err := gzip.NewReader(body)
		if err != nil {
			return nil, eureka.Invalidf("body", "not gzip, though Content-Encoding says so")
		}
		return http.MaxBytesReader(nil, unzipped, b.max), nil
	}
	return nil, fmt.Errorf("content encoding: %w", errMediaType)
}

// readAll reads a body to its end, and returns what it holds of reading.
func (b *bodies) readAll(r *http.Request, source io.Reader) (body []byte, reserved int64, err error) {
	var buffer bytes.Buffer
	if _, err := io.CopyN(&buffer, source, smallBody); errors.Is(err, io.EOF) {
		return buffer.Bytes(), 0, nil
	} else if err != nil {
		return nil, 0, b.unreadable(err)
	}
	reserved = b.max
	if known := r.ContentLength; known > 0 && known < b.max && r.Header.Get("Content-Encoding") == "" {
		reserved = known
	}
	if err := take(r.Context(), b.reading, reserved); err != nil {
		return nil, 0, err
	}
	if reserved < b.max {
		buffer.Grow(int(reserved) - buffer.Len() + bytes.MinRead)
	}
	if _, err := io.Copy(&buffer, source); err != nil {
		return nil, reserved, b.unreadable(err)
	}
	return buffer.Bytes(), reserved, nil
}

// unreadable returns why a body could not be read.
func (b *bodies) unreadable(err error) error {
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) {
		return eureka.TooLargef("body", "more than %d bytes", b.max)
	}
	return eureka.Invalidf("body", "not readable to its end")
}

// take waits for n bytes as long as the request lasts.
func take(ctx context.Context, memory *semaphore.Weighted, n int64) error {
	if err := memory.Acquire(ctx, n); err != nil {
		return fmt.Errorf("%w: waiting for memory to read a body: %w", eureka.ErrThrottled, err)
	}
	return nil
}
