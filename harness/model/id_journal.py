"""The journals of the ids that a user's records have of their own (an order number, say), and of keys."""

from __future__ import annotations

import pyarrow as pa

from harness.model.journal_format import TOPIC_PARTITION, Column, define_journal

SENT_IDS = define_journal(
    "ids/sent/part-*.parquet",
    "One row per send of a producer of the user's own whose record has an id (`own: {id: ...}`) or a key.",
    Column("producer", pa.int32(), "number of the producer"),
    Column("seq", pa.int64(), "number of the record"),
    Column("id", pa.string(), "the id", "it has none"),
    Column(
        "key_text",
        pa.string(),
        "the key: its text, or the hexadecimal digits of bytes that are none, such as `0x00ff`",
        "it has none, or the folder is from before this column",
    ),
)

LOG_IDS = define_journal(
    "ids/log/part-*.parquet",
    "One row per record of the final read (read_uncommitted) that has an id.",
    *TOPIC_PARTITION,
    Column("offset", pa.int64(), "its offset"),
    Column("id", pa.string(), "the id"),
)

SENT_IDS_DIR = "ids/sent"
LOG_IDS_DIR = "ids/log"
