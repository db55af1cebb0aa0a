"""The journals of a run: their files in the run folder, their columns, and the values these can have.

`harness.model.group_journal`, `harness.model.share_journal` and `harness.model.application_journal` define
more of them. Beside the journals a run folder contains `run.json` (what was run and how,
`harness.model.run.RunMeta`) and what a check found: `findings/` and `summary.json`.

Times are nanoseconds since the epoch by the harness's clock (`*_ns`); Kafka's own are milliseconds
(`*_ms`). All integers are signed.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Protocol

import pyarrow as pa

from harness.model.journal_format import (
    NS_MEANING,
    READER_MEANING,
    TOPIC_PARTITION,
    Column,
    define_journal,
    identity_columns,
)

UNREADABLE = (OSError, pa.ArrowException, UnicodeDecodeError)
"""Errors of reading or writing a journal whose file is damaged or missing, or whose disk is full."""

SCHEMA_VERSION = 2
"""Version of everything in a run folder; a check refuses folders of another version."""


class SendOutcome(StrEnum):
    """The outcome of one send, as far as the client knows."""

    ACKED = "acked"
    UNCONFIRMED = "unconfirmed"
    REJECTED = "rejected"
    INDETERMINATE = "indeterminate"


class ReadState(StrEnum):
    """What decoding a value from the log showed."""

    OK = "ok"
    """It decodes, its CRC is right, and this run wrote it."""
    FOREIGN = "foreign"
    """It decodes and its CRC is right, but it carries another run's id."""
    CORRUPT = "corrupt"
    """It starts with our magic, but the CRC does not match; the identity columns have what it claims."""
    UNDECODABLE = "undecodable"
    """It is not one of our values."""


class TxnOutcome(StrEnum):
    """The outcome of one transaction, as far as the client knows."""

    COMMITTED = "committed"
    ABORTED = "aborted"
    INDETERMINATE = "indeterminate"
    """A commit was requested and failed, or was never answered; the transaction may end either way. A
    transaction without a commit request is `aborted`, whatever the abort returned: Kafka cannot commit it
    (KIP-98). So is one whose commit was refused after another producer had taken its transactional.id."""


class FaultPhase(StrEnum):
    """Moments in the life of one injected fault."""

    DECIDED = "decided"
    AIMED = "aimed"
    """Its targets are resolved; the detail has the choice."""
    PUT_OFF = "put-off"
    """Not injected: an open fault stops the process of a chosen node. It is tried again."""
    INJECTED = "injected"
    VERIFIED = "verified"
    NOT_VERIFIED = "not-verified"
    REAPPLIED = "reapplied"
    """A node had restarted while the fault was open."""
    UNDONE = "undone"
    """Its effect was removed; whether the cluster has recovered is checked later."""
    HEALED = "healed"
    FAILED = "failed"


SENDS = define_journal(
    "sends/part-*.parquet",
    "One row per send, written when the send closed. `sends/open.parquet` exists only while a run goes on "
    "or after a crash. It has the same columns and holds the sends that were open; such a send is "
    "`indeterminate`, unless a part holds it too.",
    Column("producer", pa.int32(), "number of the producer, from 0"),
    Column("seq", pa.int64(), "number of the record, dense per producer from 0"),
    Column("topic", pa.string(), "topic"),
    Column("partition", pa.int32(), "partition it was sent to; -1: the client did not say"),
    Column("key", pa.int64(), "key id", "no key"),
    Column("size", pa.int32(), "bytes of the value"),
    Column("step", pa.int32(), "index of the write step in run.json's `steps`"),
    Column("sent_ns", pa.int64(), f"when it was handed to the client, {NS_MEANING}"),
    Column("outcome", pa.string(), "`acked`, `unconfirmed`, `rejected` or `indeterminate` (ARCHITECTURE.md)"),
    Column("closed_ns", pa.int64(), "when its report came, ns as above", "none came"),
    Column("offset", pa.int64(), "offset of the success report", "none was reported"),
    Column("error", pa.string(), "the client's name for the error", "no error"),
    Column("txn", pa.int64(), "number of the producer's transaction", "sent in none"),
    Column(
        "timestamp_ms",
        pa.int64(),
        "the record's own time, which the producer gave it, ms since the epoch",
        "the client took the time of the send, or the folder is from before this column",
    ),
)

TRANSACTIONS = define_journal(
    "transactions/part-*.parquet",
    "One row per transaction, written when it ended; only transactional producers have any. A "
    "transaction that was open when the harness was killed has no row.",
    Column("producer", pa.int32(), "number of the producer"),
    Column("txn", pa.int64(), "number of the transaction, dense per producer from 0"),
    Column("begun_ns", pa.int64(), f"when it began, {NS_MEANING}"),
    Column("ended_ns", pa.int64(), "when the commit or abort was answered, ns as above", "no answer came"),
    Column("asked", pa.string(), "what the client meant to do: `commit` or `abort`"),
    Column("outcome", pa.string(), "`committed`, `aborted`, or `indeterminate`: it may end either way"),
    Column("records", pa.int64(), "number of its rows in the sends journal"),
    Column("error", pa.string(), "the client's name for the error", "no error"),
    Column(
        "polled_from",
        pa.int64(),
        "`position`, in the journal of the producer's reader (`readers` in run.json), of the first record "
        "that it polled",
        "it polled none, or the folder is from before this column",
    ),
    Column("polled", pa.int64(), "number of records that it polled", "as above"),
)

READS = define_journal(
    "reads/part-*.parquet",
    "One row per record of the final read (read_uncommitted). `committed/` (a second final read, "
    "read_committed, of transactional runs) and `live/READER/` (the records that a live reader got during "
    "the faults) have the same columns.",
    Column("reader", pa.string(), f"{READER_MEANING}; `final` for the final read"),
    Column("topic", pa.string(), "topic"),
    Column("partition", pa.int32(), "partition it was read from"),
    Column("offset", pa.int64(), "its offset"),
    Column("leader_epoch", pa.int32(), "leader epoch of its batch", "the client does not say"),
    Column("timestamp_ms", pa.int64(), "the record's own timestamp, ms since the epoch", "it has none"),
    Column(
        "state",
        pa.string(),
        "`ok`: decodes and was written by this run; `foreign`: by another run; `corrupt`: its "
        "checksum is wrong; `undecodable`: none of our values",
    ),
    *identity_columns("value", "undecodable"),
    Column("key", pa.int64(), "key id", "no key, or not one of ours"),
    Column("value", pa.binary(), "the first 4096 bytes of a value that is not `ok`", "it is `ok`"),
    Column("read_ns", pa.int64(), f"when the client returned it, {NS_MEANING}"),
    Column(
        "session",
        pa.int32(),
        "of live readers: counts assignments and seeks from 0; within a session the offsets of a "
        "partition must rise",
        "final read",
    ),
    Column(
        "position",
        pa.int64(),
        "of live readers: counts the reader's records from 0 in the order in which it got them",
        "final read",
    ),
)

ADDED_COLUMNS = frozenset(
    {"kind", "asked_ns", "member", "polled_from", "polled", "timestamp_ms", "key_text", "commit_ms"}
)
"""Columns of sends, assignments, commits, committed offsets, transactions and ids that folders of this schema
version may lack: then they are null."""

FAULTS = define_journal(
    "faults.parquet",
    "One row per moment in the life of a fault.",
    Column("at_ns", pa.int64(), NS_MEANING),
    Column("fault", pa.string(), "name of the injection, such as `kill-1`"),
    Column("kind", pa.string(), "kind of the fault, such as `kill`"),
    Column(
        "phase",
        pa.string(),
        "`decided`, `aimed`, `put-off`, `injected`, `verified`, `not-verified`, `reapplied`, "
        "`undone`, `healed` or `failed`",
    ),
    Column("target", pa.string(), "the nodes that it hit, in words"),
    Column("detail", pa.string(), "the evidence, as JSON"),
)

SAMPLES = define_journal(
    "samples/part-*.parquet",
    "One row per broker and partition at each sampling moment (every 250 ms), as that broker reports it.",
    Column("at_ns", pa.int64(), NS_MEANING),
    Column("broker", pa.int32(), "node id of the broker that was asked"),
    Column("answered", pa.bool_(), "whether it answered; if not, all that follows is null"),
    Column("controller", pa.int32(), "node id of the active controller", "it knows none"),
    Column("topic", pa.string(), "topic", "it does not know it"),
    Column("partition", pa.int32(), "partition", "as above"),
    Column("leader", pa.int32(), "node id of the leader", "it knows none"),
    Column("leader_epoch", pa.int32(), "leader epoch", "as above"),
    Column("isr", pa.list_(pa.int32()), "node ids of the in-sync replicas", "as above"),
    Column("log_start_offset", pa.int64(), "of its own replica", "it has none"),
    Column("log_end_offset", pa.int64(), "of its own replica", "it has none"),
    Column("high_watermark", pa.int64(), "as the leader tells it", "this broker is not the leader"),
)

ANSWERS = define_journal(
    "answers/part-*.parquet",
    "One row per answer of a broker to a question of an ask step, or in a step `init_producer_id`. The "
    "journal has no rows if the experiment has no such step.",
    Column("at_ns", pa.int64(), f"when the brokers were asked, {NS_MEANING}"),
    Column("ask", pa.string(), "name of the step"),
    Column("round", pa.int32(), "from 0, where the step asks again and again"),
    Column("place", pa.int32(), "position of the question in the step, from 0"),
    Column("broker", pa.int32(), "node id of the broker that was asked"),
    Column("partition", pa.int32(), "partition it was asked about; -1: none"),
    Column("question", pa.string(), "the question's name, as experiment files have it"),
    Column("error", pa.string(), "Kafka's name for the error; `NO_ANSWER`: none came", "no error"),
    Column(
        "number",
        pa.int64(),
        "the offset that it answered; for `leader` the node id, for `init_producer_id` the epoch",
        "no number",
    ),
    Column("detail", pa.string(), "the rest of its answer, as JSON"),
)

CHECKPOINTS = define_journal(
    "checkpoints/part-*.parquet",
    "One row per entry of a checkpoint file of a broker whose replicas were read.",
    Column("broker", pa.int32(), "node id of the broker"),
    Column(
        "file",
        pa.string(),
        "the file's name: `replication-offset-checkpoint`, `recovery-point-offset-checkpoint`, "
        "`log-start-offset-checkpoint` or `leader-epoch-checkpoint`",
    ),
    *TOPIC_PARTITION,
    Column("leader_epoch", pa.int32(), "of leader-epoch-checkpoint", "another file"),
    Column(
        "offset",
        pa.int64(),
        "a high watermark, a recovery point, a log start offset, or where the epoch begins",
    ),
)

REPLICAS = define_journal(
    "replicas/part-*.parquet",
    "One row per record in a replica's own segment files, where these were read.",
    Column("broker", pa.int32(), "node id of the replica"),
    *TOPIC_PARTITION,
    Column("offset", pa.int64(), "offset; for a broken batch the offsets that it claims"),
    Column("leader_epoch", pa.int32(), "partition leader epoch of its batch"),
    Column("timestamp_ms", pa.int64(), "ms since the epoch", "the batch has none"),
    Column("control", pa.bool_(), "a control record: the end of a transaction, not data"),
    Column("state", pa.string(), "as in reads"),
    *identity_columns("value", "it names none"),
    Column(
        "crc", pa.int64(), "equal for records of equal value", "a control batch, or bytes that are no record"
    ),
)


class RowSink(Protocol):
    """Takes rows as dictionaries."""

    def append(self, row: dict[str, Any]) -> None: ...


SENDS_DIR = "sends"
READS_DIR = "reads"
TRANSACTIONS_DIR = "transactions"
COMMITTED_DIR = "committed"
LIVE_DIR = "live"
SAMPLES_DIR = "samples"
REPLICAS_DIR = "replicas"
ANSWERS_DIR = "answers"
CHECKPOINTS_DIR = "checkpoints"
FINDINGS_DIR = "findings"
OPEN_SENDS = "open.parquet"
FAULTS_FILE = "faults.parquet"
RUN_FILE = "run.json"
SUMMARY_FILE = "summary.json"
OUTCOME_FILE = "outcome.json"
"""Beside a run of a campaign that is over; of a matrix it has the run's `labels`, its levels on the axes."""
SET_ASIDE_PREFIX = "cut-short-"
"""Prefix of the names of folders that a resumed campaign has set aside."""
