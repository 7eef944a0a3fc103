package dynamodb

import (
	"context"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"golang.org/x/sync/errgroup"

	"github.com/eurekaless/registry/core/eureka"
)

// Scan implements [eviction.Store] and [view.Source]: a read unit for each
// 4 KB of the table, and at least one for each segment. Each segment reads its
// pages of 1 MB one after another. Leases that cannot be understood, or whose
// instance is too large, are reported and left out.
func (s *Store) Scan(ctx context.Context) ([]eureka.Lease, error) {
	segments := make([][]eureka.Lease, s.cfg.ScanSegments)
	skip := &skipped{store: s, what: "lease"}
	group, groupCtx := errgroup.WithContext(ctx)
	for i := range segments {
		group.Go(func() (err error) {
			segments[i], err = s.scanSegment(groupCtx, i, skip)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, fmt.Errorf("scan leases: %w", classify(ctx, err))
	}
	skip.end(ctx)
	return slices.Concat(segments...), nil
}

// scanSegment returns the leases of one segment. Its errors are the SDK's.
func (s *Store) scanSegment(ctx context.Context, segment int, skip *skipped) ([]eureka.Lease, error) {
	in := &dynamodb.ScanInput{
		TableName:      &s.cfg.LeaseTable,
		ConsistentRead: aws.Bool(true),
		Segment:        aws.Int32(int32(segment)),
		TotalSegments:  aws.Int32(int32(s.cfg.ScanSegments)),
	}
	var leases []eureka.Lease
	for {
		out, err := s.api.Scan(ctx, in)
		if err != nil {
			return nil, err
		}
		leases = slices.Grow(leases, len(out.Items))
		for _, i := range out.Items {
			l, err := decodeLease(i)
			if err == nil {
				err = s.checkSize(l.Instance)
			}
			if err != nil {
				skip.add(ctx, err, "app", textOf(i, AttrApp), "id", textOf(i, AttrID))
				continue
			}
			leases = append(leases, *l)
		}
		if len(out.LastEvaluatedKey) == 0 {
			return leases, nil
		}
		in.ExclusiveStartKey = out.LastEvaluatedKey
	}
}
