"""Which chunks of records need a look: all others hold ordinary records only.

An ordinary record was acknowledged once, at an offset, and read once, there, with its key
(`checkers.records.facts.ordinary`). Most records of most runs are. So before anything is joined, chunks of
64 consecutive sequence numbers of a producer are compared as a whole: the XOR of a hash of each acknowledged
send with that of a hash of each record that was read, and their numbers. The hash covers identity, topic,
partition, offset and key. A chunk is left out only if

- all of its sends were acknowledged with an offset, each once (counted exactly, with a bit per number), and
  none belongs to a transaction that was not committed;
- the final read, and that of committed records, hold as many rows, and the XORs of their hashes are equal;
- no live reader got a record of it that the final read does not hold at the same place.

That a chunk which differs is overlooked is a coincidence of one in 2^64; with a million such chunks in a run,
it would happen in one of 10^13 runs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from checkers.journals.footers import row_count
from checkers.journals.views import IDENTITY, Scratch, Views, readable
from checkers.records.facts import ordinary_send

SEQ_CHUNK_BITS = 6
"""A chunk has 2^6 sequence numbers, as many as a bigint has bits."""

CHUNK = ("producer", "chunk")
_PLACE = ("topic_partition", "offset")
_MOST_SELECTED = 0.5
"""If more than this share of all rows is in chunks that differ, all rows are looked at: selecting them would
cost more than it saves."""


@dataclass(frozen=True)
class Chunks:
    """The chunks that differ (None: most of them do, so every record is looked at).

    `differing` is their number; `repeated` is the number of sends that the journal holds more than once, less
    one each. `reads` are the rows of the final read in them whose identity can be trusted: the identity,
    `topic_partition`, `offset`, `leader_epoch` and `key`.
    """

    rows: DataFrame | None
    bits: int
    differing: int
    repeated: int
    reads: DataFrame

    def rows_to_check(self, rows: DataFrame) -> DataFrame:
        """The rows (with `producer` and `seq`) whose chunk differs."""
        if self.rows is None:
            return rows
        keyed = rows.withColumn("chunk", seq_chunk(self.bits))
        return keyed.join(F.broadcast(self.rows.select(*CHUNK)), list(CHUNK), "left_semi").drop("chunk")


def seq_chunk(bits: int) -> Column:
    """The chunk of a `seq`, which has 2^bits sequence numbers."""
    return F.shiftright("seq", bits)


def compare_chunks(views: Views, sends: DataFrame, scratch: Scratch, *, bits: int = SEQ_CHUNK_BITS) -> Chunks:
    """Compare all sends with all that was read; one pass over the journals.

    Args:
        sends: all sends, with `txn_outcome` (`checkers.records.facts`).
        bits: a chunk has 2^bits sequence numbers; at most 6.
    """
    differing = scratch.materialize("chunks", differing_chunks(views, sends, bits))
    totals = differing.agg(
        F.count("*").alias("differing"),
        F.coalesce(F.sum("rows"), F.lit(0)).alias("rows"),
        F.coalesce(F.sum("repeated"), F.lit(0)).alias("repeated"),
    ).collect()[0]
    everything = sum(row_count(views.files[name]) for name in ("sends", "opened", "final"))
    most = totals["rows"] > _MOST_SELECTED * everything
    reads = views.reads.where(readable()).select(*IDENTITY, *_PLACE, "leader_epoch", "key")
    chunks = Chunks(None if most else differing, bits, totals["differing"], totals["repeated"], reads)
    if most or not chunks.differing:
        return chunks
    # Several questions are asked about these few rows of a journal that may be long.
    return replace(chunks, reads=scratch.materialize("reads-to-check", chunks.rows_to_check(reads)))


def differing_chunks(views: Views, sends: DataFrame, bits: int) -> DataFrame:
    """The chunks that differ: `producer`, `chunk`, `rows` (rows of sends and final read) and `repeated`, all
    bigint but the producer (int)."""
    plain = ordinary_send(F.col("offset"), F.col("partition") < 0)
    place_in_chunk = F.col("seq").bitwiseAND((1 << bits) - 1).cast("int")
    bit = F.call_function("shiftleft", F.lit(1).cast("bigint"), place_in_chunk)
    reads = {_FINAL: views.reads}
    if views.files["committed"]:
        reads[_COMMITTED] = views.committed
    rows = _hashed(sends, bits, _SENT, F.when(plain, bit), F.when(~plain, bit))
    for number, read in reads.items():
        rows = rows.unionByName(_hashed(read.where(readable()), bits, number))
    source, no_bits = F.col("source"), F.lit(0).cast("bigint")
    acked_bits, other_bits = (F.coalesce(name, no_bits) for name in ("acked_bits", "other_bits"))
    sums = {
        "sent": F.count_if(source == _SENT),
        "acked_bits": F.bit_or("acked_bits"),
        "other_bits": F.bit_or("other_bits"),
    }
    differs = F.col("other_bits").isNotNull() | (F.bit_count(acked_bits) != F.col("sent"))
    for number in reads:
        sums[f"rows_{number}"] = F.count_if(source == number)
        differs |= F.col("sent") != F.col(f"rows_{number}")
        # A send counts for each read that should hold it, a row of a read against its own.
        mine = F.when(source.isin(_SENT, number), F.col("hash")) if len(reads) > 1 else F.col("hash")
        sums[f"hash_{number}"] = F.bit_xor(mine)
        differs |= F.coalesce(f"hash_{number}", F.lit(0)) != 0
    chunks = rows.groupBy(*CHUNK).agg(*(value.alias(name) for name, value in sums.items())).where(differs)
    chunks = chunks.select(
        *CHUNK,
        (F.col("sent") + F.col(f"rows_{_FINAL}")).alias("rows"),
        (F.col("sent") - F.bit_count(acked_bits.bitwiseOR(other_bits))).alias("repeated"),
    )
    if any(views.files["live"]):
        both = chunks.unionByName(_of_live(views, bits)).groupBy(*CHUNK)
        chunks = both.agg(F.max("rows").alias("rows"), F.max("repeated").alias("repeated"))
    return chunks


_SENT, _FINAL, _COMMITTED = range(3)


def _hashed(
    rows: DataFrame,
    bits: int,
    source: int,
    acked_bits: Column | None = None,
    other_bits: Column | None = None,
) -> DataFrame:
    """What the comparison needs of each row: its chunk, `source`, a hash, and of sends the bit of its
    number, in `acked_bits` if an ordinary record may be sent so, else in `other_bits`."""
    nothing = F.lit(None).cast("bigint")
    return rows.select(
        "producer",
        seq_chunk(bits).alias("chunk"),
        F.lit(source).alias("source"),
        (nothing if acked_bits is None else acked_bits).alias("acked_bits"),
        (nothing if other_bits is None else other_bits).alias("other_bits"),
        F.xxhash64(*IDENTITY, *_PLACE, "key").alias("hash"),
    )


def _of_live(views: Views, bits: int) -> DataFrame:
    """Chunks of records that a live reader got, and that the final read does not hold there.

    Readers may get a record never or several times, so their rows are compared one by one.
    """
    compared = [*IDENTITY, *_PLACE, "known_key"]
    # The hash of a key, which also stands for a record without one.
    known = F.xxhash64("key").alias("known_key")
    live = views.live.where(readable()).select(*IDENTITY, *_PLACE, known)
    final = views.reads.where(readable()).select(*IDENTITY, *_PLACE, known)
    odd = live.join(final, compared, "left_anti").select("producer", seq_chunk(bits).alias("chunk"))
    return odd.distinct().withColumns(dict.fromkeys(("rows", "repeated"), F.lit(0).cast("bigint")))
