package emulator_test

import (
	"testing"

	"go.uber.org/goleak"
)

// TestMain demands that no test leaves a goroutine behind. The embedded
// engine's library starts one when it is loaded.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m, goleak.IgnoreCurrent()) }
