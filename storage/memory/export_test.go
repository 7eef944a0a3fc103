package memory

import (
	"time"

	"github.com/eurekaless/registry/core/eureka"
)

// Expires returns an item's TTL.
func Expires(s *Store, key eureka.Key) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.Unix(s.find(key).expires, 0)
}
