package view

import (
	"testing"

	"go.uber.org/goleak"
)

// TestMain demands that no test leaves a goroutine behind.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
