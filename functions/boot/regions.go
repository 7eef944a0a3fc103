package boot

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/eurekaless/registry/core/access"
	"github.com/eurekaless/registry/core/discovery"
	"github.com/eurekaless/registry/core/regions"
	"github.com/eurekaless/registry/functions/handlers"
)

// RemoteRegion is another region and the base URL of its registry. Only the
// local process accepts a URL with credentials: a function's are in the secret,
// since everybody who may read its configuration sees the environment.
type RemoteRegion struct {
	Name, URL string
}

// hasCredentials reports whether the URL holds any.
func (r RemoteRegion) hasCredentials() bool {
	u, err := url.Parse(r.URL)
	return err == nil && u.User != nil
}

// regionLogins has the logins for other regions, as access.Guard does.
type regionLogins interface {
	Region(ctx context.Context, name string) (login access.Login, ok bool, err error)
}

// loginTransport adds a region's login to each request, where there is one. It
// asks each time, as passwords rotate.
type loginTransport struct {
	region string
	logins regionLogins
	base   http.RoundTripper
}

func (t *loginTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	login, ok, err := t.logins.Region(r.Context(), t.region)
	if err != nil {
		return nil, fmt.Errorf("login for region %s: %w", t.region, err)
	}
	if ok {
		r = r.Clone(r.Context())
		r.SetBasicAuth(login.User, login.Password)
	}
	return t.base.RoundTrip(r)
}

// transport returns what sends requests to a region; nil is the default.
func (p *Parts) transport(region string) http.RoundTripper {
	logins, ok := p.Guard.(regionLogins)
	if !ok {
		return nil
	}
	return &loginTransport{region, logins, http.DefaultTransport}
}

// remoteRegions reads name=url pairs separated by commas. Its errors show no
// value, since there may be passwords in it.
func remoteRegions(c *Config, text string) error {
	seen := map[string]bool{}
	for pair := range strings.SplitSeq(text, ",") {
		name, base, _ := strings.Cut(strings.TrimSpace(pair), "=")
		u, err := url.Parse(base)
		switch {
		case !regionName.MatchString(name):
			return errors.New("not name=url pairs separated by commas, such as us-west-2=https://registry.example.org/eureka")
		case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
			return fmt.Errorf("%s: not a URL such as https://registry.example.org/eureka", name)
		case seen[name]:
			return fmt.Errorf("%s is named twice", name)
		}
		seen[name] = true
		c.RemoteRegions = append(c.RemoteRegions, RemoteRegion{name, base})
	}
	return nil
}

var regionName = regexp.MustCompile(`^[A-Za-z0-9._-]+$`)

// withoutPasswords returns a setting's value as it may be shown.
func withoutPasswords(value string) string { return userinfo.ReplaceAllString(value, "//***@") }

var userinfo = regexp.MustCompile(`//[^/,\s]*@`)

// regions returns the other regions to read; nil: there are none.
func (p *Parts) regions() *regions.Set {
	if len(p.Config.RemoteRegions) == 0 {
		return nil
	}
	cfg := regions.Config{
		MaxInstance: p.Config.MaxInstance, Kept: p.Config.DeltaRetention, Now: p.Now, Logger: p.Log,
		OnFetch: func(absent int) { p.Meter.Record(handlers.RegionsAbsent, float64(absent)) },
	}
	for _, r := range p.Config.RemoteRegions {
		api, err := discovery.NewAPI(discovery.Config{
			ServiceURLs: []string{r.URL}, ClientName: "registry", RequestTimeout: regions.DefaultTimeout,
			QuarantineTime: time.Nanosecond, // there is no other server to ask instead
			Now:            p.Now, Transport: p.transport(r.Name),
			MaxResponseBytes: int(p.Config.MaxRegion),
		})
		if err != nil {
			p.Log.Error("region left out", "region", r.Name, "error", err)
			continue
		}
		cfg.Remotes = append(cfg.Remotes, regions.Remote{Name: r.Name, Source: api})
	}
	return regions.New(cfg)
}
