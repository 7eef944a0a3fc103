// Package process tells what a process of this machine uses, by Linux's /proc.
package process

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"time"
)

// tick is the unit of processor times in /proc, on Linux.
const tick = 10 * time.Millisecond

// Usage is what a process has used.
type Usage struct {
	// Processor is its processor time so far, user's and system's.
	Processor time.Duration
	// Resident is the memory that it has resident, in bytes.
	Resident int64
}

// Of returns what a process has used so far, or an error where there is no
// such process or no /proc.
func Of(pid int) (Usage, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return Usage{}, fmt.Errorf("process %d: %w", pid, err)
	}
	return parse(stat)
}

// Since returns what was used since an earlier reading; the memory is that of
// now.
func (u Usage) Since(before Usage) Usage {
	return Usage{Processor: u.Processor - before.Processor, Resident: u.Resident}
}

// Each describes what was used, the processor time for each of so many
// requests.
func (u Usage) Each(requests int) string {
	return fmt.Sprintf("%.0f us of processor a request, %d MiB resident", float64(u.Processor.Microseconds())/float64(max(1, requests)), u.Resident>>20)
}

// parse reads /proc/PID/stat. The command's name, in brackets, may hold
// anything; the fields after it are counted from 3.
func parse(stat []byte) (Usage, error) {
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	number := func(n int) int64 {
		if n-3 >= len(fields) {
			return -1
		}
		value, err := strconv.ParseInt(string(fields[n-3]), 10, 64)
		if err != nil {
			return -1
		}
		return value
	}
	user, system, pages := number(14), number(15), number(24)
	if user < 0 || system < 0 || pages < 0 {
		return Usage{}, fmt.Errorf("process times are not readable: %q", stat)
	}
	return Usage{
		Processor: time.Duration(user+system) * tick,
		Resident:  pages * int64(os.Getpagesize()),
	}, nil
}
