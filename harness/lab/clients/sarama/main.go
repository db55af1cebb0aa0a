// Sends with sarama, and journals what is reported.
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

	"github.com/IBM/sarama"

	"producer/kafkachaos"
)

var version string // of the library, by the linker

func main() {
	config := sarama.NewConfig()
	config.ClientID = os.Getenv("KAFKA_CHAOS_CLIENT")
	config.Producer.Return.Successes = true // without it nothing is reported of what succeeds
	connect := pipelined
	switch mode := os.Getenv("KAFKA_CHAOS_MODE"); mode {
	case "default":
	case "awaited":
		connect = awaited
	case "idempotent":
		config.Producer.Idempotent = true
		config.Producer.RequiredAcks = sarama.WaitForAll
		config.Net.MaxOpenRequests = 1
	default:
		log.Fatalf("there is no mode %q", mode)
	}
	send, err := connect(strings.Split(os.Getenv("KAFKA_CHAOS_BOOTSTRAP"), ","), config)
	if err != nil {
		log.Fatal(err)
	}
	journal, err := kafkachaos.Begin(settings(config))
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
		send(journal)
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

// pipelined is a function that sends without waiting, and waits for all reports at its end.
func pipelined(brokers []string, config *sarama.Config) (func(*kafkachaos.Journal), error) {
	producer, err := sarama.NewAsyncProducer(brokers, config)
	return func(journal *kafkachaos.Journal) {
		var reports sync.WaitGroup
		reports.Go(func() {
			for message := range producer.Successes() {
				journal.Acked(message.Metadata.(int64), message.Partition, message.Offset)
			}
		})
		reports.Go(func() {
			for failure := range producer.Errors() {
				journal.Failed(failure.Msg.Metadata.(int64), named(failure.Err))
			}
		})
		each(journal, func(seq int64, message *sarama.ProducerMessage) {
			message.Metadata = seq
			producer.Input() <- message
		})
		producer.AsyncClose()
		reports.Wait()
	}, err
}

// awaited is a function that waits for the report of each message.
func awaited(brokers []string, config *sarama.Config) (func(*kafkachaos.Journal), error) {
	producer, err := sarama.NewSyncProducer(brokers, config)
	return func(journal *kafkachaos.Journal) {
		each(journal, func(seq int64, message *sarama.ProducerMessage) {
			if partition, offset, err := producer.SendMessage(message); err != nil {
				journal.Failed(seq, named(err))
			} else {
				journal.Acked(seq, partition, offset)
			}
		})
		producer.Close()
	}, err
}

// each sends at each tick until the run is over. A ticker drops the ticks that a blocked send has missed.
func each(journal *kafkachaos.Journal, send func(seq int64, message *sarama.ProducerMessage)) {
	ticker := time.NewTicker(time.Duration(1 / number("KAFKA_CHAOS_RATE") * float64(time.Second)))
	defer ticker.Stop()
	for order := 0; !journal.Over(); order++ {
		key, value := []byte(fmt.Sprint(order%10)), []byte(fmt.Sprintf(`{"order": %d}`, order))
		seq, identity, err := journal.Sent(kafkachaos.Record{Key: key, Value: value})
		if err != nil {
			return
		}
		send(seq, &sarama.ProducerMessage{
			Topic:   journal.Topic,
			Key:     sarama.ByteEncoder(key),
			Value:   sarama.ByteEncoder(value),
			Headers: []sarama.RecordHeader{{Key: []byte(kafkachaos.IdentityHeader), Value: identity}},
		})
		<-ticker.C
	}
}

// settings are those of the configuration. MaxOpenRequests counts requests of a connection; a producer has
// one batch of a partition under way, whatever it says.
func settings(config *sarama.Config) kafkachaos.Settings {
	acks := map[sarama.RequiredAcks]string{
		sarama.NoResponse: "0", sarama.WaitForLocal: "1", sarama.WaitForAll: "all",
	}
	return kafkachaos.Settings{
		Client:      "sarama " + version,
		Acks:        acks[config.Producer.RequiredAcks],
		Idempotent:  config.Producer.Idempotent,
		MaxInFlight: 1,
	}
}

var names = map[error]string{
	sarama.ErrOutOfBrokers:                "ErrOutOfBrokers",
	sarama.ErrNotConnected:                "ErrNotConnected",
	sarama.ErrShuttingDown:                "ErrShuttingDown",
	sarama.ErrClosedClient:                "ErrClosedClient",
	sarama.ErrProducerRetryBufferOverflow: "ErrProducerRetryBufferOverflow",
}

// named is the error with a name for a text: those of errors around their cause hold addresses.
func named(err error) error {
	var answer sarama.KError
	if errors.As(err, &answer) {
		return fmt.Errorf("KError(%d)", answer)
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
