package eventsource

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	ddbtypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
)

// scripted is a stream service whose shards grow, close, split and fail as a
// test says.
type scripted struct {
	mu     sync.Mutex
	table  string
	stream string
	shards []*scriptedShard
	// fail holds the errors that the next calls of an operation return.
	fail  map[string][]error
	calls map[string]int
	next  int
	// ignoresSequence makes every iterator start at the beginning.
	ignoresSequence bool
	// generation makes iterators of an earlier one expired.
	generation int
	// listed limits a page of the list of shards.
	page int
}

type scriptedShard struct {
	id, parent string
	records    []types.Record
	trimmed    int
	closed     bool
}

func newScripted() *scripted {
	s := &scripted{table: "leases", stream: "stream-1", fail: map[string][]error{}, calls: map[string]int{}, page: 2}
	s.open("a", "")
	return s
}

func (s *scripted) open(id, parent string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.shards = append(s.shards, &scriptedShard{id: id, parent: parent})
}

func (s *scripted) close(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.find(id).closed = true
}

// trim takes away a whole shard, as the service does a day after it closed.
func (s *scripted) trim(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, sh := range s.shards {
		if sh.id == id {
			s.shards = append(s.shards[:i:i], s.shards[i+1:]...)
			return
		}
	}
}

// recreate replaces the stream by one with a new shard.
func (s *scripted) recreate(stream, shard string) {
	s.mu.Lock()
	s.stream, s.shards = stream, nil
	s.mu.Unlock()
	s.open(shard, "")
}

func (s *scripted) failNext(operation string, errs ...error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fail[operation] = append(s.fail[operation], errs...)
}

func (s *scripted) count(operation string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls[operation]
}

// change appends records that readers must see, named by their key, all at
// once: the poller may be reading at this moment.
func (s *scripted) change(shard string, keys ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, key := range keys {
		s.append(shard, types.OperationTypeModify, key, map[string]types.AttributeValue{
			"change": &types.AttributeValueMemberS{Value: "1"},
		})
	}
}

// renewal appends a record that the filter drops.
func (s *scripted) renewal(shard, key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.append(shard, types.OperationTypeModify, key, map[string]types.AttributeValue{
		"renewed": &types.AttributeValueMemberN{Value: "1"},
	})
}

func (s *scripted) append(shard string, name types.OperationType, key string, image map[string]types.AttributeValue) {
	s.next++
	sh := s.find(shard)
	sh.records = append(sh.records, types.Record{
		EventName: name,
		Dynamodb: &types.StreamRecord{
			ApproximateCreationDateTime: aws.Time(time.Now()),
			Keys:                        map[string]types.AttributeValue{"id": &types.AttributeValueMemberS{Value: key}},
			NewImage:                    image,
			SequenceNumber:              aws.String(fmt.Sprintf("%d", s.next)),
		},
	})
}

func (s *scripted) find(id string) *scriptedShard {
	for _, sh := range s.shards {
		if sh.id == id {
			return sh
		}
	}
	return nil
}

// called counts a call and returns the error that the script has for it.
func (s *scripted) called(operation string) error {
	s.calls[operation]++
	if errs := s.fail[operation]; len(errs) > 0 {
		s.fail[operation] = errs[1:]
		return errs[0]
	}
	return nil
}

func (s *scripted) DescribeTable(_ context.Context, _ *dynamodb.DescribeTableInput, _ ...func(*dynamodb.Options)) (*dynamodb.DescribeTableOutput, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.called("DescribeTable"); err != nil {
		return nil, err
	}
	return &dynamodb.DescribeTableOutput{Table: &ddbtypes.TableDescription{LatestStreamArn: &s.stream}}, nil
}

func (s *scripted) DescribeStream(_ context.Context, in *dynamodbstreams.DescribeStreamInput, _ ...func(*dynamodbstreams.Options)) (*dynamodbstreams.DescribeStreamOutput, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.called("DescribeStream"); err != nil {
		return nil, err
	}
	start := 0
	for i, sh := range s.shards {
		if sh.id == aws.ToString(in.ExclusiveStartShardId) {
			start = i + 1
		}
	}
	end := min(start+s.page, len(s.shards))
	out := &types.StreamDescription{}
	for _, sh := range s.shards[start:end] {
		listed := types.Shard{ShardId: aws.String(sh.id)}
		if sh.parent != "" {
			listed.ParentShardId = aws.String(sh.parent)
		}
		out.Shards = append(out.Shards, listed)
	}
	if end < len(s.shards) {
		out.LastEvaluatedShardId = aws.String(s.shards[end-1].id)
	}
	return &dynamodbstreams.DescribeStreamOutput{StreamDescription: out}, nil
}

func (s *scripted) GetShardIterator(_ context.Context, in *dynamodbstreams.GetShardIteratorInput, _ ...func(*dynamodbstreams.Options)) (*dynamodbstreams.GetShardIteratorOutput, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.called("GetShardIterator"); err != nil {
		return nil, err
	}
	sh := s.find(*in.ShardId)
	if sh == nil || *in.StreamArn != s.stream {
		return nil, &types.ResourceNotFoundException{}
	}
	at := sh.trimmed
	if in.ShardIteratorType == types.ShardIteratorTypeAfterSequenceNumber && !s.ignoresSequence {
		for at < len(sh.records) && !later(sequence(sh.records[at]), *in.SequenceNumber) {
			at++
		}
	}
	return &dynamodbstreams.GetShardIteratorOutput{ShardIterator: s.iterator(sh.id, at)}, nil
}

func (s *scripted) iterator(shard string, at int) *string {
	return aws.String(fmt.Sprintf("%s|%s|%d|%d", s.stream, shard, at, s.generation))
}

func (s *scripted) GetRecords(_ context.Context, in *dynamodbstreams.GetRecordsInput, _ ...func(*dynamodbstreams.Options)) (*dynamodbstreams.GetRecordsOutput, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.called("GetRecords"); err != nil {
		return nil, err
	}
	part := strings.Split(*in.ShardIterator, "|")
	var at, generation int
	fmt.Sscan(part[2], &at)
	fmt.Sscan(part[3], &generation)
	sh := s.find(part[1])
	switch {
	case part[0] != s.stream || sh == nil:
		return nil, &types.ResourceNotFoundException{}
	case generation != s.generation:
		return nil, &types.ExpiredIteratorException{}
	case at < sh.trimmed:
		return nil, &types.TrimmedDataAccessException{}
	}
	end := min(at+int(*in.Limit), len(sh.records))
	out := &dynamodbstreams.GetRecordsOutput{Records: sh.records[at:end:end]}
	if !sh.closed || end < len(sh.records) {
		out.NextShardIterator = s.iterator(sh.id, end)
	}
	return out, nil
}
