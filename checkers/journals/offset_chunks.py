"""Sets of offsets, 64 to a row: `chunk` is the offset divided by 64, and each bit of `bits` one offset.

A partition's log is nearly dense, so a set of a million offsets has some 16,000 rows, which are cheap to
join, and two sets are compared and subtracted bit by bit, exactly.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

OFFSET_CHUNK_BITS = 6
_BITS = (1 << OFFSET_CHUNK_BITS) - 1


def chunk_of(offset: Column) -> Column:
    """The chunk (bigint) in which an offset is."""
    return F.shiftright(offset, OFFSET_CHUNK_BITS)


def bit_in_chunk(offset: Column) -> Column:
    """The number of an offset in its chunk (bigint), from 0 to 63."""
    return offset.bitwiseAND(_BITS)


def bits_of(offset: Column) -> Column:
    """The set that holds this offset alone, in its chunk (bigint)."""
    return _left(F.lit(1).cast("bigint"), bit_in_chunk(offset))


def offset_chunks(rows: DataFrame, *keys: str) -> DataFrame:
    """The offsets of the rows (with `offset`) as sets: the keys, `chunk` and `bits` (bigint)."""
    offset = F.col("offset")
    return rows.groupBy(*keys, chunk_of(offset).alias("chunk")).agg(F.bit_or(bits_of(offset)).alias("bits"))


def bits_between(chunk: Column, low: Column, high: Column) -> Column:
    """The offsets of [low, high] (bigint) in a chunk that has at least one of them."""
    every = F.lit(-1).cast("bigint")
    from_low = F.when(chunk == chunk_of(low), _left(every, bit_in_chunk(low))).otherwise(every)
    # Two shifts, since a shift by 64 is one by 0.
    above = _left(_left(every, bit_in_chunk(high)), F.lit(1))
    to_high = F.when(chunk == chunk_of(high), F.bitwise_not(above)).otherwise(every)
    return from_low.bitwiseAND(to_high)


def with_runs(chunks: DataFrame) -> DataFrame:
    """The sets (with `chunk` and `bits`) as runs of consecutive offsets, none of which goes beyond its chunk:
    the other columns, `start` and `end` (bigint, the first and the last offset)."""
    numbers = F.sequence(F.lit(0), F.lit(_BITS))

    def holds(number: Column) -> Column:
        return F.call_function("shiftright", "bits", number.cast("int")).bitwiseAND(1) == 1

    begins = F.filter(numbers, lambda bit: holds(bit) & ((bit == 0) | ~holds(bit - 1)))
    ends = F.filter(numbers, lambda bit: holds(bit) & ((bit == _BITS) | ~holds(bit + 1)))
    others = [name for name in chunks.columns if name not in ("chunk", "bits")]
    runs = chunks.select(*others, "chunk", begins.alias("begins"), ends.alias("ends"))
    runs = runs.select(*others, "chunk", F.inline(F.arrays_zip("begins", "ends")).alias("begin", "end_bit"))
    first = F.shiftleft("chunk", OFFSET_CHUNK_BITS)
    return runs.select(
        *others, (first + F.col("begin")).alias("start"), (first + F.col("end_bit")).alias("end")
    )


def _left(number: Column, by: Column) -> Column:
    """`shiftleft` by a column (`pyspark.sql.functions` knows it by a constant only)."""
    return F.call_function("shiftleft", number, by.cast("int"))
