package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/functions/boot"
)

// TestBothPartsInMemory runs all of it on a small registry, in no time.
func TestBothPartsInMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer

		err := run(t.Context(), []string{"-engine", "memory", "-instances", "600", "-rate", "20", "-churn", "0.1", "-turning", "15"}, &out)

		require.NoError(t, err, out.String())
		assert.Contains(t, out.String(), "renew      2400 in 120.0 s, 20/s")
		assert.NotContains(t, out.String(), ", failed")
		assert.Contains(t, out.String(), "1 hash code, 1 deltas; 0 of them cold, 0 ahead")
		assert.Contains(t, out.String(), "in the end all 10 containers and the table have DOWN_30_STARTING_30_UP_540_")
		assert.Regexp(t, `turn: 15 containers [345]\.\d to [3456]\.\d s after the boundary.*; 0 tries failed`, out.String())
		t.Log(out.String())
	})
}

func TestContainersThatDisagreeAreFound(t *testing.T) {
	at := time.Unix(1_800_000_000, 0)
	agree := []sighting{
		{container: 1, boundary: at, seen: at.Add(4 * time.Second), hash: "UP_2_", tag: "a"},
		{container: 2, boundary: at, seen: at.Add(29 * time.Second), hash: "UP_2_", tag: "a"},
		{container: 3, boundary: at, seen: at.Add(9 * time.Second), hash: "UP_3_", tag: "b", cold: true},
	}
	for name, tt := range map[string]struct {
		more sighting
		err  string
	}{
		"they agree":          {sighting{boundary: at.Add(time.Second), hash: "UP_4_", tag: "c"}, ""},
		"in the hash code":    {sighting{container: 4, boundary: at, hash: "UP_1_", tag: "a"}, "containers disagree at 08:00:00"},
		"in the deltas alone": {sighting{container: 4, boundary: at, hash: "UP_2_", tag: "c"}, "containers disagree at 08:00:00"},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			err := (&ledger{sightings: append(agree[:3:3], tt.more)}).judge(&out)
			if tt.err == "" {
				assert.NoError(t, err)
				assert.Contains(t, out.String(), "3 containers, first asked 4.0 to 29.0 s after it: 1 hash code, 1 deltas; 1 of them cold, 1 ahead  UP_2_\n")
				return
			}
			assert.EqualError(t, err, tt.err)
		})
	}
	assert.Error(t, (&ledger{}).judge(io.Discard), "nothing was seen")
}

// TestLateRequestsCountFromWhenTheyWereDue: a worker that waits for an answer
// does not make the next one look quick.
func TestLateRequestsCountFromWhenTheyWereDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := paced(t.Context(), "slow", 1, 10, 0, time.Second, func(_ context.Context, n int) error {
			time.Sleep(200 * time.Millisecond)
			if n == 1 {
				return errors.New("refused")
			}
			return nil
		})

		assert.Equal(t, time.Second, l.took, "five of 200 ms, one after another")
		assert.Equal(t, 1, l.failed)
		assert.Equal(t, []time.Duration{200 * time.Millisecond, 400 * time.Millisecond, 500 * time.Millisecond, 600 * time.Millisecond}, l.late)
		assert.Contains(t, l.String(), "4 in 1.0 s, 4/s, answered p50 500ms p99 600ms after they were due, failed 1: refused")
	})
}

func TestAnEngineThatTakesTooMuchEndsIt(t *testing.T) {
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		t.Skip("SKIPPED: memory is read from /proc")
	}
	synctest.Test(t, func(t *testing.T) {
		err := run(t.Context(), []string{"-engine", "memory", "-instances", "100", "-memory", "1000"}, io.Discard)
		assert.ErrorIs(t, err, errMemory)
	})
}

// TestAStreamThatFailsEndsIt: nobody waits for the rows that it does not bring.
func TestAStreamThatFailsEndsIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o, err := parse([]string{"-engine", "memory", "-instances", "100"})
		require.NoError(t, err)
		e, failed := inMemory(), errors.New("no stream")
		e.follow = func(context.Context, *boot.Parts) error { return failed }

		assert.ErrorIs(t, holdFleet(t.Context(), o, e, io.Discard), failed)
	})
}

func TestWrongOptions(t *testing.T) {
	for _, args := range [][]string{{"-instances", "1"}, {"-turning", "0"}, {"-length", "1s"}, {"-engine", "none"}, {"-unknown"}} {
		assert.Error(t, run(t.Context(), args, io.Discard), "%v", args)
	}
}
