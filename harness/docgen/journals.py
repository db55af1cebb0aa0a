"""The tables of `docs/journals.md`: every journal's columns, from the schemas themselves.

    python -m harness.docgen.journals --write

What a column means is said here; names, types and whether a column can be null come from
`harness.model.journal`, so that the page cannot say anything else. A column without a meaning is refused.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from harness.model.journal import (
    ANSWERS,
    ASSIGNMENTS,
    CHECKPOINTS,
    COMMITS,
    FAULTS,
    READS,
    REPLICAS,
    SAMPLES,
    SCHEMA_VERSION,
    SENDS,
    TRANSACTIONS,
)

PAGE = Path(__file__).resolve().parents[2] / "docs" / "journals.md"
BEGIN, END = "<!-- columns:begin -->", "<!-- columns:end -->"


@dataclass(frozen=True, slots=True)
class JournalDoc:
    """One journal of a run folder. `columns` says what each column means, and what null means in it."""

    path: str
    row: str
    schema: pa.Schema
    columns: dict[str, str]


_TOPIC = "topic"
_READER = "name of the reader; of live readers one of `readers` in run.json"
_NS = "ns since the epoch, by the clock of the machine that wrote the journal"

JOURNALS: tuple[JournalDoc, ...] = (
    JournalDoc(
        "sends/part-*.parquet",
        "a send, once it closed. `sends/open.parquet`, only there while running or after a crash, has the "
        "same columns and holds sends that were still open: unless a part holds it too, such a send is "
        "`indeterminate`",
        SENDS,
        {
            "producer": "number of the producer, from 0",
            "seq": "number of the record, dense per producer from 0",
            "topic": _TOPIC,
            "partition": "partition it was sent to; -1: the client did not say",
            "key": "key id. Null: no key",
            "size": "bytes of the value",
            "step": "index of the write step in run.json's `steps`",
            "sent_ns": f"when it was handed to the client, {_NS}",
            "outcome": "`acked`, `unconfirmed`, `rejected` or `indeterminate` (ARCHITECTURE.md)",
            "closed_ns": "when its report came, ns as above. Null: none came",
            "offset": "offset of the success report. Null: none was reported",
            "error": "the client's name for the error. Null: no error",
            "txn": "number of the producer's transaction. Null: sent in none",
        },
    ),
    JournalDoc(
        "transactions/part-*.parquet",
        "a transaction, once it ended; only of transactional producers",
        TRANSACTIONS,
        {
            "producer": "number of the producer",
            "txn": "number of the transaction, dense per producer from 0",
            "begun_ns": f"when it began, {_NS}",
            "ended_ns": "when the commit or abort was answered, ns as above. Null: no answer came",
            "asked": "what the client meant to do: `commit` or `abort`",
            "outcome": "`committed`, `aborted`, or `indeterminate`: it may end either way",
            "records": "how many rows of the sends journal belong to it",
            "error": "the client's name for the error. Null: no error",
        },
    ),
    JournalDoc(
        "reads/part-*.parquet",
        "a record of the final read, read_uncommitted. `committed/` (a second final read, read_committed, of "
        "transactional runs) and `live/READER/` (what a reader was given while the faults went on) have the "
        "same columns",
        READS,
        {
            "reader": f"{_READER}; `final` for the final read",
            "topic": _TOPIC,
            "partition": "partition it was read from",
            "offset": "its offset",
            "leader_epoch": "leader epoch of its batch. Null: the client does not say",
            "timestamp_ms": "the record's own timestamp, ms since the epoch. Null: it has none",
            "state": "`ok`: decodes and was written by this run; `foreign`: by another run; `corrupt`: its "
            "checksum is wrong; `undecodable`: none of our values",
            "run": "the run that the value names. Null: undecodable",
            "producer": "the producer that the value names. Null: undecodable",
            "seq": "the number that the value names. Null: undecodable",
            "key": "key id. Null: no key, or not one of ours",
            "value": "the first 4096 bytes of a value that is not `ok`. Null: it is `ok`",
            "read_ns": f"when the client gave it out, {_NS}",
            "session": "of live readers: counts assignments and seeks from 0; within a session the offsets "
            "of a partition must rise. Null: final read",
            "position": "of live readers: counts the reader's records from 0 in the order in which it got "
            "them. Null: final read",
        },
    ),
    JournalDoc(
        "assignments/part-*.parquet",
        "a partition that a live reader was given or lost",
        ASSIGNMENTS,
        {
            "reader": _READER,
            "session": "the session that begins or ends with it",
            "at_ns": _NS,
            "event": "`assigned`, `revoked` or `lost`",
            "topic": _TOPIC,
            "partition": "partition",
            "offset": "where reading begins. Null: not known",
        },
    ),
    JournalDoc(
        "commits/part-*.parquet",
        "an offset that a live reader committed, or tried to",
        COMMITS,
        {
            "reader": _READER,
            "session": "session of the reader",
            "at_ns": _NS,
            "topic": _TOPIC,
            "partition": "partition",
            "offset": "the next offset that its group would read",
            "error": "the client's name for the error. Null: committed",
        },
    ),
    JournalDoc(
        "faults.parquet",
        "a moment in the life of a fault",
        FAULTS,
        {
            "at_ns": _NS,
            "fault": "name of the injection, such as `kill-1`",
            "kind": "kind of the fault, such as `kill`",
            "phase": "`decided`, `aimed`, `put-off`, `injected`, `verified`, `not-verified`, `reapplied`, "
            "`undone`, `healed` or `failed`",
            "target": "the nodes that it hit, in words",
            "detail": "the evidence, as JSON",
        },
    ),
    JournalDoc(
        "samples/part-*.parquet",
        "a broker and partition at a sampling moment (every 250 ms): that broker's own belief",
        SAMPLES,
        {
            "at_ns": _NS,
            "broker": "node id of the broker that was asked",
            "answered": "whether it answered; if not, all that follows is null",
            "controller": "node id of the active controller. Null: it knows none",
            "topic": f"{_TOPIC}. Null: it does not know it",
            "partition": "partition. Null: as above",
            "leader": "node id of the leader. Null: it knows none",
            "leader_epoch": "leader epoch. Null: as above",
            "isr": "node ids of the in-sync replicas. Null: as above",
            "log_start_offset": "of its own replica. Null: it has none",
            "log_end_offset": "of its own replica. Null: it has none",
            "high_watermark": "as the leader tells it. Null: this broker is not the leader",
        },
    ),
    JournalDoc(
        "answers/part-*.parquet",
        "a broker's answer to a question of an ask step; without rows where there is no such step",
        ANSWERS,
        {
            "at_ns": f"when the brokers were asked, {_NS}",
            "ask": "name of the ask step",
            "round": "from 0, where the step asks again and again",
            "place": "place of the question in the step, from 0",
            "broker": "node id of the broker that was asked",
            "partition": "partition it was asked about",
            "question": "the question's name, as experiment files have it",
            "error": "Kafka's name for the error; `NO_ANSWER`: none came. Null: no error",
            "number": "the offset that it answered; of `leader` the node id. Null: no number",
            "detail": "all else that it answered, as JSON",
        },
    ),
    JournalDoc(
        "checkpoints/part-*.parquet",
        "an entry of a checkpoint file of a broker whose replicas were read",
        CHECKPOINTS,
        {
            "broker": "node id of the broker",
            "file": "the file's name: `replication-offset-checkpoint`, `recovery-point-offset-checkpoint`, "
            "`log-start-offset-checkpoint` or `leader-epoch-checkpoint`",
            "topic": _TOPIC,
            "partition": "partition",
            "leader_epoch": "of leader-epoch-checkpoint. Null: another file",
            "offset": "a high watermark, a recovery point, a log start offset, or where the epoch begins",
        },
    ),
    JournalDoc(
        "replicas/part-*.parquet",
        "a record in a replica's own segment files; only where these were read",
        REPLICAS,
        {
            "broker": "node id of the replica",
            "topic": _TOPIC,
            "partition": "partition",
            "offset": "offset; of a broken batch the offsets that it claims",
            "leader_epoch": "partition leader epoch of its batch",
            "timestamp_ms": "ms since the epoch. Null: the batch has none",
            "control": "a control record: the end of a transaction, not data",
            "state": "as in reads",
            "run": "as in reads",
            "producer": "as in reads",
            "seq": "as in reads",
            "crc": "equal for records of equal value. Null: a control batch, or bytes that are no record",
        },
    ),
)


def _type(kind: pa.DataType) -> str:
    return f"list of {kind.value_type}" if pa.types.is_list(kind) else str(kind)


def tables() -> str:
    """All journals as Markdown tables.

    Raises:
        ValueError: the meanings are not exactly those of a schema's columns.
    """
    parts = [f"Schema version {SCHEMA_VERSION}."]
    for journal in JOURNALS:
        if list(journal.columns) != journal.schema.names:
            raise ValueError(f"{journal.path}: {list(journal.columns)} is not {journal.schema.names}")
        lines = [f"### `{journal.path}`", "", f"One row {journal.row}.", ""]
        lines += ["| column | type | null | meaning |", "|---|---|---|---|"]
        for column in journal.schema:
            null = "yes" if column.nullable else "no"
            lines.append(
                f"| `{column.name}` | {_type(column.type)} | {null} | {journal.columns[column.name]} |"
            )
        parts.append("\n".join(lines))
    return "\n\n".join(parts)


def page(text: str) -> str:
    """The page with its tables made anew; what stands around them stays."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{tables()}\n{END}{after}"


def main() -> int:
    """Write the page (`--write`), or tell by the exit code whether it has drifted."""
    text = PAGE.read_text()
    wanted = page(text)
    if "--write" in sys.argv[1:]:
        PAGE.write_text(wanted)
        return 0
    return int(wanted != text)


if __name__ == "__main__":
    sys.exit(main())
