// Package fieldtest lets the client loose on whole registries: this one, in
// process and as the local process, and a real Spring Cloud Eureka Server.
package fieldtest

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"
)

// built is the folder for what tests build.
var built string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "fieldtest")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	built = dir
	code := m.Run()
	if code == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, "goroutines are left:", err)
			code = 1
		}
	}
	os.RemoveAll(dir)
	os.Exit(code)
}
