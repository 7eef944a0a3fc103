package migration

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/eurekaless/registry/core/discovery"
	"github.com/eurekaless/registry/core/wire"
)

// requestTimeout bounds one request to a registry.
const requestTimeout = 30 * time.Second

// Peer is a registry as a peer of its own sees it.
type Peer struct {
	*discovery.API
	// base is the URL without credentials.
	base   string
	user   *url.Userinfo
	client *http.Client
	// maxBytes bounds answers, after decompression.
	maxBytes int
}

// NewPeer returns the registry at a base URL such as
// http://user:password@127.0.0.1:8761/eureka. Its answers may have at most
// maxBytes; 0: as many as a client's.
func NewPeer(base string, maxBytes int) (*Peer, error) {
	u, err := url.Parse(base)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, errors.New("not a registry's URL, such as http://127.0.0.1:8761/eureka")
	}
	api, err := discovery.NewAPI(discovery.Config{ServiceURLs: []string{base}, ClientName: "registry-import", RequestTimeout: requestTimeout, MaxResponseBytes: maxBytes})
	if err != nil {
		return nil, err
	}
	p := &Peer{API: api, user: u.User, client: &http.Client{Timeout: requestTimeout}, maxBytes: cmp.Or(maxBytes, discovery.DefaultMaxResponseBytes)}
	u.User = nil
	p.base = strings.TrimRight(u.String(), "/")
	return p, nil
}

// Replicate sends a batch as a peer does.
func (p *Peer) Replicate(ctx context.Context, items []wire.ReplicationItem) ([]wire.ReplicationResult, error) {
	body := wire.AppendReplication(nil, items)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.base+"/peerreplication/batch", bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	req.Header.Set("X-Netflix-Discovery-Replication", "true")
	req.Header.Set("DiscoveryIdentity-Name", "registry-import")
	if p.user != nil {
		password, _ := p.user.Password()
		req.SetBasicAuth(p.user.Username(), password)
	}
	resp, err := p.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, int64(p.maxBytes)+1))
	if err != nil {
		return nil, err
	}
	if len(answer) > p.maxBytes {
		return nil, fmt.Errorf("answer to a batch: %w: more than %d bytes", discovery.ErrResponseTooLarge, p.maxBytes)
	}
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answered %s: %.200q", p.base, resp.Status, answer)
	}
	results, err := wire.ListDecoder{MaxBytes: p.maxBytes}.ReplicationResults(ctx, answer, len(items))
	if err == nil && len(results) != len(items) {
		err = fmt.Errorf("%d results for %d operations", len(results), len(items))
	}
	if err != nil {
		return nil, fmt.Errorf("answer to a batch: %w", err)
	}
	return results, nil
}
