"""The journals of applications under test: their outputs, and what happened to their instances."""

from __future__ import annotations

import pyarrow as pa

from harness.model.journal_format import NS_MEANING, TOPIC_PARTITION, Column, define_journal, identity_columns

OUTPUTS = define_journal(
    "outputs/part-*.parquet",
    "One row per record of an application's output and input that made it; one row for an output that "
    "identifies no input. Only runs with an `application` have this journal.",
    Column("topic", pa.string(), "output topic, or the table's path below the application's state folder"),
    Column("partition", pa.int32(), "partition; of a table the number of the file"),
    Column("offset", pa.int64(), "offset; of a table the number of the row in its file"),
    Column("leader_epoch", pa.int32(), "leader epoch of its batch", "a table, or the client does not say"),
    Column("timestamp_ms", pa.int64(), "the record's own timestamp, ms since the epoch", "it has none"),
    Column("part", pa.int32(), "position of the input among the inputs that made this output, from 0"),
    Column("parts", pa.int32(), "number of inputs that made this output"),
    Column(
        "state",
        pa.string(),
        "of the input's identity: `ok`, `foreign`, `corrupt` and `undecodable` as in reads; `unmapped`: the "
        "output identifies no input",
    ),
    *identity_columns("identity", "it names none"),
    Column("key", pa.int64(), "key id", "no key, or not one of ours"),
    Column(
        "value", pa.binary(), "the first 4096 bytes of the output's value if the state is not `ok`", "`ok`"
    ),
    Column("error", pa.string(), "what the identity function raised", "nothing"),
    Column("read_ns", pa.int64(), f"when it was read, {NS_MEANING}"),
    Column("committed", pa.bool_(), "whether readers of committed records get it too"),
)

APPLICATION_EVENTS = define_journal(
    "application/part-*.parquet",
    "One row per event in the life of an application's instance. Only runs with an `application` have this "
    "journal.",
    Column("at_ns", pa.int64(), NS_MEANING),
    Column("instance", pa.int32(), "number of the instance, from 0"),
    Column(
        "event",
        pa.string(),
        "`started`, `ready`, `exited` (by itself), `killed`, `stopped`, `restarted`, `drained` or "
        "`checkpoint`",
    ),
    Column("detail", pa.string(), "process id, exit code, offsets of the checkpoint and so on, as JSON"),
)

HANDLER_FAILURES = define_journal(
    "handler-failures/part-*.parquet",
    "One row per record on which the handler of an application has failed. Only runs with an `application` "
    "of `output: {table: deliveries}` have this journal.",
    Column("at_ns", pa.int64(), NS_MEANING),
    Column("member", pa.int32(), "number of its file of deliveries, as `partition` of its outputs"),
    *TOPIC_PARTITION,
    Column("offset", pa.int64(), "offset of the record"),
    Column("error", pa.string(), "the program's name for the error", "it has none"),
)

OUTPUTS_DIR = "outputs"
APPLICATION_DIR = "application"
HANDLER_FAILURES_DIR = "handler-failures"
UNMAPPED = "unmapped"
"""State of an output that maps to no input."""
