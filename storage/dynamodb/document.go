package dynamodb

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/klauspost/compress/flate"
	"golang.org/x/sync/errgroup"

	"github.com/eurekaless/registry/core/eureka"
)

// document is something published under a name. The item of that name, the
// pointer, holds it when it has one part; otherwise it names the generation of
// the items that do, which are written before. So a document is there as a
// whole or not at all, and readers of the one before can finish.
type document struct {
	parts [][]byte
	// began is a snapshot's.
	began time.Time
	// kept is how long items of its own stay.
	kept time.Duration
}

const (
	// documentFormat is the version of the pointer.
	documentFormat = 1
	// maxParts is far more than there ever are.
	maxParts = 10_000
)

// Sort keys of a document's items.
const (
	positionPointer = "current"
	positionPart    = "part"
)

// Parallel reads and writes of parts.
const (
	parallelReads  = 8
	parallelWrites = 4
)

// errNoDocument says that nothing is published under a name, or nothing that
// can be used.
var errNoDocument = errors.New("not published")

func partKey(name, generation string, part int) item {
	return item{
		AttrPartition: text(name + "#" + generation + "#" + strconv.Itoa(part)),
		AttrPosition:  text(positionPart),
	}
}

func pointerKey(name string) item {
	return item{AttrPartition: text(name), AttrPosition: text(positionPointer)}
}

// putDocument publishes a document.
func (s *Store) putDocument(ctx context.Context, name string, d document) error {
	pointer := item{}
	pointer[AttrFormat] = number(documentFormat)
	pointer[AttrBegan] = millis(d.began)
	if len(d.parts) == 1 {
		pointer[AttrBody] = binary(d.parts[0])
	} else {
		generation := rand.Text()
		if err := s.putParts(ctx, name, generation, d); err != nil {
			return err
		}
		pointer[AttrGeneration] = text(generation)
		pointer[AttrParts] = number(int64(len(d.parts)))
	}
	if name == docStatistics {
		return s.setPointer(ctx, name, pointer)
	}
	maps.Copy(pointer, pointerKey(name))
	return s.putItem(ctx, pointer)
}

// setPointer writes a pointer into an item that has attributes of another use,
// which stay as they are.
func (s *Store) setPointer(ctx context.Context, name string, pointer item) error {
	u := newUpdate()
	for _, attribute := range []string{AttrFormat, AttrBegan, AttrBody, AttrGeneration, AttrParts} {
		u.putOrDrop(attribute, pointer[attribute])
	}
	_, err := s.api.UpdateItem(ctx, u.into(&dynamodb.UpdateItemInput{TableName: &s.cfg.DeltaTable, Key: pointerKey(name)}))
	return classify(ctx, err)
}

func (s *Store) putParts(ctx context.Context, name, generation string, d document) error {
	ttl := number(epochSeconds(s.cfg.Now().Add(d.kept)))
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(parallelWrites)
	for n, body := range d.parts {
		group.Go(func() error {
			part := partKey(name, generation, n)
			part[AttrBody], part[AttrTTL] = binary(body), ttl
			return s.putItem(groupCtx, part)
		})
	}
	return group.Wait()
}

func (s *Store) putItem(ctx context.Context, in item) error {
	_, err := s.api.PutItem(ctx, &dynamodb.PutItemInput{TableName: &s.cfg.DeltaTable, Item: in})
	return classify(ctx, err)
}

// readDocument reads what is published under a name, or returns errNoDocument.
func (s *Store) readDocument(ctx context.Context, name string) (document, error) {
	pointer, err := s.getItem(ctx, pointerKey(name), true)
	if err != nil {
		return document{}, err
	}
	if pointer == nil {
		return document{}, errNoDocument
	}
	r := reader{item: pointer}
	format, parts, generation := r.number(AttrFormat), r.number(AttrParts), r.text(AttrGeneration)
	d := document{began: r.millis(AttrBegan)}
	if body := r.binary(AttrBody); body != nil {
		d.parts = [][]byte{body}
	}
	switch {
	case r.err != nil:
		return document{}, fmt.Errorf("%w: %w", errNoDocument, r.err)
	case format != documentFormat, parts < 0, parts > maxParts:
		return document{}, fmt.Errorf("format %d in %d parts: %w", format, parts, errNoDocument)
	case d.parts == nil:
		d.parts, err = s.readParts(ctx, name, generation, int(parts))
	}
	return d, err
}

func (s *Store) readParts(ctx context.Context, name, generation string, n int) ([][]byte, error) {
	parts := make([][]byte, n)
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(parallelReads)
	for i := range parts {
		group.Go(func() (err error) {
			parts[i], err = s.readPart(groupCtx, partKey(name, generation, i))
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return parts, nil
}

// readPart reads a part at half the price first: it is never changed, so an
// old replica can only lack it.
func (s *Store) readPart(ctx context.Context, key item) ([]byte, error) {
	for _, consistent := range []bool{false, true} {
		part, err := s.getItem(ctx, key, consistent)
		if err != nil {
			return nil, err
		}
		if part == nil {
			continue
		}
		r := reader{item: part}
		if body := r.binary(AttrBody); body != nil {
			return body, nil
		}
		break
	}
	return nil, fmt.Errorf("part %q is missing: %w", textOf(key, AttrPartition), errNoDocument)
}

// getItem returns an item of the delta table, or nil.
func (s *Store) getItem(ctx context.Context, key item, consistent bool) (item, error) {
	out, err := s.api.GetItem(ctx, &dynamodb.GetItemInput{
		TableName: &s.cfg.DeltaTable, Key: key, ConsistentRead: aws.Bool(consistent),
	})
	if err != nil {
		return nil, classify(ctx, err)
	}
	if len(out.Item) == 0 {
		return nil, nil
	}
	return out.Item, nil
}

// maxDocument bounds what inflate makes of a document's parts.
const maxDocument = 32 << 20

// deflate compresses a document into parts.
func deflate(plain []byte) [][]byte {
	var compressed bytes.Buffer
	w, err := flate.NewWriter(&compressed, flate.DefaultCompression)
	if err != nil {
		panic(err) // the level is a constant
	}
	// A buffer takes everything, and flate has no other errors.
	_, _ = w.Write(plain)
	_ = w.Close()
	return slices.Collect(slices.Chunk(compressed.Bytes(), maxPart))
}

// inflate returns what deflate compressed.
func inflate(parts [][]byte) ([]byte, error) {
	compressed := flate.NewReader(bytes.NewReader(slices.Concat(parts...)))
	plain, err := io.ReadAll(io.LimitReader(compressed, maxDocument+1))
	if err == nil && len(plain) > maxDocument {
		err = eureka.ErrTooLarge
	}
	return plain, err
}
