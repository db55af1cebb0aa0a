// Handles the records of a topic with kafka-go, and journals each one once it is handled.
package main

import (
	"context"
	"log"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/segmentio/kafka-go"
)

var version string // of the library, by the linker

func main() {
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer cancel()
	handler := newHandler("kafka-go " + version) // a reader tells nothing of the partitions that it has
	config := kafka.ReaderConfig{
		Brokers: strings.Split(os.Getenv("KAFKA_CHAOS_BOOTSTRAP"), ","),
		GroupID: os.Getenv("KAFKA_CHAOS_GROUP"),
		Topic:   os.Getenv("KAFKA_CHAOS_TOPIC"),
	}
	if os.Getenv("KAFKA_CHAOS_ISOLATION") == "read_committed" {
		config.IsolationLevel = kafka.ReadCommitted
	}
	consume := read
	switch mode := os.Getenv("KAFKA_CHAOS_MODE"); mode {
	case "default":
	case "fetch":
		consume = fetch
	default:
		log.Fatalf("there is no mode %q", mode)
	}
	if err := closing(ctx, kafka.NewReader(config), handler, consume); err != nil {
		log.Fatal(err)
	}
	handler.tell("end", nil)
}

type loop func(context.Context, *kafka.Reader, *handler) error

// closing closes the reader after its loop, also if that has failed.
func closing(ctx context.Context, reader *kafka.Reader, handler *handler, consume loop) error {
	if handler.ends != "error-raised" {
		defer reader.Close()
	}
	return consume(ctx, reader, handler)
}

// read handles what ReadMessage returns, which has been committed already.
func read(ctx context.Context, reader *kafka.Reader, handler *handler) error {
	for !handler.stops() && ctx.Err() == nil {
		message, err := reader.ReadMessage(ctx)
		if err != nil {
			log.Print(err) // the next call tries again, or the context has ended
			continue
		}
		if _, err := attempt(handler, message); err != nil {
			return err
		}
	}
	return nil
}

// fetch commits each message that it has handled.
func fetch(ctx context.Context, reader *kafka.Reader, handler *handler) error {
	for !handler.stops() && ctx.Err() == nil {
		message, err := reader.FetchMessage(ctx)
		if err != nil {
			log.Print(err)
			continue
		}
		done, err := attempt(handler, message)
		if err != nil {
			return err
		}
		if !done {
			continue // the commit of the next message is one of this message, too
		}
		// Not the context of the loop: what has been handled is committed.
		if err := reader.CommitMessages(context.Background(), message); err != nil {
			log.Print(err)
		}
	}
	return nil
}

// attempt is whether the handler is done with the message, and the error with which the program shall end.
func attempt(handler *handler, message kafka.Message) (bool, error) {
	err := handler.handle(int32(message.Partition), message.Offset, message.Key, message.Value)
	if err != nil && handler.ends == "error-caught" {
		log.Printf("offset %d could not be handled", message.Offset)
		return false, nil
	}
	return err == nil, err
}
