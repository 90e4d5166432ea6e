// A franz-go consumer as a member process. It must not know the fleet.
package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"epochbridge.invalid/members/diary"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/sasl/scram"
)

const pollTimeout = 200 * time.Millisecond

var balancers = map[string]kgo.GroupBalancer{
	"range":              kgo.RangeBalancer(),
	"roundrobin":         kgo.RoundRobinBalancer(),
	"cooperative-sticky": kgo.CooperativeStickyBalancer(),
}

func main() {
	options := diary.Read()
	balancer, known := balancers[options.Assignor]
	if !known {
		fmt.Fprintln(os.Stderr, "no such assignor here:", options.Assignor)
		os.Exit(2)
	}
	told := diary.Begin(options, "franz-go", "github.com/twmb/franz-go")
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	signal.Ignore(syscall.SIGINT)
	diary.WatchParent(stop)
	settings := []kgo.Opt{
		kgo.SeedBrokers(strings.Split(options.Bootstrap, ",")...),
		kgo.ClientID(options.ClientID),
		kgo.ConsumerGroup(options.Group),
		kgo.ConsumeTopics(options.Topics...),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.Balancers(balancer),
		kgo.SessionTimeout(milliseconds(options.SessionMs)),
		kgo.HeartbeatInterval(milliseconds(options.HeartbeatMs)),
		kgo.MetadataMaxAge(milliseconds(options.MetadataMaxAgeMs)),
		kgo.FetchMaxWait(pollTimeout),
		kgo.DisableAutoCommit(),
		kgo.BlockRebalanceOnPoll(),
		kgo.OnPartitionsAssigned(func(_ context.Context, _ *kgo.Client, of map[string][]int32) { told.Assigned(flat(of)) }),
		kgo.OnPartitionsRevoked(func(_ context.Context, _ *kgo.Client, of map[string][]int32) { told.Revoked(flat(of)) }),
		kgo.OnPartitionsLost(func(_ context.Context, _ *kgo.Client, of map[string][]int32) { told.Lost(flat(of)) }),
	}
	secured, err := security()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	settings = append(settings, secured...)
	if options.InstanceID != "" {
		settings = append(settings, kgo.InstanceID(options.InstanceID))
	}
	client, err := kgo.NewClient(settings...)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	for ctx.Err() == nil {
		poll(ctx, client, told)
		client.AllowRebalance()
	}
	client.CloseAllowingRebalance()
	told.Ended()
}

// What the environment says of TLS and of the login, and not options, which every user of a machine may read.
func security() ([]kgo.Opt, error) {
	settings := []kgo.Opt{}
	if path := os.Getenv("MEMBER_TLS_TRUST"); path != "" {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		trusted := x509.NewCertPool()
		if !trusted.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("no certificate in %s", path)
		}
		settings = append(settings, kgo.DialTLSConfig(&tls.Config{RootCAs: trusted}))
	}
	if name := os.Getenv("MEMBER_SASL_USERNAME"); name != "" {
		login := scram.Auth{User: name, Pass: os.Getenv("MEMBER_SASL_PASSWORD")}
		settings = append(settings, kgo.SASL(login.AsSha512Mechanism()))
	}
	return settings, nil
}

func milliseconds(count int) time.Duration { return time.Duration(count) * time.Millisecond }

func flat(of map[string][]int32) []diary.Partition {
	found := []diary.Partition{}
	for topic, indexes := range of {
		for _, index := range slices.Sorted(slices.Values(indexes)) {
			found = append(found, diary.Partition{Topic: topic, Index: index})
		}
	}
	return found
}

// Partitions do not change hands between a poll and AllowRebalance: what was read is committed before.
func poll(ctx context.Context, client *kgo.Client, told *diary.Diary) {
	bounded, cancel := context.WithTimeout(ctx, pollTimeout)
	defer cancel()
	fetches := client.PollFetches(bounded)
	positions := map[string]map[int32]kgo.EpochOffset{}
	fetches.EachPartition(func(fetched kgo.FetchTopicPartition) {
		offsets := []int64{}
		for _, record := range fetched.Records {
			offsets = append(offsets, record.Offset)
		}
		if len(offsets) == 0 {
			return
		}
		told.Consumed(diary.Partition{Topic: fetched.Topic, Index: fetched.Partition}, offsets)
		if positions[fetched.Topic] == nil {
			positions[fetched.Topic] = map[int32]kgo.EpochOffset{}
		}
		positions[fetched.Topic][fetched.Partition] = kgo.EpochOffset{Epoch: -1, Offset: offsets[len(offsets)-1] + 1}
	})
	if len(positions) == 0 {
		return
	}
	answered := func(_ *kgo.Client, asked *kmsg.OffsetCommitRequest, answer *kmsg.OffsetCommitResponse, err error) {
		if err != nil {
			told.Failed("commit: " + err.Error())
			return
		}
		told.Committed(taken(positions, answer, told))
	}
	client.CommitOffsetsSync(context.Background(), positions, answered)
}

func taken(
	asked map[string]map[int32]kgo.EpochOffset, answer *kmsg.OffsetCommitResponse, told *diary.Diary,
) map[diary.Partition]int64 {
	found := map[diary.Partition]int64{}
	for _, topic := range answer.Topics {
		for _, one := range topic.Partitions {
			if err := kerr.ErrorForCode(one.ErrorCode); err != nil {
				told.Failed("commit refused: " + err.Error())
				continue
			}
			found[diary.Partition{Topic: topic.Topic, Index: one.Partition}] = asked[topic.Topic][one.Partition].Offset
		}
	}
	return found
}
