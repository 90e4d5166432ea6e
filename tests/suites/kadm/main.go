// Shows one group as a lag monitor sees it that is built on franz-go's kadm: state, protocol, members and lag, as JSON.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

type shown struct {
	State        string `json:"state"`
	ProtocolType string `json:"protocol_type"`
	Protocol     string `json:"protocol"`
	Members      int    `json:"members"`
	Assigned     int    `json:"assigned"`
	Lag          int64  `json:"lag"`
	Error        string `json:"error"`
}

func main() {
	client, err := kgo.NewClient(kgo.SeedBrokers(os.Args[1]))
	if err != nil {
		panic(err)
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	lags, err := kadm.NewClient(client).Lag(ctx, os.Args[2])
	if err != nil {
		panic(err)
	}
	one := lags[os.Args[2]]
	seen := shown{State: one.State, ProtocolType: one.ProtocolType, Protocol: one.Protocol, Members: len(one.Members), Lag: one.Lag.Total()}
	if err := one.Error(); err != nil {
		seen.Error = err.Error()
	}
	for _, partitions := range one.Lag {
		for _, lag := range partitions {
			if lag.Member != nil {
				seen.Assigned++
			}
		}
	}
	text, _ := json.Marshal(seen)
	fmt.Println(string(text))
}
