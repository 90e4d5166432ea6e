// A sarama consumer as a member process: eager. It must not know the fleet.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"epochbridge.invalid/members/diary"
	"github.com/IBM/sarama"
)

const (
	batchMax     = 500
	commitPause  = 100 * time.Millisecond
	sessionPause = 200 * time.Millisecond
)

var strategies = map[string]sarama.BalanceStrategy{
	"range":      sarama.NewBalanceStrategyRange(),
	"roundrobin": sarama.NewBalanceStrategyRoundRobin(),
	"sticky":     sarama.NewBalanceStrategySticky(),
}

// Its session's Commit says nothing of what became of it: commits are asked for here, by the same connection.
type member struct {
	client  sarama.Client
	group   string
	static  *string
	told    *diary.Diary
	waiting sync.Mutex
}

func main() {
	options := diary.Read()
	strategy, known := strategies[options.Assignor]
	if !known {
		fmt.Fprintln(os.Stderr, "no such assignor here:", options.Assignor)
		os.Exit(2)
	}
	told := diary.Begin(options, "sarama", "github.com/IBM/sarama")
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	signal.Ignore(syscall.SIGINT)
	diary.WatchParent(stop)
	settings := sarama.NewConfig()
	settings.ClientID = options.ClientID
	settings.Version = sarama.V3_6_0_0
	settings.Consumer.Group.Session.Timeout = milliseconds(options.SessionMs)
	settings.Consumer.Group.Heartbeat.Interval = milliseconds(options.HeartbeatMs)
	settings.Consumer.Group.Rebalance.GroupStrategies = []sarama.BalanceStrategy{strategy}
	settings.Consumer.Group.InstanceId = options.InstanceID
	settings.Consumer.Offsets.Initial = sarama.OffsetOldest
	settings.Consumer.Offsets.AutoCommit.Enable = false
	settings.Consumer.MaxWaitTime = commitPause
	settings.Metadata.RefreshFrequency = milliseconds(options.MetadataMaxAgeMs)
	client, group := connect(ctx, settings, options, told)
	if client == nil {
		return
	}
	playing := &member{client: client, group: options.Group, told: told}
	if options.InstanceID != "" {
		playing.static = &options.InstanceID
	}
	for ctx.Err() == nil {
		if err := group.Consume(ctx, options.Topics, playing); err != nil && ctx.Err() == nil {
			told.Failed(err.Error())
			time.Sleep(sessionPause)
		}
	}
	if err := errors.Join(group.Close(), client.Close()); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	told.Ended()
}

func milliseconds(count int) time.Duration { return time.Duration(count) * time.Millisecond }

func connect(
	ctx context.Context, settings *sarama.Config, options diary.Options, told *diary.Diary,
) (sarama.Client, sarama.ConsumerGroup) {
	for ctx.Err() == nil {
		client, err := sarama.NewClient(strings.Split(options.Bootstrap, ","), settings)
		if err == nil {
			group, err := sarama.NewConsumerGroupFromClient(options.Group, client)
			if err == nil {
				return client, group
			}
			client.Close()
		}
		told.Failed(fmt.Sprint("no connection yet: ", err))
		time.Sleep(sessionPause)
	}
	return nil, nil
}

func claimed(session sarama.ConsumerGroupSession) []diary.Partition {
	found := []diary.Partition{}
	for topic, indexes := range session.Claims() {
		for _, index := range indexes {
			found = append(found, diary.Partition{Topic: topic, Index: index})
		}
	}
	return found
}

// Setup is sarama's assigned callback.
func (playing *member) Setup(session sarama.ConsumerGroupSession) error {
	playing.told.Assigned(claimed(session))
	return nil
}

// Cleanup is sarama's revoked callback.
func (playing *member) Cleanup(session sarama.ConsumerGroupSession) error {
	playing.told.Revoked(claimed(session))
	return nil
}

// ConsumeClaim reads one partition until the session is over.
func (playing *member) ConsumeClaim(session sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	for message := range claim.Messages() {
		offsets := []int64{message.Offset}
		for len(offsets) < batchMax {
			more, open := next(claim)
			if !open {
				break
			}
			offsets = append(offsets, more.Offset)
		}
		partition := diary.Partition{Topic: claim.Topic(), Index: claim.Partition()}
		playing.told.Consumed(partition, offsets)
		playing.commit(session, partition, offsets[len(offsets)-1]+1)
		select {
		case <-session.Context().Done():
			return nil
		case <-time.After(commitPause):
		}
	}
	return nil
}

func next(claim sarama.ConsumerGroupClaim) (*sarama.ConsumerMessage, bool) {
	select {
	case message, open := <-claim.Messages():
		return message, open
	default:
		return nil, false
	}
}

func (playing *member) commit(session sarama.ConsumerGroupSession, partition diary.Partition, offset int64) {
	playing.waiting.Lock()
	defer playing.waiting.Unlock()
	coordinator, err := playing.client.Coordinator(playing.group)
	if err != nil {
		playing.told.Failed("commit: " + err.Error())
		return
	}
	request := &sarama.OffsetCommitRequest{
		Version: 7, ConsumerGroup: playing.group, ConsumerGroupGeneration: session.GenerationID(),
		ConsumerID: session.MemberID(), GroupInstanceId: playing.static,
	}
	request.AddBlockWithLeaderEpoch(partition.Topic, partition.Index, offset, -1, 0, "")
	answer, err := coordinator.CommitOffset(request)
	if err == nil {
		if code := answer.Errors[partition.Topic][partition.Index]; code != sarama.ErrNoError {
			err = code
		}
	}
	if err != nil {
		playing.told.Failed("commit: " + err.Error())
		_ = playing.client.RefreshCoordinator(playing.group)
		return
	}
	playing.told.Committed(map[diary.Partition]int64{partition: offset})
}
