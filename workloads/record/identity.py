"""Record identity: which run, producer and seq a value belongs to, and whether it is intact.

Layout of a value, big endian:

    offset  size  field
    0       4     magic
    4       8     run, a 63-bit number
    12      4     producer
    16      8     seq, dense per producer from 0
    24      4     CRC-32C of bytes 0..23 followed by the payload
    28      -     payload

Keys are the key id as 8 bytes, signed, big endian.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from crc32c import crc32c

from harness.model.journal import ReadState
from workloads.record.bulk_values import LARGEST_PAYLOAD, BulkValues

MAGIC = 0x4B434831
PREFIX = 28
"""Bytes before the payload: the size of the smallest value."""
MAX_RUN = 2**63 - 1
MAX_PRODUCER = 2**31 - 1

STATES: tuple[ReadState, ...] = (
    ReadState.OK,
    ReadState.FOREIGN,
    ReadState.CORRUPT,
    ReadState.UNDECODABLE,
)
"""The meaning of the codes in `Decoded.state`: a code is an index into this tuple."""
OK, FOREIGN, CORRUPT, UNDECODABLE = range(4)

_HEAD = struct.Struct(">IQIQ")
_WHOLE = struct.Struct(">IQIQI")
_KEY = struct.Struct(">q")
_DTYPE = np.dtype([("magic", ">u4"), ("run", ">i8"), ("producer", ">i4"), ("seq", ">i8"), ("crc", ">u4")])
_BLANK = bytes(PREFIX)
# A power of two, and an odd stride: consecutive records get different payloads, so that a value composed of
# parts of two records does not pass its CRC because their payloads are equal.
_POOL = 4096
_STRIDE = 97
_SHORT = 1024
"""Bytes of a value up to which copying it whole costs less than taking its head out of it."""
_MIN_BULK = 64
"""Fewer values than this are built faster one at a time."""


class ValueBuilder:
    """Builds the values of one producer; threads must not share it.

    The payload is a slice of pseudo-random bytes drawn from `seed`; seq determines where it begins. The same
    arguments give the same bytes. `size` is in bytes.

    Raises:
        ValueError: size below `PREFIX`, or run or producer outside their range.
    """

    def __init__(self, run: int, producer: int, size: int, seed: int) -> None:
        if size < PREFIX:
            raise ValueError(f"a value needs at least {PREFIX} bytes for its identity, got {size}")
        if not 0 <= run <= MAX_RUN:
            raise ValueError(f"run must be between 0 and 2^63 - 1, got {run}")
        if not 0 <= producer <= MAX_PRODUCER:
            raise ValueError(f"producer must be between 0 and 2^31 - 1, got {producer}")
        self.size = size
        self._run = run
        self._producer = producer
        self._payload = size - PREFIX
        self._pool = Random(seed).randbytes(_POOL + self._payload)
        self._bulk: BulkValues | None = None

    def __call__(self, seq: int) -> bytes:
        """The value of record `seq`, `size` bytes."""
        start = seq * _STRIDE & (_POOL - 1)
        payload = self._pool[start : start + self._payload]
        crc = crc32c(_HEAD.pack(MAGIC, self._run, self._producer, seq) + payload)
        return _WHOLE.pack(MAGIC, self._run, self._producer, seq, crc) + payload

    def build_many(self, first: int, count: int) -> list[bytes]:
        """The values of records `first`, `first + 1`, ...: the same as one at a time, but faster."""
        if count < _MIN_BULK or self._payload > LARGEST_PAYLOAD:
            return [self(seq) for seq in range(first, first + count)]
        if self._bulk is None:
            self._bulk = BulkValues(
                MAGIC,
                self._run,
                self._producer,
                pool=self._pool,
                start_count=_POOL,
                stride=_STRIDE,
                size=self._payload,
            )
        return self._bulk(first, count)


@dataclass(frozen=True, slots=True)
class Decoded:
    """Columns of decoded values, one element per value.

    `state` (uint8) indexes `STATES`. `run`, `seq` (int64) and `producer` (int32) hold what the value claims,
    0 if it is undecodable. `crc` (uint32) is the value's own checksum field if it is `ok`, else the CRC-32C
    of all its bytes: equal content has equal `crc`.
    """

    state: npt.NDArray[np.uint8]
    run: npt.NDArray[np.int64]
    producer: npt.NDArray[np.int32]
    seq: npt.NDArray[np.int64]
    crc: npt.NDArray[np.uint32]


def _crc_of(value: bytes) -> int:
    return int(crc32c(value[:24] + value[PREFIX:]))


def decode(values: Sequence[bytes | None], run: int) -> Decoded:
    """Decode values of any size, or None; their content never raises. Values of another run than `run` are
    `foreign`.

    numpy extracts the fields. The checksum is one C call per value: measured to be faster than numpy working
    on single bytes.
    """
    count = len(values)
    heads = b"".join([v[:PREFIX] if v is not None and len(v) >= PREFIX else _BLANK for v in values])
    fields = np.frombuffer(heads, dtype=_DTYPE)
    ours = fields["magic"] == MAGIC
    claimed = fields["crc"].astype(np.uint32)
    if ours.all():
        whole = np.fromiter((_crc_of(v) for v in values if v is not None), dtype=np.uint32, count=count)
    else:
        whole = np.zeros(count, dtype=np.uint32)
        for index in np.flatnonzero(ours).tolist():
            value = values[index]
            whole[index] = _crc_of(value) if value is not None else 0
    right = ours & (whole == claimed)
    state = np.full(count, UNDECODABLE, dtype=np.uint8)
    state[ours] = CORRUPT
    state[right] = FOREIGN
    state[right & (fields["run"] == run)] = OK
    for index in np.flatnonzero(state != OK).tolist():
        claimed[index] = crc32c(values[index] or b"")
    return Decoded(
        state=state,
        run=np.where(ours, fields["run"], 0).astype(np.int64),
        producer=np.where(ours, fields["producer"], 0).astype(np.int32),
        seq=np.where(ours, fields["seq"], 0).astype(np.int64),
        crc=claimed,
    )


def seq_of(values: Sequence[bytes]) -> npt.NDArray[np.int64]:
    """The seq (int64) of values that this process built itself, without any check."""
    size = len(values[0]) if values else 0
    if PREFIX <= size <= _SHORT:
        whole = b"".join(values)
        # Of equal size: the bytes of seq stand at equal distances. Faster than a slice of each value.
        if len(whole) == size * len(values) and len(set(map(len, values))) == 1:
            heads_of = np.dtype({"names": ["seq"], "formats": [">i8"], "offsets": [16], "itemsize": size})
            return np.frombuffer(whole, dtype=heads_of)["seq"].astype(np.int64)
    heads = b"".join([value[:PREFIX] for value in values])
    return np.frombuffer(heads, dtype=_DTYPE)["seq"].astype(np.int64)


def encode_key(key: int) -> bytes:
    """The 8 bytes of a key id."""
    return _KEY.pack(key)


def decode_keys(keys: Sequence[bytes | None]) -> pa.Array:
    """Key ids as an int64 Arrow array; null where there is no key or it is not 8 bytes long."""
    missing = np.fromiter((k is None or len(k) != 8 for k in keys), dtype=np.bool_, count=len(keys))
    if missing.all():
        return pa.nulls(len(keys), pa.int64())
    joined = b"".join([k if k is not None and len(k) == 8 else bytes(8) for k in keys])
    return pa.array(np.frombuffer(joined, dtype=">i8").astype(np.int64), mask=missing)
