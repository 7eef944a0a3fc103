package main

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestReadme: the README's table of costs is what the program prints.
func TestReadme(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, run(&out))
	readme, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	assert.True(t, strings.Contains(string(readme), out.String()), "README.md has another table of costs than `make cost`:\n%s", out.String())
}

// TestTable computes the cost of the simplest fleet by hand.
func TestTable(t *testing.T) {
	p := prices{
		HoursAMonth: 100, WriteUnit: 0.001, ReadUnit: 0.0001, LambdaRequest: 0.002, LambdaGBSecond: 0.01,
		WriteGB: 1, WriteSeconds: 0.1, ReadGB: 1, ReadSeconds: 0.1,
	}
	m := measured{
		Instances: 10, Heartbeats: 20, Renewals: units{Write: 20}, Changes: units{Write: 10}, Views: units{Read: 3}, Passes: units{Read: 7},
	}
	urls := gateways()[1]
	// 3 units at 0.1 cents, 2 calls of 0.2 cents and 0.1 GB-s at 1 cent, 100 times.
	assert.InDelta(t, 0.3+2*100*(0.002+0.001), heartbeatsMonth(p, m, urls), 1e-9)
	assert.InDelta(t, 2*100*(0.002+0.001), readsMonth(p, m, invocation(p, p.ReadGB, p.ReadSeconds)), 1e-9)
	assert.InDelta(t, 100*(10*0.0001+60*0.002), fixedMonth(p, m), 1e-9)
}
