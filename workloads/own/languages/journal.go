// Package kafkachaos journals what a producer of yours sends and what is reported of it, so that kafka-chaos can
// account for every record. Copy this file into a folder kafkachaos of your module. It needs Go 1.21 and nothing
// but the standard library.
//
//	journal, err := kafkachaos.Begin(kafkachaos.Settings{Client: "franz-go 1.22.3", Acks: "all", Idempotent: true})
//	seq, identity, err := journal.Sent(kafkachaos.Record{Key: key, Value: value}) // before each send
//	// Send the record with the header kafkachaos.IdentityHeader, whose value is identity. Then, with its report:
//	err = journal.Acked(seq, partition, offset) // or journal.Failed(seq, err)
//	err = journal.End() // once every report is there
//
// docs/how-to/own-producer.md of kafka-chaos describes the events, and `kafka-chaos own --check FOLDER` reads them.
package kafkachaos

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
)

// IdentityHeader is the name of the header that each record carries.
const IdentityHeader = "kafka-chaos-identity"

const (
	magic        = 0x4b434831
	longestError = 200
	pollEvery    = 50 * time.Millisecond
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Settings are those that the client has; the run judges by them. Of the last three 0 stands for "not known".
type Settings struct {
	Client               string `json:"client"` // the library and its version
	Acks                 string `json:"acks"`   // "0", "1" or "all"
	Idempotent           bool   `json:"idempotent"`
	MaxInFlight          int    `json:"max_in_flight,omitempty"`
	DeliveryTimeoutMs    int    `json:"delivery_timeout_ms,omitempty"`
	TransactionTimeoutMs int    `json:"transaction_timeout_ms,omitempty"`
}

// Record is what is sent. Without a Partition the client chooses one; without a TimestampMs (since the epoch) it
// takes the time of the send. Transaction is the number of the transaction that the record belongs to. ID is the
// record's own id ("order-11"), by which it is judged, too, where the run says that records have one.
type Record struct {
	Key, Value  []byte
	Partition   *int32
	Transaction *int32
	TimestampMs *int64
	ID          string
}

// Journal of one producer. Goroutines may share it. If they share the producer too and the order of its records
// matters, hold a mutex of your own around Sent and the client's send.
type Journal struct {
	Producer int32
	Topic    string

	run    uint64
	folder string
	mutex  sync.Mutex
	file   *os.File
	next   int64
	closed bool
}

// Begin opens the journal of a new producer in the folder that the environment names.
func Begin(settings Settings) (*Journal, error) {
	if strings.TrimSpace(settings.Client) == "" {
		return nil, errors.New("kafkachaos: Client must name the library and its version")
	}
	if settings.Acks != "0" && settings.Acks != "1" && settings.Acks != "all" {
		return nil, fmt.Errorf(`kafkachaos: Acks must be "0", "1" or "all", not %q`, settings.Acks)
	}
	values := map[string]string{}
	for _, name := range []string{"KAFKA_CHAOS_JOURNAL", "KAFKA_CHAOS_TOPIC", "KAFKA_CHAOS_RUN"} {
		if values[name] = os.Getenv(name); values[name] == "" {
			return nil, fmt.Errorf("kafkachaos: the environment variable %s is not set", name)
		}
	}
	run, err := strconv.ParseUint(values["KAFKA_CHAOS_RUN"], 10, 63)
	if err != nil {
		return nil, fmt.Errorf("kafkachaos: KAFKA_CHAOS_RUN: %w", err)
	}
	journal := &Journal{Topic: values["KAFKA_CHAOS_TOPIC"], run: run, folder: values["KAFKA_CHAOS_JOURNAL"]}
	if err := journal.claim(); err != nil {
		return nil, err
	}
	begin, err := json.Marshal(struct {
		Event    string `json:"event"`
		Producer int32  `json:"producer"`
		Run      uint64 `json:"run"`
		Topic    string `json:"topic"`
		Settings
	}{"begin", journal.Producer, run, journal.Topic, settings})
	if err != nil {
		return nil, err
	}
	return journal, journal.write(string(begin))
}

// claim creates the file of the first producer's number that is free.
func (j *Journal) claim() error {
	if err := os.MkdirAll(j.folder, 0o755); err != nil {
		return err
	}
	for {
		path := filepath.Join(j.folder, fmt.Sprintf("%d.jsonl", j.Producer))
		file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY|os.O_APPEND, 0o644)
		if err == nil {
			j.file = file
			return nil
		}
		if !errors.Is(err, fs.ErrExist) || j.Producer == math.MaxInt32 {
			return err
		}
		j.Producer++
	}
}

// Sent journals a record before it is handed to the client. It returns the number of the send and the value of the
// header IdentityHeader.
func (j *Journal) Sent(record Record) (seq int64, identity []byte, err error) {
	var more strings.Builder
	if record.Key != nil {
		fmt.Fprintf(&more, `, "key_base64": "%s"`, base64.StdEncoding.EncodeToString(record.Key))
	}
	if record.Partition != nil {
		fmt.Fprintf(&more, `, "partition": %d`, *record.Partition)
	}
	if record.Transaction != nil {
		fmt.Fprintf(&more, `, "txn": %d`, *record.Transaction)
	}
	if record.TimestampMs != nil {
		fmt.Fprintf(&more, `, "timestamp_ms": %d`, *record.TimestampMs)
	}
	if record.ID != "" {
		id, err := json.Marshal(record.ID)
		if err != nil {
			return 0, nil, err
		}
		fmt.Fprintf(&more, `, "id": %s`, id)
	}
	j.mutex.Lock()
	defer j.mutex.Unlock()
	if j.closed {
		return 0, nil, errors.New("kafkachaos: the journal of this producer is closed")
	}
	seq = j.next
	err = j.write(fmt.Sprintf(`{"event": "sent", "seq": %d, "time_ns": %d, "size": %d%s}`,
		seq, time.Now().UnixNano(), len(record.Value), more.String()))
	if err != nil {
		return 0, nil, err
	}
	j.next++
	return seq, Identity(j.run, j.Producer, seq, record.Value), nil
}

// Acked journals a success report. The partition and the offset are -1 if the client does not name them.
func (j *Journal) Acked(seq int64, partition int32, offset int64) error {
	return j.append(`{"event": "acked", "seq": %d, "time_ns": %d, "partition": %d, "offset": %d}`,
		seq, time.Now().UnixNano(), max(partition, -1), max(offset, -1))
}

// Failed journals an error report: the record may be in the log or not.
func (j *Journal) Failed(seq int64, cause error) error {
	return j.append(`{"event": "failed", "seq": %d, "time_ns": %d, "error": %q}`,
		seq, time.Now().UnixNano(), errorName(cause))
}

// Refused journals that the client refused the record before it queued it, so that it was certainly not written.
func (j *Journal) Refused(seq int64, cause error) error {
	return j.append(`{"event": "refused", "seq": %d, "time_ns": %d, "error": %q}`,
		seq, time.Now().UnixNano(), errorName(cause))
}

// Committed journals that a broker confirmed the commit of a transaction.
func (j *Journal) Committed(transaction int32) error { return j.ended("committed", transaction) }

// Aborted journals that a broker confirmed the abort of a transaction.
func (j *Journal) Aborted(transaction int32) error { return j.ended("aborted", transaction) }

// Indeterminate journals that a commit was asked for and nobody said how the transaction ended.
func (j *Journal) Indeterminate(transaction int32) error {
	return j.ended("indeterminate", transaction)
}

func (j *Journal) ended(event string, transaction int32) error {
	return j.append(`{"event": %q, "txn": %d, "time_ns": %d}`, event, transaction, time.Now().UnixNano())
}

// WaitBegun returns nil once the first write step of the run has begun, or the error of the context.
func (j *Journal) WaitBegun(ctx context.Context) error {
	ticker := time.NewTicker(pollEvery)
	defer ticker.Stop()
	for !j.exists("begun") {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
		}
	}
	return nil
}

// Over tells whether the write steps are over: a program that writes without end stops now, and End follows within
// close_seconds of the run.
func (j *Journal) Over() bool { return j.exists("over") }

func (j *Journal) exists(name string) bool {
	_, err := os.Stat(filepath.Join(j.folder, name))
	return err == nil
}

// End closes the journal, once every report is there. Sends without a report may be in the log or not. It may be called
// again.
func (j *Journal) End() error {
	j.mutex.Lock()
	defer j.mutex.Unlock()
	if j.closed {
		return nil
	}
	j.closed = true
	err := j.write(`{"event": "end"}`)
	return errors.Join(err, j.file.Close())
}

// append writes an event. A report that comes after the end is passed over.
func (j *Journal) append(format string, values ...any) error {
	j.mutex.Lock()
	defer j.mutex.Unlock()
	if j.closed {
		return nil
	}
	return j.write(fmt.Sprintf(format, values...))
}

// write hands a line to the operating system at once, so that a program that is killed leaves what it has journaled.
func (j *Journal) write(line string) error {
	_, err := j.file.WriteString(line + "\n")
	return err
}

// Identity is the value of the header of a record: magic, run, producer and seq, big endian, and the CRC-32C of these
// and of the record's value.
func Identity(run uint64, producer int32, seq int64, value []byte) []byte {
	identity := make([]byte, 0, 28)
	identity = binary.BigEndian.AppendUint32(identity, magic)
	identity = binary.BigEndian.AppendUint64(identity, run)
	identity = binary.BigEndian.AppendUint32(identity, uint32(producer))
	identity = binary.BigEndian.AppendUint64(identity, uint64(seq))
	checksum := crc32.Update(crc32.Checksum(identity, castagnoli), castagnoli, value)
	return binary.BigEndian.AppendUint32(identity, checksum)
}

// errorName makes one word of an error, as the journal asks for it: printable ASCII without spaces.
func errorName(cause error) string {
	if cause == nil {
		return "unknown"
	}
	word := strings.Map(func(letter rune) rune {
		if letter <= ' ' || letter > '~' {
			return '_'
		}
		return letter
	}, cause.Error())
	if word == "" {
		return "unknown"
	}
	return word[:min(len(word), longestError)]
}
