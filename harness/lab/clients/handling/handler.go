package main

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"log"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// identityBytes at the beginning of a value say which record it is.
const identityBytes = 28

var errHandlerFailed = errors.New("HandlerFailed")

// handler handles records, and journals each one once it is handled.
type handler struct {
	journal *os.File
	takes   time.Duration // for a record
	ends    string        // "", kill, stop, error-raised, error-caught or error-closed
	after   int           // so many records

	mutex   sync.Mutex // for clients that have a goroutine per partition
	handled int
	failed  bool
}

// newHandler begins a journal, and waits until this member shall join.
func newHandler(client string) *handler {
	folder, instance := os.Getenv("KAFKA_CHAOS_DELIVERIES"), os.Getenv("KAFKA_CHAOS_INSTANCE")
	h := &handler{takes: milliseconds("KAFKA_CHAOS_HANDLE_MS")}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		log.Fatal(err)
	}
	if earlier, _ := filepath.Glob(filepath.Join(folder, "0-*.jsonl")); instance == "0" && len(earlier) == 0 {
		h.ends = os.Getenv("KAFKA_CHAOS_ENDS")
		h.after, _ = strconv.Atoi(os.Getenv("KAFKA_CHAOS_AFTER"))
	}
	name := instance + "-" + strconv.FormatInt(time.Now().UnixMilli(), 10) + ".jsonl"
	journal, err := os.OpenFile(filepath.Join(folder, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		log.Fatal(err)
	}
	h.journal = journal
	h.tell("begin", map[string]any{"client": client})
	number, _ := strconv.Atoi(instance)
	time.Sleep(time.Duration(number) * milliseconds("KAFKA_CHAOS_JOIN_MS"))
	return h
}

// handle handles a record. Its error is for the program to deal with.
func (h *handler) handle(partition int32, offset int64, key, value []byte) error {
	time.Sleep(h.takes)
	h.mutex.Lock()
	defer h.mutex.Unlock()
	if h.ends == "kill" && h.handled == h.after { // with this record in hand
		syscall.Kill(os.Getpid(), syscall.SIGKILL)
	}
	at := map[string]any{"partition": partition, "offset": offset}
	if strings.HasPrefix(h.ends, "error") && h.handled == h.after && !h.failed {
		h.failed = true
		at["error"] = errHandlerFailed.Error()
		h.tell("failed", at)
		return errHandlerFailed
	}
	if len(value) < identityBytes { // the key may tell what the record is
		at["key"] = hex.EncodeToString(key)
	}
	at["value"] = hex.EncodeToString(value[:min(len(value), identityBytes)])
	h.tell("handled", at)
	h.handled++
	return nil
}

// stops is whether the program shall leave its loop now.
func (h *handler) stops() bool {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	return h.ends == "stop" && h.handled >= h.after
}

func (h *handler) tellPartitions(event string, partitions []int32) {
	h.tell(event, map[string]any{"partitions": append([]int32{}, partitions...)})
}

func (h *handler) tell(event string, more map[string]any) {
	line := map[string]any{"event": event, "time_ms": time.Now().UnixMilli()}
	for name, value := range more {
		line[name] = value
	}
	text, err := json.Marshal(line)
	if err == nil {
		_, err = h.journal.Write(append(text, '\n'))
	}
	if err != nil {
		log.Fatal(err)
	}
}

func milliseconds(variable string) time.Duration {
	value, err := strconv.ParseFloat(os.Getenv(variable), 64)
	if err != nil {
		log.Fatalf("%s: %v", variable, err)
	}
	return time.Duration(value * float64(time.Millisecond))
}
