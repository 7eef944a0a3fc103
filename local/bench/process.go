package main

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"time"
)

// tick is the unit of processor times in /proc, on Linux.
const tick = 10 * time.Millisecond

// readProcess returns what a process has used so far; nothing for process 0.
func readProcess(pid int) (usage, error) {
	if pid == 0 {
		return usage{}, nil
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return usage{}, fmt.Errorf("process %d: %w", pid, err)
	}
	return parseStat(stat)
}

// parseStat reads /proc/PID/stat. The command's name, in brackets, may hold
// anything; the fields after it are counted from 3.
func parseStat(stat []byte) (usage, error) {
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
		return usage{}, fmt.Errorf("process times are not readable: %q", stat)
	}
	return usage{
		processor: time.Duration(user+system) * tick,
		resident:  pages * int64(os.Getpagesize()),
	}, nil
}
