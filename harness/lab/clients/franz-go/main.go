// Sends with franz-go, and journals what is reported.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"producer/kafkachaos"
)

var version string // of the library, by the linker

func main() {
	options := []kgo.Opt{
		kgo.SeedBrokers(strings.Split(os.Getenv("KAFKA_CHAOS_BOOTSTRAP"), ",")...),
		kgo.ClientID(os.Getenv("KAFKA_CHAOS_CLIENT")),
	}
	switch mode := os.Getenv("KAFKA_CHAOS_MODE"); mode {
	case "default":
	case "acks=1":
		options = append(options, kgo.RequiredAcks(kgo.LeaderAck()), kgo.DisableIdempotentWrite())
	default:
		log.Fatalf("there is no mode %q", mode)
	}
	client, err := kgo.NewClient(options...)
	if err != nil {
		log.Fatal(err)
	}
	journal, err := kafkachaos.Begin(settings(client))
	if err != nil {
		log.Fatal(err)
	}
	waiting, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := journal.WaitBegun(waiting); err != nil {
		log.Fatal(errors.Join(err, journal.End()))
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		send(client, journal)
		client.Flush(context.Background())
		client.Close()
	}()
	for !journal.Over() {
		time.Sleep(50 * time.Millisecond)
	}
	select {
	case <-done:
	case <-time.After(time.Duration(number("KAFKA_CHAOS_CLOSE") * float64(time.Second))):
	}
	if err := journal.End(); err != nil {
		log.Fatal(err)
	}
}

// send sends at each tick until the run is over. A ticker drops the ticks that a blocked send has missed.
func send(client *kgo.Client, journal *kafkachaos.Journal) {
	ticker := time.NewTicker(time.Duration(1 / number("KAFKA_CHAOS_RATE") * float64(time.Second)))
	defer ticker.Stop()
	for order := 0; !journal.Over(); order++ {
		key, value := []byte(fmt.Sprint(order%10)), []byte(fmt.Sprintf(`{"order": %d}`, order))
		seq, identity, err := journal.Sent(kafkachaos.Record{Key: key, Value: value})
		if err != nil {
			return
		}
		headers := []kgo.RecordHeader{{Key: kafkachaos.IdentityHeader, Value: identity}}
		record := &kgo.Record{Topic: journal.Topic, Key: key, Value: value, Headers: headers}
		client.Produce(context.Background(), record, func(sent *kgo.Record, err error) {
			if err != nil {
				journal.Failed(seq, named(err))
			} else {
				journal.Acked(seq, sent.Partition, sent.Offset)
			}
		})
		<-ticker.C
	}
}

// settings are those that the client says it has.
func settings(client *kgo.Client) kafkachaos.Settings {
	acks := map[any]string{kgo.NoAck(): "0", kgo.LeaderAck(): "1", kgo.AllISRAcks(): "all"}
	idempotent := !client.OptValue(kgo.DisableIdempotentWrite).(bool)
	flight := client.OptValue(kgo.MaxProduceRequestsInflightPerBroker).(int)
	if idempotent {
		flight = 5 // the option counts without idempotence only
	}
	return kafkachaos.Settings{
		Client:            "franz-go " + version,
		Acks:              acks[client.OptValue(kgo.RequiredAcks)],
		Idempotent:        idempotent,
		MaxInFlight:       flight,
		DeliveryTimeoutMs: int(client.OptValue(kgo.RecordDeliveryTimeout).(time.Duration).Milliseconds()),
	}
}

var names = map[error]string{
	kgo.ErrRecordTimeout: "ErrRecordTimeout",
	kgo.ErrRecordRetries: "ErrRecordRetries",
	kgo.ErrClientClosed:  "ErrClientClosed",
}

// named is the error with a name for a text: those of errors around their cause hold addresses.
func named(err error) error {
	var answer *kerr.Error
	if errors.As(err, &answer) {
		return errors.New(answer.Message)
	}
	for known, name := range names {
		if errors.Is(err, known) {
			return errors.New(name)
		}
	}
	for cause := err; cause != nil; cause = errors.Unwrap(cause) {
		err = cause
	}
	return err
}

func number(variable string) float64 {
	value, err := strconv.ParseFloat(os.Getenv(variable), 64)
	if err != nil {
		log.Fatalf("%s: %v", variable, err)
	}
	return value
}
