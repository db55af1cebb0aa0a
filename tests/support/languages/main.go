// What tests/mock/workloads/own/test_languages.py runs.
package main

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"log"
	"os"
	"sync"
	"time"

	"probe/kafkachaos"
)

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func main() {
	settings := kafkachaos.Settings{
		Client: os.Getenv("PROBE_CLIENT"), Acks: os.Getenv("PROBE_ACKS"), Idempotent: true, MaxInFlight: 5, DeliveryTimeoutMs: 30000,
		TransactionTimeoutMs: 60000,
	}
	journal, err := kafkachaos.Begin(settings)
	check(err)
	show := func(identity []byte) { fmt.Println(hex.EncodeToString(identity)) }
	show(kafkachaos.Identity(4611686018427387905, 2147483647, 9007199254740993, []byte("grüße")))
	show(kafkachaos.Identity(4611686018427387905, 2147483647, 9007199254740993, nil))
	short, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	fmt.Println("begun", journal.WaitBegun(short) == nil, "over", journal.Over())
	check(journal.WaitBegun(context.Background()))

	send := func(record kafkachaos.Record) int64 {
		seq, identity, err := journal.Sent(record)
		check(err)
		show(identity)
		return seq
	}
	partition, timestamp := int32(2), int64(1699999999123)
	seq := send(kafkachaos.Record{
		Key: []byte("schlüssel"), Value: []byte("grüße"), Partition: &partition, TimestampMs: &timestamp,
		ID: `order "ü" 7`,
	})
	check(journal.Acked(seq, 2, 41))
	check(journal.Acked(send(kafkachaos.Record{}), -1, -1))
	check(journal.Failed(send(kafkachaos.Record{Key: []byte{0, 0, 0, 0, 0, 0, 0, 7}}), errors.New("timed out: ü")))
	check(journal.Refused(send(kafkachaos.Record{Value: []byte{0, 255}}), errors.New(`too "large"`)))
	for transaction, end := range []func(int32) error{journal.Committed, journal.Aborted, journal.Indeterminate} {
		number := int32(transaction)
		send(kafkachaos.Record{Transaction: &number})
		check(end(number))
	}

	var threads sync.WaitGroup
	for range [4]int{} {
		threads.Add(1)
		go func() {
			defer threads.Done()
			for range [250]int{} {
				seq, _, err := journal.Sent(kafkachaos.Record{Value: []byte("x")})
				check(err)
				check(journal.Acked(seq, 0, seq))
			}
		}()
	}
	threads.Wait()
	fmt.Println("sent")
	for !journal.Over() {
		time.Sleep(10 * time.Millisecond)
	}
	check(journal.End())
	check(journal.End())
	check(journal.Acked(seq, 2, 41))
	if _, _, err := journal.Sent(kafkachaos.Record{}); err == nil {
		log.Fatal("a send after the end was journaled")
	}
}
