// Package diary writes what a member process tells of itself, one JSON object a line, as every member of the fleet
// does, and reads the options that they all have. It must not know any client library.
package diary

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"runtime/debug"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Options of one member. Times are in milliseconds.
type Options struct {
	Bootstrap, Group, Name, ClientID, InstanceID, Assignor, Protocol string
	Topics                                                           []string
	SessionMs, HeartbeatMs, MetadataMaxAgeMs                         int
}

// Read takes the options from the command line; the process ends with status 2 if they are wrong.
func Read() Options {
	var options Options
	flag.StringVar(&options.Bootstrap, "bootstrap", "", "HOST:PORT")
	flag.StringVar(&options.Group, "group", "", "")
	flag.StringVar(&options.Name, "name", "", "the seat this process fills in the fleet")
	flag.StringVar(&options.ClientID, "client-id", "", "")
	flag.StringVar(&options.InstanceID, "instance-id", "", "makes the member static (KIP-345)")
	flag.StringVar(&options.Assignor, "assignor", "range", "range or cooperative-sticky")
	flag.StringVar(&options.Protocol, "protocol", "classic", "classic only")
	flag.IntVar(&options.SessionMs, "session-timeout-ms", 30_000, "")
	flag.IntVar(&options.HeartbeatMs, "heartbeat-interval-ms", 3_000, "")
	flag.IntVar(&options.MetadataMaxAgeMs, "metadata-max-age-ms", 5_000, "")
	flag.Func("topic", "may be given several times", func(topic string) error {
		options.Topics = append(options.Topics, topic)
		return nil
	})
	flag.Parse()
	if options.Protocol != "classic" {
		fmt.Fprintln(os.Stderr, "this member speaks the classic protocol only")
		os.Exit(2)
	}
	return options
}

// Partition of a topic, by name.
type Partition struct {
	Topic string
	Index int32
}

// Diary of one member; its methods may be called from any goroutine.
type Diary struct {
	mutex sync.Mutex
	mode  string
}

// Begin writes that the process has started; module is the path of the client library.
func Begin(options Options, library, module string) *Diary {
	diary := &Diary{mode: "eager"}
	if options.Assignor == "cooperative-sticky" {
		diary.mode = "incremental"
	}
	var instance any
	if options.InstanceID != "" {
		instance = options.InstanceID
	}
	diary.write("started", map[string]any{
		"seat": options.Name, "client_id": options.ClientID, "library": library, "library_version": version(module),
		"protocol": options.Protocol, "assignor": options.Assignor, "instance_id": instance, "pid": os.Getpid(),
	})
	return diary
}

// Assigned is written last thing in the assigned callback.
func (diary *Diary) Assigned(partitions []Partition) { diary.rebalanced("assigned", partitions) }

// Revoked is written first thing in the revoked callback.
func (diary *Diary) Revoked(partitions []Partition) { diary.rebalanced("revoked", partitions) }

// Lost is written first thing in the lost callback.
func (diary *Diary) Lost(partitions []Partition) { diary.rebalanced("lost", partitions) }

// Consumed is written when records of these ascending offsets were processed: a line for each span without a gap.
func (diary *Diary) Consumed(partition Partition, offsets []int64) {
	first := 0
	for at := range offsets {
		if at+1 < len(offsets) && offsets[at+1] == offsets[at]+1 {
			continue
		}
		diary.write("consumed", map[string]any{
			"partition": []any{partition.Topic, partition.Index},
			"first":     offsets[first], "last": offsets[at], "count": offsets[at] - offsets[first] + 1,
		})
		first = at + 1
	}
}

// Committed is written when the coordinator has taken a commit: the offset of the next record by partition.
func (diary *Diary) Committed(offsets map[Partition]int64) {
	if len(offsets) == 0 {
		return
	}
	rows := [][]any{}
	for partition, offset := range offsets {
		rows = append(rows, []any{partition.Topic, partition.Index, offset})
	}
	diary.write("committed", map[string]any{"offsets": rows})
}

// Failed is written when something went wrong; the member may go on.
func (diary *Diary) Failed(reason string) { diary.write("failed", map[string]any{"reason": reason}) }

// Ended is written when the client has closed in good order.
func (diary *Diary) Ended() { diary.write("ended", map[string]any{}) }

// WatchParent calls orphaned once the process that started this one is gone.
func WatchParent(orphaned func()) {
	parent := os.Getppid()
	go func() {
		for os.Getppid() == parent {
			time.Sleep(500 * time.Millisecond)
		}
		orphaned()
	}()
}

func (diary *Diary) rebalanced(event string, partitions []Partition) {
	rows := [][]any{}
	for _, partition := range partitions {
		rows = append(rows, []any{partition.Topic, partition.Index})
	}
	diary.write(event, map[string]any{"partitions": rows, "mode": diary.mode})
}

func (diary *Diary) write(event string, fields map[string]any) {
	diary.mutex.Lock()
	defer diary.mutex.Unlock()
	fields["event"], fields["at_ns"] = event, now()
	line, err := json.Marshal(fields)
	if err == nil {
		_, err = os.Stdout.Write(append(line, '\n'))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "nobody reads the diary:", err)
		os.Exit(1)
	}
}

// The fleet's clock is CLOCK_MONOTONIC.
func now() int64 {
	var read unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &read); err != nil {
		panic(err)
	}
	return read.Nano()
}

func version(module string) string {
	if built, ok := debug.ReadBuildInfo(); ok {
		for _, dependency := range built.Deps {
			if dependency.Path == module {
				return dependency.Version
			}
		}
	}
	return ""
}
