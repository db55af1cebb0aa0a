"""The journals of consumer groups: which partitions their members had, which offsets they committed, and what
brokers answered about committed offsets."""

from __future__ import annotations

import pyarrow as pa

from harness.model.journal_format import (
    ASKED_AND_ANSWERED,
    NS_MEANING,
    READER_MEANING,
    TOPIC_PARTITION,
    Column,
    define_journal,
)

_MEMBER = "member id that the group's coordinator knows the reader by"

ASSIGNMENTS = define_journal(
    "assignments/part-*.parquet",
    "One row per partition that was assigned to a live reader or taken from it.",
    Column("reader", pa.string(), READER_MEANING),
    Column("session", pa.int32(), "the session that begins or ends with it"),
    Column("at_ns", pa.int64(), NS_MEANING),
    Column("event", pa.string(), "`assigned`, `revoked` or `lost`"),
    *TOPIC_PARTITION,
    Column("offset", pa.int64(), "where reading begins", "not known"),
    Column("member", pa.string(), _MEMBER, "not known, or the folder is from before this column"),
)

COMMITS = define_journal(
    "commits/part-*.parquet",
    "One row per offset that a live reader committed or tried to commit. Commits that the client makes by "
    "itself are included if it reports them, and so are offsets that go into a transaction.",
    Column("reader", pa.string(), READER_MEANING),
    Column("session", pa.int32(), "session of the reader"),
    Column("at_ns", pa.int64(), f"when it was answered or given up, {NS_MEANING}"),
    *TOPIC_PARTITION,
    Column("offset", pa.int64(), "the next offset that its group would read"),
    Column(
        "error",
        pa.string(),
        "the client's name for the error; `NO_ANSWER`: the client ended first; of a transaction `ABORTED`, "
        "or `INDETERMINATE`: it may end either way",
        "committed",
    ),
    Column(
        "kind",
        pa.string(),
        "`request`: the application called for it; `auto`: the client made it by itself; `transaction`: "
        "offsets that were committed or aborted with a transaction (KIP-447); `alone`: a raw request for a "
        "group without members, which has the reader's name",
        "the folder is from before this column",
    ),
    Column(
        "asked_ns",
        pa.int64(),
        "when the client was called for it, or for the end of the transaction, ns as above",
        "not known, as for `auto`",
    ),
    Column("member", pa.string(), _MEMBER, "as in assignments"),
)

OFFSETS = define_journal(
    "offsets/part-*.parquet",
    "One row per answer about a committed offset of a group of the run. Coordinators are asked after commits "
    "were answered, after a coordinator moved, and at the end; an answer that repeats the one before it is "
    "left out, except at the end. The end also has a row per record of these groups in each replica's own "
    "files of `__consumer_offsets`.",
    Column("group", pa.string(), "group.id"),
    *TOPIC_PARTITION,
    *ASKED_AND_ANSWERED,
    Column(
        "source",
        pa.string(),
        "`fetch`: the group's coordinator answered (OffsetFetch); `logged`: a record in the files of the "
        "replica on `broker`; `logged-transaction`: such a record, written as part of a transaction",
    ),
    Column("broker", pa.int32(), "node id of the broker that answered, or whose file it is"),
    Column("offset", pa.int64(), "the committed offset", "the group has none; `logged`: a tombstone"),
    Column("leader_epoch", pa.int32(), "leader epoch of the commit (KIP-320)", "the commit has none"),
    Column("log_offset", pa.int64(), "the record's own offset in `__consumer_offsets`", "`fetch`"),
    Column("error", pa.string(), "Kafka's name for the error: the offset is not known", "no error"),
    Column(
        "commit_ms",
        pa.int64(),
        "when it was committed, ms since the epoch by the coordinator's clock",
        "`fetch`, or the folder is from before this column",
    ),
)

ASSIGNMENTS_DIR = "assignments"
COMMITS_DIR = "commits"
OFFSETS_DIR = "offsets"
