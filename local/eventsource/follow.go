package eventsource

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
)

// errNoStream says that the table exists and has no stream.
var errNoStream = errors.New("table has no stream")

// follower keeps one reader at work for each shard that can be read.
type follower struct {
	poller  *Poller
	trouble trouble

	// stream is the one that the shards belong to.
	stream string
	shards map[string]*shard
	// ended brings each shard whose reader has returned.
	ended   chan *shard
	readers sync.WaitGroup
	// start starts a shard's reader; leave tells all of them to finish, when
	// the table has another stream. Both are nil before the first stream.
	start func(*shard)
	leave context.CancelFunc
}

// run follows the table's stream until stop ends, then waits for the readers'
// last deliveries, which are made on work, since it ends later.
func (f *follower) run(stop, work context.Context) {
	for {
		if err := f.discover(stop, work); err != nil {
			f.trouble.begin(err)
		} else {
			f.trouble.end()
		}
		if f.await(stop) {
			f.finish()
			return
		}
	}
}

// await waits until it is time to look for shards again: at once when a reader
// has come to the end of its shard. It reports whether stop has ended.
func (f *follower) await(stop context.Context) (stopped bool) {
	wait := discoverEvery
	if f.running() == 0 {
		wait = discoverSoon
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-stop.Done():
		return true
	case s := <-f.ended:
		s.running = false
		if !s.closed {
			// The shard is gone without having been read to its end. If it is
			// still listed then, the next look starts it again.
			return pause(stop, discoverSoon)
		}
		return false
	case <-timer.C:
		return false
	}
}

// finish tells the readers to come to an end and waits for them.
func (f *follower) finish() {
	if f.leave == nil {
		return
	}
	f.leave()
	for f.running() > 0 {
		s := <-f.ended
		s.running = false
	}
	f.readers.Wait()
}

func (f *follower) running() int {
	n := 0
	for _, s := range f.shards {
		if s.running {
			n++
		}
	}
	return n
}

// discover reads the list of shards and starts readers for those that are due.
func (f *follower) discover(stop, work context.Context) error {
	arn, err := f.streamOfTable(stop)
	if err != nil {
		return fmt.Errorf("describe table %s: %w", f.poller.config.Table, err)
	}
	listed, err := f.list(stop, arn)
	if err != nil {
		return fmt.Errorf("describe stream of %s: %w", f.poller.config.Table, err)
	}
	if arn != f.stream {
		f.change(stop, work, arn)
	}
	f.forget(listed)
	for _, l := range listed {
		f.startIfDue(l, listed)
	}
	return nil
}

func (f *follower) streamOfTable(ctx context.Context) (string, error) {
	out, err := f.poller.config.Tables.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &f.poller.config.Table})
	if err != nil {
		return "", err
	}
	if aws.ToString(out.Table.LatestStreamArn) == "" {
		return "", errNoStream
	}
	return *out.Table.LatestStreamArn, nil
}

// list returns all shards by id, from as many pages as there are.
func (f *follower) list(ctx context.Context, arn string) (map[string]types.Shard, error) {
	listed := map[string]types.Shard{}
	in := &dynamodbstreams.DescribeStreamInput{StreamArn: &arn}
	for {
		out, err := f.poller.config.Streams.DescribeStream(ctx, in)
		if err != nil {
			return nil, err
		}
		for _, s := range out.StreamDescription.Shards {
			listed[aws.ToString(s.ShardId)] = s
		}
		if aws.ToString(out.StreamDescription.LastEvaluatedShardId) == "" {
			return listed, nil
		}
		in.ExclusiveStartShardId = out.StreamDescription.LastEvaluatedShardId
	}
}

// change turns to another stream: the table was made anew. Its readers finish
// when stop ends and make their calls on work.
func (f *follower) change(stop, work context.Context, arn string) {
	if f.stream != "" {
		f.poller.config.Log.Info("stream poller: the table has another stream now", "stream", arn)
	}
	f.finish()
	f.stream, f.shards = arn, map[string]*shard{}
	reading, leave := context.WithCancel(stop)
	f.leave = leave
	f.start = func(s *shard) {
		s.running = true
		f.readers.Go(func() {
			s.run(reading, work)
			f.ended <- s
		})
	}
}

// forget drops shards that the stream no longer keeps.
func (f *follower) forget(listed map[string]types.Shard) {
	for id, s := range f.shards {
		if _, there := listed[id]; !there && !s.running {
			delete(f.shards, id)
		}
	}
}

// startIfDue starts a reader for a shard that has none, once its parent was
// read to the end (or is no longer kept), so that an item's changes stay in
// order when its shard splits.
func (f *follower) startIfDue(l types.Shard, listed map[string]types.Shard) {
	id, parent := aws.ToString(l.ShardId), aws.ToString(l.ParentShardId)
	s := f.shards[id]
	if s == nil {
		s = newShard(f.poller, f.stream, id)
		f.shards[id] = s
	}
	if s.running || s.closed {
		return
	}
	if _, there := listed[parent]; there {
		if p := f.shards[parent]; p == nil || p.running || !p.closed {
			return
		}
	}
	f.start(s)
}
