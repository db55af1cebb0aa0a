// Handles the records of a topic with sarama, and journals each one once it is handled.
package main

import (
	"context"
	"errors"
	"log"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/IBM/sarama"
)

var version string // of the library, by the linker

// consumer is what sarama calls for each session of the group.
type consumer struct {
	*handler
	topic string
	stop  context.CancelFunc
	err   error // of the handler
}

func (c *consumer) Setup(session sarama.ConsumerGroupSession) error {
	c.tellPartitions("assigned", session.Claims()[c.topic])
	return nil
}

func (c *consumer) Cleanup(session sarama.ConsumerGroupSession) error {
	c.tellPartitions("revoked", session.Claims()[c.topic])
	return nil
}

// ConsumeClaim handles the records of one partition. What is marked is committed each second, and at the end
// of the session. sarama drops the error that it returns: the session ends, and the next one has the record
// again.
func (c *consumer) ConsumeClaim(session sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	for {
		select {
		case message, ok := <-claim.Messages():
			if !ok {
				return nil
			}
			err := c.handle(message.Partition, message.Offset, message.Key, message.Value)
			if err != nil && c.ends != "error-caught" {
				c.err = err
				return err
			}
			if err != nil {
				log.Printf("offset %d could not be handled", message.Offset)
				continue
			}
			session.MarkMessage(message, "")
			if c.stops() {
				c.stop()
				return nil
			}
		case <-session.Context().Done():
			return nil
		}
	}
}

func main() {
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer cancel()
	handler := newHandler("sarama " + version)
	consumer := &consumer{handler: handler, topic: os.Getenv("KAFKA_CHAOS_TOPIC"), stop: cancel}
	if err := consumer.run(ctx); err != nil {
		log.Fatal(err)
	}
	handler.tell("end", nil)
}

func (c *consumer) run(ctx context.Context) (err error) {
	config := sarama.NewConfig()
	if os.Getenv("KAFKA_CHAOS_ISOLATION") == "read_committed" {
		config.Consumer.IsolationLevel = sarama.ReadCommitted
	}
	brokers := strings.Split(os.Getenv("KAFKA_CHAOS_BOOTSTRAP"), ",")
	group, err := sarama.NewConsumerGroup(brokers, os.Getenv("KAFKA_CHAOS_GROUP"), config)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, group.Close()) }()
	for ctx.Err() == nil {
		// It returns when a rebalance has ended the session, also without an error.
		if err := group.Consume(ctx, []string{c.topic}, c); err != nil {
			return err
		}
		if c.ends == "error-closed" && c.err != nil {
			return c.err
		}
	}
	return nil
}
