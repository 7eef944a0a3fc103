package discovery_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/core/discovery"
	"github.com/eurekaless/registry/core/eureka"
	"github.com/eurekaless/registry/core/wire"
)

// documents answers full fetches and deltas each with its own document.
func (s *script) documents(full, delta string) {
	s.change(func(a asked) reply {
		switch a.kind() {
		case "full":
			return reply{body: full}
		case "delta":
			return reply{body: delta}
		}
		return reply{}
	})
}

func TestFullFetchThenDeltas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript(t, nil)
		s.documents(registryOf(shop("a"), shop("b")), registryWith(2, "UP_3_", shop("c", withAction(eureka.Added))))
		c := start(t, fetching(s))
		assert.Equal(t, []string{"a", "b"}, ids(c.View().VIP("shop")), "there when start returns")
		elapse(5*time.Minute + time.Second)
		assert.Equal(t, seconds(0), s.times("full"))
		assert.Equal(t, every(30*time.Second, 30*time.Second, 10), s.times("delta"))
		assert.Equal(t, []string{"a", "b", "c"}, ids(c.View().VIP("shop")))
		assert.EqualValues(t, 2, c.View().Version())
		assert.Equal(t, s.began.Add(5*time.Minute), c.View().Fetched())
		age, fetched := c.Age()
		assert.True(t, fetched)
		assert.Equal(t, time.Second, age)
		a := s.of("full")[0]
		assert.Equal(t, "gzip", a.header.Get("Accept-Encoding"))
		assert.Equal(t, "application/json", a.header.Get("Accept"))
		assert.Empty(t, a.header.Get("X-Eureka-Accept"))
		assert.Equal(t, "discovery", a.header.Get("DiscoveryIdentity-Name"))
	})
}

func TestHashCodesThatDifferAreReconciledOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript(t, nil)
		s.documents(registryOf(shop("a")), registryWith(1, "UP_2_"))
		c := start(t, fetching(s))
		s.documents(registryOf(shop("a"), shop("b")), registryWith(1, "UP_2_"))
		elapse(91 * time.Second)
		assert.Equal(t, seconds(30, 60, 90), s.times("delta"))
		assert.Equal(t, seconds(0, 30), s.times("full"), "once, after the delta that did not fit")
		assert.Equal(t, []string{"a", "b"}, ids(c.View().VIP("shop")))
	})
}

// TestFullFetchAfterADifferenceThatFailed: the next fetch is a full one too.
func TestFullFetchAfterADifferenceThatFailed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript(t, nil)
		s.documents(registryOf(shop("a")), "")
		c := start(t, fetching(s))
		s.change(func(a asked) reply {
			if a.kind() == "delta" {
				return reply{body: registryWith(1, "UP_7_")}
			}
			return reply{status: http.StatusInternalServerError}
		})
		elapse(31 * time.Second)
		assert.Error(t, c.Report().FetchErr)
		age, _ := c.Age()
		assert.Equal(t, 31*time.Second, age, "a delta that does not fit confirms nothing")
		s.documents(registryOf(shop("b")), "")
		elapse(30 * time.Second)
		assert.Equal(t, seconds(0, 30, 60), s.times("full"))
		assert.Equal(t, seconds(30), s.times("delta"))
		assert.Equal(t, []string{"b"}, ids(c.View().VIP("shop")))
	})
}

func TestFullFetchesWhereThereAreNoDeltas(t *testing.T) {
	for name, delta := range map[string]reply{
		"403, as the stock server answers": {status: http.StatusForbidden},
		"404":                              {status: http.StatusNotFound},
		"405":                              {status: http.StatusMethodNotAllowed},
		"version -1":                       {body: registryWith(-1, "UP_1_")},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newScript(t, func(a asked) reply {
					if a.kind() == "delta" {
						return delta
					}
					return reply{body: registryOf(shop("a"))}
				})
				c := start(t, fetching(s))
				elapse(10*time.Minute + time.Second)
				assert.Equal(t, every(30*time.Second, 0, 21), s.times("full"))
				assert.Equal(t, seconds(30, 330), s.times("delta"), "tried again after ten intervals")
				assert.NoError(t, c.Report().FetchErr)
			})
		})
	}
}

// TestNoDeltasWithoutHashCodes: compact answers of the stock server have none,
// so there is nothing to reconcile a delta by.
func TestNoDeltasWithoutHashCodes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript(t, nil)
		s.serve(registryWith(0, "", shop("a")))
		start(t, fetching(s))
		elapse(10*time.Minute + time.Second)
		assert.Empty(t, s.of("delta"))
		s.serve(registryWith(0, "")) // an empty registry has an empty hash code
		elapse(31 * time.Second)
		s.clear()
		elapse(10 * time.Minute)
		assert.NotEmpty(t, s.of("delta"))
	})
}

func TestDeltasSwitchedOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript(t, nil)
		cfg := fetching(s)
		cfg.DisableDelta = true
		start(t, cfg)
		elapse(91 * time.Second)
		assert.Equal(t, seconds(0, 30, 60, 90), s.times("full"))
		assert.Empty(t, s.of("delta"))
	})
}

// TestFullFetchWhenAwayForLonger: deltas cover three minutes only, and the
// hash code does not notice a swap of one instance for another.
func TestFullFetchWhenAwayForLonger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript(t, nil)
		s.documents(registryOf(shop("a")), registryWith(1, "UP_1_"))
		c := start(t, fetching(s))
		s.change(func(asked) reply { return reply{err: errDial} })
		elapse(151 * time.Second)
		s.clear()
		s.documents(registryOf(shop("b")), registryWith(1, "UP_1_"))
		elapse(30 * time.Second)
		assert.Len(t, s.of("full"), 1)
		assert.Equal(t, []string{"b"}, ids(c.View().VIP("shop")))
	})
}

func TestCompactGzipAndRegions(t *testing.T) {
	for _, unzipped := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			s := newScript(t, nil)
			cfg := fetching(s)
			cfg.Compact, cfg.RemoteRegions, cfg.DisableGzip = true, []string{"eu-west-1", "us-east-1"}, unzipped
			compact := wire.Encoding{Compact: true}.AppendApplications(nil, applications(shop("a")))
			s.serve(string(compact))
			c := start(t, cfg)
			elapse(31 * time.Second)
			assert.Equal(t, []string{"a"}, ids(c.View().VIP("shop")))
			assert.Equal(t, "/apps?regions=eu-west-1%2Cus-east-1", s.of("full")[0].uri)
			assert.Equal(t, "/apps/delta?regions=eu-west-1%2Cus-east-1", s.of("delta")[0].uri)
			for _, a := range s.of("full", "delta") {
				assert.Equal(t, "compact", a.header.Get("X-Eureka-Accept"))
				assert.Equal(t, map[bool]string{true: "identity", false: "gzip"}[unzipped], a.header.Get("Accept-Encoding"))
			}
		})
	}
}

func TestGzipAnswers(t *testing.T) {
	zip := func(document string) string {
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		_, err := w.Write([]byte(document))
		require.NoError(t, err)
		require.NoError(t, w.Close())
		return b.String()
	}
	whole := zip(registryOf(shop("a")))
	synctest.Test(t, func(t *testing.T) {
		header := http.Header{"Content-Encoding": {"gzip"}}
		s := newScript(t, func(asked) reply { return reply{body: whole, header: header} })
		cfg := fetching(s)
		cfg.DisableDelta = true
		c := start(t, cfg)
		assert.Equal(t, []string{"a"}, ids(c.View().VIP("shop")))
		for _, broken := range []string{whole[:len(whole)-4], whole[:20], "", "no gzip at all"} {
			s.change(func(asked) reply { return reply{status: http.StatusOK, body: broken, header: header} })
			elapse(30 * time.Second)
			assert.Error(t, c.Report().FetchErr)
			assert.Equal(t, []string{"a"}, ids(c.View().VIP("shop")))
		}
	})
}

func TestOnlyVIP(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript(t, nil)
		s.serve(registryOf(shop("a")))
		cfg := fetching(s)
		cfg.OnlyVIP = "shop"
		c := start(t, cfg)
		elapse(31 * time.Second)
		assert.Len(t, s.requests, 2)
		for _, a := range s.requests {
			assert.Equal(t, "/vips/shop", a.uri)
		}
		assert.Equal(t, []string{"a"}, ids(c.View().VIP("shop")))
	})
}

func TestIfNoneMatch(t *testing.T) {
	tagged := func(tag string) http.Header { return http.Header{"Etag": {tag}} }
	answer := func(a asked, tag, body string) reply {
		if a.header.Get("If-None-Match") == tag {
			return reply{status: http.StatusNotModified}
		}
		return reply{body: body, header: tagged(tag)}
	}
	t.Run("full", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := newScript(t, func(a asked) reply { return answer(a, `"one"`, registryOf(shop("a"))) })
			cfg := fetching(s)
			cfg.DisableDelta = true
			c := start(t, cfg)
			elapse(61 * time.Second)
			assert.Equal(t, []string{"", `"one"`, `"one"`}, tags(s.of("full")))
			assert.Equal(t, []string{"a"}, ids(c.View().VIP("shop")))
			age, _ := c.Age()
			assert.Equal(t, time.Second, age, "what is unchanged is confirmed")
			s.change(func(a asked) reply { return answer(a, `"two"`, registryOf(shop("b"))) })
			elapse(30 * time.Second)
			assert.Equal(t, []string{"b"}, ids(c.View().VIP("shop")))
		})
	})
	t.Run("delta", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := newScript(t, func(a asked) reply {
				if a.kind() == "full" {
					return reply{body: registryOf(shop("a")), header: tagged(`"full"`)}
				}
				return answer(a, `"one"`, registryWith(1, "UP_2_", shop("b", withAction(eureka.Added))))
			})
			c := start(t, fetching(s))
			elapse(91 * time.Second)
			assert.Equal(t, []string{"", `"one"`, `"one"`}, tags(s.of("delta")), "a tag counts for its own kind")
			assert.Equal(t, []string{"a", "b"}, ids(c.View().VIP("shop")))
			s.change(func(a asked) reply {
				if a.kind() == "full" {
					return answer(a, `"full"`, registryOf(shop("a")))
				}
				return reply{body: registryWith(1, "UP_9_")} // does not fit
			})
			s.clear()
			elapse(30 * time.Second)
			assert.Equal(t, []string{""}, tags(s.of("full")), "the full answer is not what the view is made of any more")
			assert.Equal(t, []string{"a"}, ids(c.View().VIP("shop")))
		})
	})
}

func tags(requests []asked) []string {
	out := []string{}
	for _, a := range requests {
		out = append(out, a.header.Get("If-None-Match"))
	}
	return out
}

// TestLateAnswerNeverReplacesANewerOne: a planned fetch hangs, meanwhile the
// service asks for a refresh.
func TestLateAnswerNeverReplacesANewerOne(t *testing.T) {
	for name, late := range map[string]reply{
		"full":  {body: registryOf(shop("old")), after: 6 * time.Second},
		"delta": {body: registryWith(1, "UP_2_", shop("old", withAction(eureka.Added))), after: 6 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newScript(t, nil)
				s.serve(registryOf(shop("a")))
				cfg := fetching(s)
				cfg.DisableDelta = name == "full"
				c := start(t, cfg)
				s.change(func(asked) reply { return late })
				elapse(31 * time.Second)
				s.documents(registryOf(shop("new")), registryWith(1, "UP_2_", shop("new", withAction(eureka.Added))))
				require.NoError(t, c.Refresh(t.Context()))
				want := ids(c.View().VIP("shop"))
				assert.Contains(t, want, "new")
				elapse(10 * time.Second)
				assert.Equal(t, want, ids(c.View().VIP("shop")))
				assert.NoError(t, c.Report().FetchErr)
			})
		})
	}
}

func TestFetchPauseGrowsWhenTimeoutsOutlastTheInterval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript(t, nil)
		cfg := fetching(s)
		cfg.FetchInterval, cfg.DisableDelta = 5*time.Second, true
		start(t, cfg)
		s.change(func(asked) reply { return reply{hang: true} })
		elapse(10 * time.Minute)
		times := s.times("full")
		assert.Equal(t, 5*time.Second, times[1])
		for n, multiple := range []int{2, 4, 8, 10, 10} {
			pause := times[n+2] - times[n+1]
			assert.LessOrEqual(t, pause, time.Duration(multiple)*5*time.Second)
			assert.GreaterOrEqual(t, pause, time.Duration(multiple)*5*time.Second*3/4)
		}
		s.change(func(asked) reply { return reply{} })
		elapse(time.Minute)
		s.clear()
		elapse(time.Minute)
		assert.Len(t, s.of("full"), 12, "and back")
	})
}

func TestBackupRegistry(t *testing.T) {
	asked200 := func(s *script) { s.serve(registryOf(shop("b"))) }
	path := filepath.Join(t.TempDir(), "apps.json")
	require.NoError(t, os.WriteFile(path, []byte(registryOf(shop("a"))), 0o600))
	synctest.Test(t, func(t *testing.T) {
		s := newScript(t, func(asked) reply { return reply{err: errDial} })
		cfg := fetching(s)
		cfg.Backup = discovery.BackupFile(path)
		c := start(t, cfg)
		assert.Equal(t, []string{"a"}, ids(c.View().VIP("shop")))
		assert.True(t, c.View().FromBackup())
		_, fetched := c.Age()
		assert.False(t, fetched)
		asked200(s)
		elapse(10 * time.Second)
		assert.Equal(t, []string{"b"}, ids(c.View().VIP("shop")))
		assert.False(t, c.View().FromBackup())
		assert.Empty(t, s.of("delta"), "deltas do not complete a backup")
	})
	synctest.Test(t, func(t *testing.T) {
		s := newScript(t, nil)
		asked200(s)
		cfg := fetching(s)
		cfg.Backup = func(context.Context) (*eureka.Applications, error) {
			t.Error("the backup is not asked when a server answers")
			return nil, errors.New("not wanted")
		}
		start(t, cfg)
	})
	for name, path := range map[string]string{"missing": path + ".not", "not a registry": writeFile(t, "<html>")} {
		synctest.Test(t, func(t *testing.T) {
			s := newScript(t, func(asked) reply { return reply{err: errDial} })
			cfg := fetching(s)
			cfg.Backup = discovery.BackupFile(path)
			c := start(t, cfg)
			assert.Zero(t, c.View().Len(), name)
			asked200(s)
			elapse(10 * time.Second)
			assert.Equal(t, 1, c.View().Len(), name)
		})
	}
}

// TestBackupComesTooLate: it does not replace what the registry said meanwhile.
func TestBackupComesTooLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript(t, func(asked) reply { return reply{err: errDial} })
		cfg := fetching(s)
		cfg.Backup = func(context.Context) (*eureka.Applications, error) {
			time.Sleep(5 * time.Second)
			return applications(shop("backup")), nil
		}
		c, err := discovery.New(cfg)
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		require.NoError(t, c.Start(ctx))
		s.serve(registryOf(shop("a")))
		require.NoError(t, c.Refresh(t.Context()))
		elapse(4200 * time.Millisecond) // the backup is there, the next fetch is not
		assert.Equal(t, []string{"a"}, ids(c.View().VIP("shop")))
		require.NoError(t, c.Stop(t.Context()))
	})
}

func writeFile(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	return path
}

func TestFetchingSwitchedOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript(t, nil)
		c := start(t, registering(s))
		elapse(5 * time.Minute)
		assert.Empty(t, s.of("full", "delta"))
		assert.Error(t, c.Refresh(t.Context()))
		assert.Zero(t, c.View().Len())
		_, fetched := c.Age()
		assert.False(t, fetched)
	})
}

func TestRefreshHonoursItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript(t, nil)
		c := start(t, fetching(s))
		s.change(func(asked) reply { return reply{hang: true} })
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		assert.ErrorIs(t, c.Refresh(ctx), context.DeadlineExceeded)

		done := make(chan error)
		go func() { done <- c.Refresh(context.Background()) }()
		synctest.Wait()
		require.NoError(t, c.Stop(t.Context()))
		assert.ErrorIs(t, <-done, context.Canceled, "stopping gives it up")
	})
}

// TestOtherServersShapes: an application that is an object or missing, and
// numbers as texts, as other servers send them.
func TestOtherServersShapes(t *testing.T) {
	one := strings.ReplaceAll(strings.ReplaceAll(registryOf(shop("a")), `"application":[`, `"application":`), `]}]}}`, `]}}}`)
	for name, document := range map[string]string{
		"an object instead of a list": one,
		"no application":              `{"applications":{"versions__delta":1,"apps__hashcode":""}}`,
	} {
		synctest.Test(t, func(t *testing.T) {
			s := newScript(t, nil)
			s.serve(document)
			c := start(t, fetching(s))
			require.NoError(t, c.Report().FetchErr, name)
			assert.Equal(t, strings.Count(document, "instanceId"), c.View().Len(), name)
		})
	}
}

// TestReadersWhileDeltasCome reads while deltas come in; the race detector watches.
func TestReadersWhileDeltasCome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript(t, nil)
		s.documents(registryOf(shop("a"), shop("b")), registryWith(1, "UP_2_", shop("b", withAction(eureka.Modified))))
		c := start(t, fetching(s))
		stop := make(chan struct{})
		for range 4 {
			go func() {
				for {
					select {
					case <-stop:
						return
					case <-time.After(time.Second):
						v := c.View()
						assert.Equal(t, "UP_2_", v.HashCode())
						assert.Len(t, v.VIP("shop"), 2)
					}
				}
			}()
		}
		elapse(time.Hour)
		close(stop)
		synctest.Wait()
	})
}
