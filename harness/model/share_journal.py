"""The journals of share groups (KIP-932): what their members were given, where the groups began at the end,
and what happened to members and groups."""

from __future__ import annotations

import pyarrow as pa

from harness.model.journal_format import (
    ASKED_AND_ANSWERED,
    NS_MEANING,
    TOPIC_PARTITION,
    Column,
    define_journal,
    identity_columns,
)

_GROUP = "group.id of the share group, as the brokers know it"

DELIVERIES = define_journal(
    "deliveries/part-*.parquet",
    "One row per record that a member of a share group was given, written when its acknowledgement was "
    "answered or its client ended.",
    Column("member", pa.string(), "name of the member"),
    Column("session", pa.int32(), "number of the member's client, from 0: a killed one gets a successor"),
    Column("group", pa.string(), _GROUP),
    *TOPIC_PARTITION,
    Column("offset", pa.int64(), "its offset"),
    Column("delivery_count", pa.int32(), "how often it was delivered, as the broker counts", "not told"),
    Column("state", pa.string(), "as in reads"),
    *identity_columns("value", "undecodable"),
    Column("asked_ns", pa.int64(), f"the broker acquired it for the member no earlier, {NS_MEANING}"),
    Column("acquired_ns", pa.int64(), "when the client returned it (poll), ns as above"),
    Column(
        "acknowledgement", pa.string(), "`accept`, `release` or `reject`", "the client ended before it did"
    ),
    Column("acknowledged_ns", pa.int64(), "the acknowledgement was sent no earlier, ns as above", "as above"),
    Column("answered_ns", pa.int64(), "when it was answered, ns as above", "no answer came"),
    Column("error", pa.string(), "the client's name for the error of the answer", "no error, or no answer"),
)

SHARE_OFFSETS = define_journal(
    "share_offsets/part-*.parquet",
    "One row per answer about where a share group begins in a partition, asked while its members read the "
    "rest, and at the end. An answer that repeats the one before it is left out, except at the end.",
    Column("group", pa.string(), _GROUP),
    *TOPIC_PARTITION,
    *ASKED_AND_ANSWERED,
    Column("start_offset", pa.int64(), "all records below it are finished for the group", "it has none yet"),
    Column("lag", pa.int64(), "number of records that are not finished", "not told (before Kafka 4.2)"),
    Column("error", pa.string(), "Kafka's name for the error: the rest is not known", "no error"),
)

SHARE_EVENTS = define_journal(
    "share_events/part-*.parquet",
    "One row per event in the life of a member of a share group, or of the group.",
    Column("at_ns", pa.int64(), NS_MEANING),
    Column("group", pa.string(), _GROUP),
    Column("member", pa.string(), "name of the member", "the event is about the group"),
    Column("session", pa.int32(), "number of the member's client", "as above"),
    Column(
        "event",
        pa.string(),
        "`joined`: it subscribed; `closing`: it began to close; `killed`; `died`: it ended by itself; "
        "`paused`, `resumed`: its process was stopped and continued; `error`: the client reported one; "
        "`altered`: an administrator changed the group",
    ),
    Column("detail", pa.string(), "more about it, in words", "there is no more"),
)

DELIVERIES_DIR = "deliveries"
SHARE_OFFSETS_DIR = "share_offsets"
SHARE_EVENTS_DIR = "share_events"
