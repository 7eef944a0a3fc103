package boot_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eurekaless/registry/core/access"
	"github.com/eurekaless/registry/functions/boot"
)

// listCalls are reads of lists in every representation, plain, conditional and
// by HEAD; tag is an entity tag.
func listCalls(tag string) []call {
	var out []call
	for _, path := range []string{"/eureka/apps", "/eureka/v2/apps/", "/eureka/apps/delta", "/eureka/apps/SHOP", "/eureka/apps/NONE", "/eureka/vips/shop", "/eureka/svips/none"} {
		for _, headers := range []map[string]string{
			{"Accept": "application/json", "Accept-Encoding": "gzip"},
			{"Accept": "application/json"},
			{"Accept": "application/xml", "Accept-Encoding": "gzip, deflate;q=0.5"},
			{"Accept": "application/json", "X-Eureka-Accept": "compact", "Accept-Encoding": "gzip;q=0"},
			{"Accept": "application/json", "If-None-Match": tag, "Accept-Encoding": "gzip"},
			{"Accept": "application/json", "If-None-Match": `"other"`, "Accept-Encoding": "*"},
		} {
			for _, method := range []string{http.MethodGet, http.MethodHead} {
				out = append(out, call{method: method, path: path, headers: headers})
			}
		}
	}
	return out
}

// TestListsAreTheSameEverywhere: what a list's answer is from the process
// itself it is from a function, whatever was kept of an answer before, at every
// age of the view; and nobody gets one whom the gate does not let in.
func TestListsAreTheSameEverywhere(t *testing.T) {
	for name, settings := range map[string]map[string]string{
		"open":        {},
		"credentials": {"REGISTRY_CREDENTIALS_FILE": "given"},
		"edge":        {"REGISTRY_CREDENTIALS_FILE": "given", "REGISTRY_EDGE_CACHING": "true"},
	} {
		t.Run(name, func(t *testing.T) {
			cfg, err := boot.Load(lookup(settings), boot.Local)
			require.NoError(t, err)
			p, _, c := partsOf(t, cfg)
			p.Guard = access.New(access.Config{
				Source: func(context.Context) ([]byte, error) { return document(), nil }, Logger: slog.New(slog.DiscardHandler),
			})
			ways := entrances(t, p)
			local := ways["local"]
			authorization := basic("operator", passwordOf("operator"))
			register := call{method: "POST", path: "/eureka/apps/SHOP", body: registrationOf("SHOP", "shop-1"),
				headers: map[string]string{"Content-Type": "application/json", "Authorization": authorization}}
			got, _ := local(t, register)
			require.Equal(t, http.StatusNoContent, got.status)
			first, _ := local(t, call{method: "GET", path: "/eureka/apps", headers: map[string]string{
				"Accept": "application/json", "Accept-Encoding": "gzip", "Authorization": authorization,
			}})
			tag := first.header.Get("ETag")
			require.NotEmpty(t, tag)
			statuses := map[int]bool{}
			for range 3 {
				for _, call := range listCalls(tag) {
					for form, enter := range ways {
						call.headers["Authorization"] = authorization
						want, _ := local(t, call)
						got, _ := enter(t, call)
						assertKeeping(t, want, name)
						assertKeeping(t, got, name)
						// Containers turn over at moments of their own, and only
						// the length of what is in base64 is the gateway's to know.
						for _, h := range []http.Header{want.header, got.header} {
							h.Set("Cache-Control", age.ReplaceAllString(h.Get("Cache-Control"), "age=N"))
							h.Del("Content-Length")
						}
						if call.method == http.MethodHead {
							want.body, got.body = "", "" // net/http's server sees to it
						}
						assert.Equal(t, want, got, "%s %v", form, call)
						statuses[want.status] = true

						delete(call.headers, "Authorization")
						if got, _ := enter(t, call); name != "open" {
							assert.Equal(t, http.StatusUnauthorized, got.status, "%s %v", form, call)
							assert.Equal(t, "no-store", got.header.Get("Cache-Control"))
						}
					}
				}
				c.now = c.now.Add(time.Second)
			}
			assert.Equal(t, fmt.Sprint(map[int]bool{200: true, 304: true, 404: true}), fmt.Sprint(statuses))
		})
	}
}

var age = regexp.MustCompile(`age=\d+`)

// assertKeeping holds who may keep an answer, and by what keys.
func assertKeeping(t *testing.T, r reply, settings string) {
	t.Helper()
	if r.status == http.StatusNotFound {
		assert.Equal(t, "no-store", r.header.Get("Cache-Control"))
		return
	}
	keeping := `^public, max-age=(\d+), s-maxage=\d+$`
	if settings == "credentials" {
		keeping = `^private, max-age=\d+$`
	}
	assert.Regexp(t, keeping, r.header.Get("Cache-Control"))
	vary := "Accept, Accept-Encoding, X-Eureka-Accept"
	if settings != "open" {
		vary += ", Authorization"
	}
	assert.Equal(t, vary, r.header.Get("Vary"))
}

// TestStreamedListsMayBeLarge: what is too large for a load balancer or for a
// function's response is refused with advice, but not where the response streams.
func TestStreamedListsMayBeLarge(t *testing.T) {
	cfg, err := boot.Load(lookup(nil), boot.Local)
	require.NoError(t, err)
	p, _, _ := partsOf(t, cfg)
	enter := entrances(t, p)
	large := strings.Repeat("x", 90_000)
	for n := range 75 {
		body := strings.Replace(registrationOf("LARGE", fmt.Sprint("large-", n)), `"status"`, `"metadata": {"text": "`+large+`"}, "status"`, 1)
		got, _ := enter["local"](t, call{method: "POST", path: "/eureka/apps/LARGE", body: body, headers: map[string]string{"Content-Type": "application/json"}})
		require.Equal(t, http.StatusNoContent, got.status, got.body)
	}
	for form, enter := range enter {
		for coding, advice := range map[string]string{"": "send Accept-Encoding: gzip", "gzip": ""} {
			got, ok := enter(t, call{method: "GET", path: "/eureka/apps", headers: map[string]string{"Accept-Encoding": coding}})
			require.True(t, ok)
			if advice == "" || form == "local" || form == "streaming url" {
				assert.Equal(t, http.StatusOK, got.status, "%s %s", form, coding)
				continue
			}
			assert.Equal(t, http.StatusNotAcceptable, got.status, "%s %s", form, coding)
			assert.Contains(t, got.body, advice)
		}
	}
}
