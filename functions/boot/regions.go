package boot

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/eurekaless/registry/core/discovery"
	"github.com/eurekaless/registry/core/regions"
	"github.com/eurekaless/registry/functions/handlers"
)

// RemoteRegion is another region and the base URL of its registry, which may
// hold credentials.
type RemoteRegion struct {
	Name, URL string
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
		Kept: p.Config.DeltaRetention, Now: p.Now, Logger: p.Log,
		OnFetch: func(absent int) { p.Meter.Record(handlers.RegionsAbsent, float64(absent)) },
	}
	for _, r := range p.Config.RemoteRegions {
		api, err := discovery.NewAPI(discovery.Config{
			ServiceURLs: []string{r.URL}, ClientName: "registry", RequestTimeout: regions.DefaultTimeout,
			QuarantineTime: time.Nanosecond, // there is no other server to ask instead
			Now:            p.Now,
		})
		if err != nil {
			p.Log.Error("region left out", "region", r.Name, "error", err)
			continue
		}
		cfg.Remotes = append(cfg.Remotes, regions.Remote{Name: r.Name, Source: api})
	}
	return regions.New(cfg)
}
