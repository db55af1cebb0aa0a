// Handles the records of a topic with franz-go, and journals each one once it is handled.
package main

import (
	"context"
	"log"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/twmb/franz-go/pkg/kgo"
)

var version string // of the library, by the linker

func main() {
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer cancel()
	handler := newHandler("franz-go " + version)
	if err := consume(ctx, handler); err != nil {
		log.Fatal(err)
	}
	handler.tell("end", nil)
}

func consume(ctx context.Context, handler *handler) error {
	topic := os.Getenv("KAFKA_CHAOS_TOPIC")
	told := func(event string) func(context.Context, *kgo.Client, map[string][]int32) {
		return func(_ context.Context, _ *kgo.Client, partitions map[string][]int32) {
			handler.tellPartitions(event, partitions[topic])
		}
	}
	options := []kgo.Opt{
		kgo.SeedBrokers(strings.Split(os.Getenv("KAFKA_CHAOS_BOOTSTRAP"), ",")...),
		kgo.ConsumerGroup(os.Getenv("KAFKA_CHAOS_GROUP")),
		kgo.ConsumeTopics(topic),
		// OnPartitionsRevoked is not set: a function of ours would take the place of the commit at a rebalance.
		kgo.OnPartitionsAssigned(told("assigned")),
		kgo.OnPartitionsLost(told("lost")),
	}
	if os.Getenv("KAFKA_CHAOS_ISOLATION") == "read_committed" {
		options = append(options, kgo.FetchIsolationLevel(kgo.ReadCommitted()))
	}
	client, err := kgo.NewClient(options...)
	if err != nil {
		return err
	}
	if handler.ends != "error-raised" {
		defer client.Close()
	}
	var reported string
	for {
		fetches := client.PollFetches(ctx)
		if ctx.Err() != nil {
			return nil
		}
		// Once, since a topic that was made again gives thousands a second.
		if err := fetches.Err(); err != nil && err.Error() != reported {
			reported = err.Error()
			log.Print(reported)
		}
		for records := fetches.RecordIter(); !records.Done(); {
			record := records.Next()
			err := handler.handle(record.Partition, record.Offset, record.Key, record.Value)
			if err != nil && handler.ends != "error-caught" {
				return err
			}
			if err != nil {
				log.Printf("offset %d could not be handled", record.Offset)
			}
			if handler.stops() || ctx.Err() != nil {
				return nil
			}
		}
	}
}
