package process

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestParse(t *testing.T) {
	u, err := parse([]byte("42 (a b) c) S 1 1 1 0 -1 4194560 1 0 0 0 150 50 0 0 20 0 9 0 100 2000000 1000 18446744073709551615 1 1"))
	require.NoError(t, err)
	assert.Equal(t, Usage{Processor: 2 * time.Second, Resident: int64(1000 * os.Getpagesize())}, u)
	_, err = parse([]byte("42 (a) S 1"))
	assert.Error(t, err)
}

func TestOf(t *testing.T) {
	before, err := Of(os.Getpid())
	require.NoError(t, err)
	assert.Greater(t, before.Resident, int64(1<<20))
	later := Usage{Processor: before.Processor + time.Second, Resident: 7}
	assert.Equal(t, Usage{Processor: time.Second, Resident: 7}, later.Since(before))
	_, err = Of(-1)
	assert.Error(t, err)
}
