"""The journals of a run: Parquet schemas and where each lives in the run folder.

A run folder holds

    run.json              what was run and how (`harness.model.run.RunMeta`)
    sends/part-*.parquet  one row a send, written when the send closed
    sends/open.parquet    sends still open at the last flush; present only while running or after a crash
    transactions/part-*.parquet  one row a transaction, written when it ended (only transactional producers)
    reads/part-*.parquet  one row a record of the final read (read_uncommitted)
    committed/part-*.parquet     one row a record of a second final read, read_committed (as above)
    live/READER/part-*.parquet   one row a record that a reader was given while the faults went on
    assignments/part-*.parquet   one row a partition that a reader was given or lost
    commits/part-*.parquet       one row an offset that a reader committed, or tried to
    faults.parquet        one row a fault event
    samples/part-*.parquet  one row a broker, partition and sampling moment
    replicas/part-*.parquet one row a record found in a replica's own segment files (only when asked for)
    checkpoints/part-*.parquet one row an entry of those brokers' checkpoint files
    answers/part-*.parquet   one row an answer of a broker in an ask step
    findings/, summary.json what a check of this folder found

Times are nanoseconds since the epoch by the harness's clock (`*_ns`); Kafka's own are milliseconds
(`*_ms`). All integers are signed.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Protocol

import pyarrow as pa

UNREADABLE = (OSError, pa.ArrowException, UnicodeDecodeError)
"""What reading or writing a journal raises when its file is damaged, missing, or its disk full."""

SCHEMA_VERSION = 2
"""Version of everything in a run folder; a check refuses folders of another version."""


class SendOutcome(StrEnum):
    """What the client knows about one send."""

    ACKED = "acked"
    UNCONFIRMED = "unconfirmed"
    REJECTED = "rejected"
    INDETERMINATE = "indeterminate"


class ReadState(StrEnum):
    """What a value read from the log turned out to be."""

    OK = "ok"
    """Decodes, CRC right, written by this run."""
    FOREIGN = "foreign"
    """Decodes, CRC right, but carries another run's id."""
    CORRUPT = "corrupt"
    """Starts with our magic, but the CRC does not match; the identity columns hold what it claims."""
    UNDECODABLE = "undecodable"
    """Not one of our values at all."""


SENDS = pa.schema(
    [
        pa.field("producer", pa.int32(), nullable=False),
        pa.field("seq", pa.int64(), nullable=False),
        pa.field("topic", pa.string(), nullable=False),
        pa.field("partition", pa.int32(), nullable=False),
        pa.field("key", pa.int64()),
        pa.field("size", pa.int32(), nullable=False),
        pa.field("step", pa.int32(), nullable=False),
        pa.field("sent_ns", pa.int64(), nullable=False),
        pa.field("outcome", pa.string(), nullable=False),
        pa.field("closed_ns", pa.int64()),
        pa.field("offset", pa.int64()),
        pa.field("error", pa.string()),
        pa.field("txn", pa.int64()),
    ]
)
"""One row a send. `seq` is dense per producer from 0. `size` is the value's bytes, `key` the key id (null: no
key), `step` the index of the write step, `closed_ns` when its report came (null: none came), `offset` the
acknowledged offset (null: not reported), `error` the client's error name (null: none), `txn` the number of
the producer's transaction it was sent in (null: in none). `partition` -1: the client was to choose, and no
report said what it chose."""


class TxnOutcome(StrEnum):
    """What the client knows about one transaction."""

    COMMITTED = "committed"
    ABORTED = "aborted"
    INDETERMINATE = "indeterminate"
    """A commit was asked for and failed, or was never answered; it may end either way. Where nobody ever
    asked for one it is `aborted`, whatever became of the abort: without that Kafka can make none (KIP-98)."""


TRANSACTIONS = pa.schema(
    [
        pa.field("producer", pa.int32(), nullable=False),
        pa.field("txn", pa.int64(), nullable=False),
        pa.field("begun_ns", pa.int64(), nullable=False),
        pa.field("ended_ns", pa.int64()),
        pa.field("asked", pa.string(), nullable=False),
        pa.field("outcome", pa.string(), nullable=False),
        pa.field("records", pa.int64(), nullable=False),
        pa.field("error", pa.string()),
    ]
)
"""One row a transaction. `txn` is dense per producer from 0. `asked` is what the client meant to do: "commit"
or "abort"; `outcome` a `TxnOutcome`; `records` how many sends it has in the sends journal; `ended_ns` when
the answer came (null: none came); `error` the client's error name (null: none). A transaction that was open
when the harness was killed has no row."""

READS = pa.schema(
    [
        pa.field("reader", pa.string(), nullable=False),
        pa.field("topic", pa.string(), nullable=False),
        pa.field("partition", pa.int32(), nullable=False),
        pa.field("offset", pa.int64(), nullable=False),
        pa.field("leader_epoch", pa.int32()),
        pa.field("timestamp_ms", pa.int64()),
        pa.field("state", pa.string(), nullable=False),
        pa.field("run", pa.int64()),
        pa.field("producer", pa.int32()),
        pa.field("seq", pa.int64()),
        pa.field("key", pa.int64()),
        pa.field("value", pa.binary()),
        pa.field("read_ns", pa.int64(), nullable=False),
        pa.field("session", pa.int32()),
        pa.field("position", pa.int64()),
    ]
)
"""One row a record read. Identity columns are null where nothing decodes; `value` keeps the raw bytes of
whatever is not `ok` (null otherwise). Of live readers only: `session` counts the reader's assignments and
seeks from 0 (within one session offsets of a partition must rise), `position` its records from 0, in the
order in which the application got them, over all partitions and sessions."""

ASSIGNMENTS = pa.schema(
    [
        pa.field("reader", pa.string(), nullable=False),
        pa.field("session", pa.int32(), nullable=False),
        pa.field("at_ns", pa.int64(), nullable=False),
        pa.field("event", pa.string(), nullable=False),
        pa.field("topic", pa.string(), nullable=False),
        pa.field("partition", pa.int32(), nullable=False),
        pa.field("offset", pa.int64()),
    ]
)
"""One row a partition that a reader was given ("assigned") or that was taken from it ("revoked", "lost").
`session` is the one that begins or ends with it, `offset` where reading begins (null: not known)."""

COMMITS = pa.schema(
    [
        pa.field("reader", pa.string(), nullable=False),
        pa.field("session", pa.int32(), nullable=False),
        pa.field("at_ns", pa.int64(), nullable=False),
        pa.field("topic", pa.string(), nullable=False),
        pa.field("partition", pa.int32(), nullable=False),
        pa.field("offset", pa.int64(), nullable=False),
        pa.field("error", pa.string()),
    ]
)
"""One row an offset that a reader committed: the next one that its group would read. `error` is the client's
error name (null: the commit succeeded). Those that the client makes by itself are there too, if it tells."""

REPLICAS = pa.schema(
    [
        pa.field("broker", pa.int32(), nullable=False),
        pa.field("topic", pa.string(), nullable=False),
        pa.field("partition", pa.int32(), nullable=False),
        pa.field("offset", pa.int64(), nullable=False),
        pa.field("leader_epoch", pa.int32(), nullable=False),
        pa.field("timestamp_ms", pa.int64()),
        pa.field("control", pa.bool_(), nullable=False),
        pa.field("state", pa.string(), nullable=False),
        pa.field("run", pa.int64()),
        pa.field("producer", pa.int32()),
        pa.field("seq", pa.int64()),
        pa.field("crc", pa.int64()),
    ]
)
"""One row a record in a replica's own segment files; `leader_epoch` is the batch's partition leader epoch.
Records of equal value have equal `crc` (null: a control batch, or bytes that are not a record)."""

CHECKPOINTS = pa.schema(
    [
        pa.field("broker", pa.int32(), nullable=False),
        pa.field("file", pa.string(), nullable=False),
        pa.field("topic", pa.string(), nullable=False),
        pa.field("partition", pa.int32(), nullable=False),
        pa.field("leader_epoch", pa.int32()),
        pa.field("offset", pa.int64(), nullable=False),
    ]
)
"""One row an entry of a broker's checkpoint files. `file` is the file's name; `offset` a high watermark
(replication-offset-checkpoint), a recovery point, a log start offset, or where `leader_epoch` begins
(leader-epoch-checkpoint; null in all others)."""

FAULTS = pa.schema(
    [
        pa.field("at_ns", pa.int64(), nullable=False),
        pa.field("fault", pa.string(), nullable=False),
        pa.field("kind", pa.string(), nullable=False),
        pa.field("phase", pa.string(), nullable=False),
        pa.field("target", pa.string(), nullable=False),
        pa.field("detail", pa.string(), nullable=False),
    ]
)
"""One row a fault event. `fault` names one injection ("kill-1"), `phase` is one of `FaultPhase`, `target`
says which nodes it hit, `detail` is JSON: the evidence."""


class FaultPhase(StrEnum):
    """Moments in the life of one injected fault."""

    DECIDED = "decided"
    AIMED = "aimed"
    """Its targets are resolved; the detail holds the choice."""
    PUT_OFF = "put-off"
    """Not injected: the process of a chosen node is held by a fault that is open. It is tried again."""
    INJECTED = "injected"
    VERIFIED = "verified"
    NOT_VERIFIED = "not-verified"
    REAPPLIED = "reapplied"
    """A node had restarted while the fault was open."""
    UNDONE = "undone"
    """Taken back; whether the cluster is whole again is seen later."""
    HEALED = "healed"
    FAILED = "failed"


SAMPLES = pa.schema(
    [
        pa.field("at_ns", pa.int64(), nullable=False),
        pa.field("broker", pa.int32(), nullable=False),
        pa.field("answered", pa.bool_(), nullable=False),
        pa.field("controller", pa.int32()),
        pa.field("topic", pa.string()),
        pa.field("partition", pa.int32()),
        pa.field("leader", pa.int32()),
        pa.field("leader_epoch", pa.int32()),
        pa.field("isr", pa.list_(pa.int32())),
        pa.field("log_start_offset", pa.int64()),
        pa.field("log_end_offset", pa.int64()),
        pa.field("high_watermark", pa.int64()),
    ]
)
"""One row a broker asked and partition: that broker's own belief. A broker that did not answer leaves one row
with nulls. `log_*` are of the broker's own replica (null: it has none), `high_watermark` only from the
leader."""


ANSWERS = pa.schema(
    [
        pa.field("at_ns", pa.int64(), nullable=False),
        pa.field("ask", pa.string(), nullable=False),
        pa.field("round", pa.int32(), nullable=False),
        pa.field("place", pa.int32(), nullable=False),
        pa.field("broker", pa.int32(), nullable=False),
        pa.field("partition", pa.int32(), nullable=False),
        pa.field("question", pa.string(), nullable=False),
        pa.field("error", pa.string()),
        pa.field("number", pa.int64()),
        pa.field("detail", pa.string(), nullable=False),
    ]
)
"""One row a broker and question of an ask step. `ask` is the step's name, `round` counts from 0 where it asks
again and again, `place` is the question's in the step. `error` is Kafka's name for it, "NO_ANSWER" if none
came (null: no error); `number` the offset (of `leader`: the broker that leads) that it answered; `detail`
JSON."""


class RowSink(Protocol):
    """Anything that takes rows as dictionaries."""

    def append(self, row: dict[str, Any]) -> None: ...


SENDS_DIR = "sends"
READS_DIR = "reads"
TRANSACTIONS_DIR = "transactions"
COMMITTED_DIR = "committed"
LIVE_DIR = "live"
ASSIGNMENTS_DIR = "assignments"
COMMITS_DIR = "commits"
SAMPLES_DIR = "samples"
REPLICAS_DIR = "replicas"
ANSWERS_DIR = "answers"
CHECKPOINTS_DIR = "checkpoints"
FINDINGS_DIR = "findings"
OPEN_SENDS = "open.parquet"
FAULTS_FILE = "faults.parquet"
RUN_FILE = "run.json"
SUMMARY_FILE = "summary.json"
