package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// usage is what a process has used: its processor time so far, and the memory
// that it has resident, in bytes. Both are 0 where there is no /proc.
type usage struct {
	processor time.Duration
	resident  int64
}

// readUsage reads a process's usage; process 0 is this one.
func readUsage(pid int) usage {
	name := "self"
	if pid != 0 {
		name = strconv.Itoa(pid)
	}
	stat, err := os.ReadFile("/proc/" + name + "/stat")
	if err != nil {
		return usage{}
	}
	// The command's name, in brackets, may hold anything.
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	const user, system, pages, tick = 11, 12, 21, 10 * time.Millisecond
	number := func(n int) int64 {
		value, _ := strconv.ParseInt(fields[n], 10, 64)
		return value
	}
	return usage{
		processor: time.Duration(number(user)+number(system)) * tick,
		resident:  number(pages) * int64(os.Getpagesize()),
	}
}

// since describes what was used since an earlier reading, for so many requests.
func (u usage) since(before usage, requests int) string {
	used := u.processor - before.processor
	return fmt.Sprintf("%.0f us of processor a request, %d MiB resident", float64(used.Microseconds())/float64(max(1, requests)), u.resident>>20)
}
