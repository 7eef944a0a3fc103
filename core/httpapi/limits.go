package httpapi

import (
	"fmt"
)

// notAcceptable says what a client can do about an answer that the gateway
// would not let through (TestH24).
func notAcceptable(zipped bool) error {
	if !zipped {
		return fmt.Errorf("%w: send Accept-Encoding: gzip", errNotAcceptable)
	}
	return fmt.Errorf("%w: ask for the compact form (X-Eureka-Accept: compact), read deltas, "+
		"or single applications, or deploy with response streaming", errNotAcceptable)
}
