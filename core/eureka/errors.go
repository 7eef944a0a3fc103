package eureka

import (
	"errors"
	"fmt"
	"time"
)

// The sentinel errors of the system. core/httpapi has the one table from them
// to HTTP statuses.
var (
	// ErrLeaseNotFound: there is no lease of that key (or only a tombstone).
	// Clients answer it with a registration.
	ErrLeaseNotFound = errors.New("lease not found")
	// ErrNotFound: no such application.
	ErrNotFound = errors.New("not found")
	// ErrInvalid: the request is wrong; see [InvalidError].
	ErrInvalid = errors.New("invalid request")
	// ErrTooLarge: a part of the request exceeds a limit.
	ErrTooLarge = errors.New("too large")
	// ErrConflict: rivals changed the lease each time it was tried. Trying
	// again later is right.
	ErrConflict = errors.New("changed by others meanwhile")
	// ErrThrottled: the store refuses work for now. Nothing was changed.
	ErrThrottled = errors.New("throttled")
	// ErrUnavailable: the store cannot be reached, or did not answer in
	// time. A write may have been applied.
	ErrUnavailable = errors.New("store unavailable")
	// ErrNoSnapshot: no usable snapshot is published.
	ErrNoSnapshot = errors.New("no snapshot")
	// ErrPassClaimed: another eviction pass has claimed this time.
	ErrPassClaimed = errors.New("another pass has claimed this time")
	// ErrUnauthenticated: the request has no credentials, or wrong ones.
	ErrUnauthenticated = errors.New("credentials are missing or wrong")
	// ErrForbidden: whoever sent the request may not do this.
	ErrForbidden = errors.New("not allowed")
	// ErrRateLimited: the client asks too often; see [RateLimitedError].
	ErrRateLimited = errors.New("too many requests")
	// ErrCorrupt: stored bytes cannot be understood. That item is reported
	// and skipped, never the whole read.
	ErrCorrupt = errors.New("stored data cannot be understood")
)

// InvalidError is an [ErrInvalid] or [ErrTooLarge] that names the field.
type InvalidError struct {
	// Field is the wire name, such as "port" or "dataCenterInfo.name".
	Field string
	// Reason says what is wrong with it, for the client's developer.
	Reason string
	// Kind is ErrInvalid, or ErrTooLarge for a limit.
	Kind error
}

// Error returns "field: reason".
func (e *InvalidError) Error() string { return e.Field + ": " + e.Reason }

// Unwrap returns the sentinel.
func (e *InvalidError) Unwrap() error { return e.Kind }

// Invalidf returns an [InvalidError] of kind ErrInvalid.
func Invalidf(field, format string, args ...any) error {
	return &InvalidError{Field: field, Reason: fmt.Sprintf(format, args...), Kind: ErrInvalid}
}

// TooLargef returns an [InvalidError] of kind ErrTooLarge.
func TooLargef(field, format string, args ...any) error {
	return &InvalidError{Field: field, Reason: fmt.Sprintf(format, args...), Kind: ErrTooLarge}
}

// RateLimitedError is an [ErrRateLimited] that knows when to try again.
type RateLimitedError struct {
	// After is how long to wait; 0: a moment.
	After time.Duration
}

// Error says what to do.
func (e *RateLimitedError) Error() string { return ErrRateLimited.Error() + "; try again later" }

// Unwrap returns the sentinel.
func (e *RateLimitedError) Unwrap() error { return ErrRateLimited }
