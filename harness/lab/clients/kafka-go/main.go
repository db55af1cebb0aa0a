// Sends with kafka-go, and journals what is reported.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"

	"producer/kafkachaos"
)

// mostUnderWay bounds the goroutines that wait for a report.
const mostUnderWay = 50_000

var version string // of the library, by the linker

func main() {
	brokers := strings.Split(os.Getenv("KAFKA_CHAOS_BOOTSTRAP"), ",")
	clientID := os.Getenv("KAFKA_CHAOS_CLIENT")
	// A writer without a transport of its own has the same settings, and no client id.
	writer := &kafka.Writer{Addr: kafka.TCP(brokers...), Transport: &kafka.Transport{ClientID: clientID}}
	switch mode := os.Getenv("KAFKA_CHAOS_MODE"); mode {
	case "default":
	case "acks=1":
		writer.RequiredAcks = kafka.RequireOne
	case "newwriter":
		dialer := *kafka.DefaultDialer
		dialer.ClientID = clientID
		writer = kafka.NewWriter(kafka.WriterConfig{Brokers: brokers, Dialer: &dialer})
	default:
		log.Fatalf("there is no mode %q", mode)
	}
	journal, err := kafkachaos.Begin(settings(writer))
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
		send(writer, journal)
		writer.Close()
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
// WriteMessages returns once the batch of its message is written, so each has a goroutine, as in a server.
func send(writer *kafka.Writer, journal *kafkachaos.Journal) {
	writer.Completion = func(messages []kafka.Message, err error) {
		if err != nil {
			return // WriteMessages returns it, too
		}
		for _, message := range messages {
			if writer.RequiredAcks == kafka.RequireNone {
				message.Partition, message.Offset = -1, -1 // nobody has named them
			}
			journal.Acked(message.WriterData.(int64), int32(message.Partition), message.Offset)
		}
	}
	var sends sync.WaitGroup
	underWay := make(chan struct{}, mostUnderWay)
	ticker := time.NewTicker(time.Duration(1 / number("KAFKA_CHAOS_RATE") * float64(time.Second)))
	defer ticker.Stop()
	for order := 0; !journal.Over(); order++ {
		underWay <- struct{}{}
		key, value := []byte(fmt.Sprint(order%10)), []byte(fmt.Sprintf(`{"order": %d}`, order))
		seq, identity, err := journal.Sent(kafkachaos.Record{Key: key, Value: value})
		if err != nil {
			return
		}
		headers := []kafka.Header{{Key: kafkachaos.IdentityHeader, Value: identity}}
		message := kafka.Message{Topic: journal.Topic, Key: key, Value: value, Headers: headers, WriterData: seq}
		sends.Go(func() {
			if err := writer.WriteMessages(context.Background(), message); err != nil {
				journal.Failed(seq, named(err))
			}
			<-underWay
		})
		<-ticker.C
	}
	sends.Wait()
}

// settings are those of the writer. It has one batch of a partition under way at a time.
func settings(writer *kafka.Writer) kafkachaos.Settings {
	acks := map[kafka.RequiredAcks]string{kafka.RequireNone: "0", kafka.RequireOne: "1", kafka.RequireAll: "all"}
	return kafkachaos.Settings{
		Client:      "kafka-go " + version,
		Acks:        acks[writer.RequiredAcks],
		Idempotent:  false, // kafka-go has no idempotence
		MaxInFlight: 1,
	}
}

var names = map[error]string{
	protocol.ErrNoPartition: "ErrNoPartition",
	protocol.ErrNoLeader:    "ErrNoLeader",
}

// named is the error with a name for a text: those of errors around their cause hold addresses.
func named(err error) error {
	if each := kafka.WriteErrors(nil); errors.As(err, &each) {
		err = each[0] // of the one message of the call
	}
	var answer kafka.Error
	if errors.As(err, &answer) {
		return errors.New(answer.Title())
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
