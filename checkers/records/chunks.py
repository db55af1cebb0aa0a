"""Which chunks of records need a look: all others hold ordinary records only.

An ordinary record was acknowledged once, at an offset, and read once, there, with its key
(`checkers.records.facts.ordinary`). Most records of most runs are. So before anything is joined, chunks of
64 consecutive sequence numbers of a producer are compared as a whole: the XOR of a hash of each acknowledged
send with that of a hash of each record that was read, and their numbers. The hash covers identity, topic,
partition, offset and key. A chunk is left out only if

- each of its sends is in the journal once (counted exactly, with a bit per number);
- the XORs of the hashes of its sends, and of what the final read (and that of committed records) holds, are
  equal, where a send that was not acknowledged with an offset, or whose transaction was not committed, has
  the hash of no record: so each read holds every record once, or thrice, and so on;
- all of these have as many rows together as if each read held each record once;
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
    everything = sum(row_count(views.files[name]) for name in ("sends", "opened", "final", "committed"))
    most = totals["rows"] > _MOST_SELECTED * everything
    reads = views.reads.where(readable()).select(*IDENTITY, *_PLACE, "leader_epoch", "key")
    chunks = Chunks(None if most else differing, bits, totals["differing"], totals["repeated"], reads)
    if most or not chunks.differing:
        return chunks
    # Several questions are asked about these few rows of a journal that may be long.
    return replace(chunks, reads=scratch.materialize("reads-to-check", chunks.rows_to_check(reads)))


def differing_chunks(views: Views, sends: DataFrame, bits: int) -> DataFrame:
    """The chunks that differ: `producer`, `chunk`, `rows` (rows of sends and reads) and `repeated`, all
    bigint but the producer (int)."""
    plain = ordinary_send(F.col("offset"), F.col("partition") < 0)
    hashed = F.xxhash64(*IDENTITY, *_PLACE, "key")
    chunk = ("producer", seq_chunk(bits).alias("chunk"))
    place_in_chunk = F.col("seq").bitwiseAND((1 << bits) - 1).cast("int")
    bit = F.call_function("shiftleft", F.lit(1).cast("bigint"), place_in_chunk)
    sent = sends.select(*chunk, bit.alias("bit"), plain.alias("plain"), hashed.alias("hash"))
    # No read has the hash of what no ordinary record may be of.
    own_hash = F.when(F.col("plain"), F.col("hash")).otherwise(F.xxhash64("hash"))
    rows = sent.select(*CHUNK, "bit", F.lit(_SENT).alias("source"), own_hash.alias("hash"))
    reads = {_FINAL: views.reads}
    if views.files["committed"]:
        reads[_COMMITTED] = views.committed
    no_bit = F.lit(None).cast("bigint").alias("bit")
    for number, read in reads.items():
        read = read.where(readable())
        source = F.lit(number).alias("source")
        rows = rows.unionByName(read.select(*chunk, no_bit, source, hashed.alias("hash")))
    # Counted so because it is what engines count fastest.
    sums = {"rows": F.count("*"), "sent": F.count("bit"), "bits": F.bit_or("bit")}
    distinct = F.bit_count(F.coalesce("bits", F.lit(0).cast("bigint")))
    differs = (F.col("sent") != distinct) | (F.col("rows") != F.col("sent") * (1 + len(reads)))
    for number in reads:
        # A send counts for each read that should hold it, a row of a read against its own.
        of_read = F.col("source").isin(_SENT, number)
        sums[f"hash_{number}"] = F.bit_xor(
            F.when(of_read, F.col("hash")) if len(reads) > 1 else F.col("hash")
        )
        differs |= F.coalesce(f"hash_{number}", F.lit(0)) != 0
    chunks = rows.groupBy(*CHUNK).agg(*(value.alias(name) for name, value in sums.items())).where(differs)
    chunks = chunks.select(*CHUNK, "rows", (F.col("sent") - distinct).alias("repeated"))
    if any(views.files["live"]):
        both = chunks.unionByName(_of_live(views, bits)).groupBy(*CHUNK)
        chunks = both.agg(F.max("rows").alias("rows"), F.max("repeated").alias("repeated"))
    return chunks


_SENT, _FINAL, _COMMITTED = range(3)


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
