package discovery

import (
	"context"
	"errors"

	"github.com/eurekaless/registry/core/eureka"
)

// renew sends one heartbeat and plans the next. The registry's 404 is answered
// at once with one registration, by the same instance; when that fails the
// next heartbeat, which is 404 again, tries again (TestH12).
//
// The pace is from beginning to beginning. A heartbeat that is not answered in
// time doubles the pause, up to ten times the interval, since the servers have
// too much to do; any other outcome brings the pace back.
func (r *registrar) renew(ctx context.Context) {
	began := r.now()
	err := r.api.Heartbeat(ctx, r.acked)
	r.note(func(l *leaseReport) {
		l.renewalErr = err
		if err == nil {
			l.renewed = r.now()
		}
	})
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		r.pace.grow()
	default:
		r.pace.reset()
	}
	r.renewal.Reset(max(0, r.pace.pause()-r.now().Sub(began)))
	switch {
	case errors.Is(err, eureka.ErrLeaseNotFound):
		r.log.InfoContext(ctx, "the registry does not know the instance: registering again", "instance", r.acked.Key().String())
		r.register(ctx, r.own.current()) // what fails is noted there
	case err != nil:
		r.log.WarnContext(ctx, "not renewed", "error", err)
	}
}
