package dynamodb

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"golang.org/x/sync/errgroup"

	"github.com/eurekaless/registry/core/delta"
	"github.com/eurekaless/registry/core/eureka"
)

const (
	// bucketLength is the time that one partition of rows covers.
	bucketLength = 10 * time.Second
	// parallelQueries is how many buckets are read at once.
	parallelQueries = 8
	// sequenceDigits is the longest sequence number of a stream record.
	sequenceDigits = 40
)

// bucket returns the partition of rows of a time in epoch milliseconds.
func bucket(millis int64) int64 { return millis / bucketLength.Milliseconds() }

func bucketKey(bucket int64) string { return "delta#" + strconv.FormatInt(bucket, 10) }

// position returns a row's sort key: equal for equal sequence and key alone.
func position(r *delta.Row) string {
	sequence := strings.Repeat("0", max(0, sequenceDigits-len(r.Sequence))) + r.Sequence
	p := sequence + "#" + url.PathEscape(r.Key.App) + "/" + r.Key.ID
	if len(p) <= maxSortKey {
		return p
	}
	sum := sha256.Sum256([]byte(p))
	return sequence + "#sha256:" + hex.EncodeToString(sum[:])
}

// rowItem returns the item of a row.
func (s *Store) rowItem(r *delta.Row) (item, error) {
	instance, err := encodeInfo(r.Instance)
	if err != nil {
		return nil, fmt.Errorf("row of %s: %w", r.Key, err)
	}
	written := r.Written.UnixMilli()
	out := item{
		AttrPartition: text(bucketKey(bucket(written))),
		AttrPosition:  text(position(r)),
		AttrVersion:   number(r.Version),
		AttrInstance:  instance,
		AttrWritten:   number(written),
		AttrTTL:       number(epochSeconds(r.Written.Add(delta.RowLifetime(s.cfg.Retention)))),
	}
	if r.Key != r.Instance.Key() {
		out[AttrApp], out[AttrID] = text(r.Key.App), text(r.Key.ID)
	}
	return out, nil
}

func decodeRow(in item) (delta.Row, error) {
	r := reader{item: in}
	row := delta.Row{
		Version:  r.number(AttrVersion),
		Sequence: sequence(r.required(AttrPosition)),
		Written:  r.millis(AttrWritten),
	}
	row.Instance = r.instance(AttrInstance)
	app, id := r.text(AttrApp), r.text(AttrID)
	if r.err != nil {
		return delta.Row{}, r.err
	}
	row.Key = row.Instance.Key()
	if app != "" {
		row.Key = eureka.Key{App: app, ID: id}
	}
	return row, nil
}

// sequence returns the sequence number of a sort key, without padding.
func sequence(position string) string {
	padded, _, _ := strings.Cut(position, "#")
	digits := strings.TrimLeft(padded, "0")
	if digits == "" {
		return "0"
	}
	return digits
}

// Deltas implements [eviction.Deltas] and [view.Source]: half a read unit
// for each bucket of 10 s and each 4 KB in it (with [Config.ConsistentDeltas]
// a whole one). Rows that cannot be understood, or whose instance is too large,
// are reported and left out.
func (s *Store) Deltas(ctx context.Context, since, until time.Time) ([]delta.Row, error) {
	if kept := delta.RowLifetime(s.cfg.Retention); until.Sub(since) > kept {
		return nil, fmt.Errorf("read deltas of %s, rows live for %s: %w", until.Sub(since), kept, delta.ErrWindowTooLong)
	}
	from, to := since.UnixMilli()+1, until.UnixMilli()
	if from > to {
		return nil, ctxError(ctx)
	}
	first, last := bucket(from), bucket(to)
	buckets := make([][]delta.Row, last-first+1)
	skip := &skipped{store: s, what: "delta row"}
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(parallelQueries)
	for i := range buckets {
		group.Go(func() (err error) {
			buckets[i], err = s.bucketRows(groupCtx, first+int64(i), from, to, skip)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, fmt.Errorf("read deltas: %w", classify(ctx, err))
	}
	skip.end(ctx)
	return slices.Concat(buckets...), nil
}

// bucketRows returns the rows of a bucket with from <= Written <= to, in epoch
// milliseconds. Its errors are the SDK's.
func (s *Store) bucketRows(ctx context.Context, bucket, from, to int64, skip *skipped) ([]delta.Row, error) {
	in := &dynamodb.QueryInput{
		TableName:                 &s.cfg.DeltaTable,
		KeyConditionExpression:    aws.String("#partition = :partition"),
		ExpressionAttributeNames:  map[string]string{"#partition": AttrPartition},
		ExpressionAttributeValues: item{":partition": text(bucketKey(bucket))},
		ConsistentRead:            &s.cfg.ConsistentDeltas,
	}
	var rows []delta.Row
	for {
		out, err := s.api.Query(ctx, in)
		if err != nil {
			return nil, err
		}
		for _, i := range out.Items {
			row, err := decodeRow(i)
			if err == nil {
				err = s.checkSize(row.Instance)
			}
			if err != nil {
				skip.add(ctx, err, "position", textOf(i, AttrPosition))
				continue
			}
			if written := row.Written.UnixMilli(); written >= from && written <= to {
				rows = append(rows, row)
			}
		}
		if len(out.LastEvaluatedKey) == 0 {
			return rows, nil
		}
		in.ExclusiveStartKey = out.LastEvaluatedKey
	}
}
