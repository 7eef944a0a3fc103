package wire

import (
	"context"

	"github.com/eurekaless/registry/core/eureka"
)

// ListDecoder reads the JSON that another registry sends. That registry may be
// hostile: a few kilobytes of gzip can hold millions of instances. It fails as
// soon as what it made takes more memory than MaxBytes, or the context ends.
type ListDecoder struct {
	// MaxBytes is an upper bound of the memory that a document's instances
	// take, and nearly one of what they take when they are encoded again;
	// 0: any number.
	MaxBytes int
}

// Applications is [DecodeApplications] within bounds.
func (d ListDecoder) Applications(ctx context.Context, body []byte) (*eureka.Applications, error) {
	body, err := inUTF8(JSON, body)
	if err != nil {
		return nil, err
	}
	return decodeJSONApplications(body, d.budget(ctx))
}

// Application is [DecodeApplication] within bounds.
func (d ListDecoder) Application(ctx context.Context, body []byte) (*eureka.Application, error) {
	body, err := inUTF8(JSON, body)
	if err != nil {
		return nil, err
	}
	return decodeJSONApplication(body, d.budget(ctx))
}

// Instance is [DecodeInstance] within bounds.
func (d ListDecoder) Instance(ctx context.Context, body []byte) (*eureka.InstanceInfo, error) {
	body, err := inUTF8(JSON, body)
	if err != nil {
		return nil, err
	}
	c, err := newCursor(body, "instance")
	if err != nil {
		return nil, err
	}
	if c.peek() != '{' {
		return nil, eureka.Invalidf("instance", "must be an object")
	}
	b := d.budget(ctx)
	read := newListDraft(b)
	read.readJSON(c)
	b.spendInstance(read.instance)
	return read.instance, b.failed()
}

// ReplicationResults is [DecodeReplicationResults] within bounds; there are no
// more than items of them.
func (d ListDecoder) ReplicationResults(ctx context.Context, body []byte, items int) ([]ReplicationResult, error) {
	return decodeReplicationResults(body, items, d.budget(ctx))
}

func (d ListDecoder) budget(ctx context.Context) *budget {
	return &budget{ctx: ctx, limit: d.MaxBytes, left: d.MaxBytes}
}

// budget is what may still be made of a document. A nil budget has no end.
type budget struct {
	ctx   context.Context
	limit int
	left  int
	// seen counts elements of lists.
	seen int
	err  error
}

// What things cost, in bytes of memory: a little more than they take, with
// their part of the indexes that a client makes.
const (
	costOfInstance = 1 << 10
	costOfEntry    = 64
	costOfVIP      = 256
)

// checkEvery is after how many elements the context is asked.
const checkEvery = 64

// next is called before each element of a list, and reports whether to go on.
func (b *budget) next() bool {
	if b == nil {
		return true
	}
	if b.seen++; b.seen%checkEvery == 0 && b.err == nil {
		b.err = b.ctx.Err()
	}
	return b.err == nil
}

// spend takes bytes off the budget and reports whether it had them.
func (b *budget) spend(bytes int) bool {
	switch {
	case b == nil:
		return true
	case b.err != nil:
		return false
	case b.limit == 0:
		return true
	}
	if b.left -= bytes; b.left < 0 {
		b.err = eureka.TooLargef("body", "holds instances that take more than %d bytes of memory", b.limit)
	}
	return b.err == nil
}

// failed returns why the budget ended, or nil.
func (b *budget) failed() error {
	if b == nil {
		return nil
	}
	return b.err
}

// spendEntry spends what an entry of metadata costs.
func (b *budget) spendEntry(key, value []byte) bool {
	if b == nil {
		return true
	}
	return b.spend(costOfEntry + encodedKey(key) + encodedText(value))
}

// spendInstance spends what an instance costs beside its metadata.
func (b *budget) spendInstance(i *eureka.InstanceInfo) bool {
	if b == nil {
		return true
	}
	cost := costOfInstance
	for _, text := range []string{
		i.InstanceID, i.HostName, i.App, i.AppGroup, i.IPAddr,
		i.HomePageURL, i.StatusPageURL, i.HealthCheckURL, i.SecureHealthCheckURL,
		i.VIPAddress, i.SecureVIPAddress, i.ASGName, i.DataCenter.Class, i.DataCenter.Name,
	} {
		cost += encodedText(text)
	}
	for _, names := range []string{i.VIPAddress, i.SecureVIPAddress} {
		for n := range len(names) {
			if names[n] == ',' {
				cost += costOfVIP
			}
		}
	}
	return b.spend(cost)
}

// encodedText returns the most bytes that a text takes in JSON or XML.
func encodedText[T string | []byte](text T) int {
	n := 0
	for at := range len(text) {
		switch c := text[at]; {
		case c < ' ', c == '&', c == '<', c == '>', c == '"', c == '\'', c == '\\':
			n += 6
		default:
			n++
		}
	}
	return n
}

// encodedKey is encodedText for a key, which is a name in XML, twice.
func encodedKey(key []byte) int {
	n := 0
	for _, c := range key {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '.', c == '-':
			n += 2
		default:
			n += mostOfByte
		}
	}
	return n
}
