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
from dataclasses import dataclass, fields
from functools import lru_cache
from random import Random

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from crc32c import crc32c

from harness.model.journal import ReadState

MAGIC = 0x4B434831
PREFIX = 28
"""Bytes before the payload: the size of the smallest value."""
MAX_RUN = 2**63 - 1
MAX_PRODUCER = 2**31 - 1

STATES: tuple[ReadState, ...] = (ReadState.OK, ReadState.FOREIGN, ReadState.CORRUPT, ReadState.UNDECODABLE)
"""The meaning of the codes in `Decoded.state`: a code is an index into this tuple."""
OK, FOREIGN, CORRUPT, UNDECODABLE = range(4)

HEAD = struct.Struct(">IQIQ")
"""What precedes the checksum."""
DTYPE = np.dtype([("magic", ">u4"), ("run", ">i8"), ("producer", ">i4"), ("seq", ">i8"), ("crc", ">u4")])
"""All fields before the payload."""
_WHOLE = struct.Struct(">IQIQI")
_KEY = struct.Struct(">q")
_SEQ_BYTES = 8
_BLANK = bytes(PREFIX)
# A power of two, and an odd stride: consecutive records get different payloads, so that a value composed of
# parts of two records does not pass its CRC because their payloads are equal.
_POOL = 4096
_STRIDE = 97
_SHORT = 1024
"""Bytes of a value up to which copying it whole costs less than taking its head out of it."""
_MIN_BULK = 64
"""Fewer values than this are built faster one at a time."""
LARGEST_PAYLOAD = 4096
"""In bytes. For larger payloads the tables of bulk values would cost more than they save."""

_Table = npt.NDArray[np.uint32]


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
        self._bulk: _BulkValues | None = None

    def __call__(self, seq: int) -> bytes:
        """The value of record `seq`, `size` bytes."""
        start = seq * _STRIDE & (_POOL - 1)
        payload = self._pool[start : start + self._payload]
        crc = crc32c(HEAD.pack(MAGIC, self._run, self._producer, seq) + payload)
        return _WHOLE.pack(MAGIC, self._run, self._producer, seq, crc) + payload

    def build_many(self, first: int, count: int) -> list[bytes]:
        """The values of records `first`, `first + 1`, ...: the same as one at a time, but faster."""
        if count < _MIN_BULK or self._payload > LARGEST_PAYLOAD:
            return [self(seq) for seq in range(first, first + count)]
        if self._bulk is None:
            self._bulk = _BulkValues(self._run, self._producer, self._pool, self._payload)
        return self._bulk(first, count)


def _from_bits(columns: list[int]) -> _Table:
    """The values of a linear map for each byte, from its values for each bit."""
    table = np.zeros(256, dtype=np.uint32)
    for bit, column in enumerate(columns):
        table[(np.arange(256) >> bit & 1).astype(bool)] ^= np.uint32(column)
    return table


@lru_cache(maxsize=64)
def _through_zeros(count: int) -> tuple[_Table, ...]:
    """For each byte of a CRC, lowest first: its contribution to the CRC after `count` more zero bytes."""
    zeros = bytes(count)
    from_nothing = crc32c(zeros, 0)
    return tuple(
        _from_bits([crc32c(zeros, 1 << (8 * byte + bit)) ^ from_nothing for bit in range(8)])
        for byte in range(4)
    )


@lru_cache(maxsize=1)
def _of_seq() -> tuple[_Table, ...]:
    """For each byte of seq, lowest first: its contribution to the CRC of seq's eight bytes."""
    nothing = crc32c(bytes(_SEQ_BYTES), 0)

    def of(byte: int, bit: int) -> int:
        return crc32c((1 << (8 * byte + bit)).to_bytes(_SEQ_BYTES, "big"), 0) ^ nothing

    return tuple(_from_bits([of(byte, bit) for bit in range(8)]) for byte in range(_SEQ_BYTES))


class _BulkValues:
    """Builds many consecutive values of one producer with numpy: four times as fast as one at a time.
    Payloads are slices of `pool`, of `size` bytes.

    The checksums use that a CRC is linear: for strings a and b of equal length crc(a, start) ^ crc(b, start)
    depends on a ^ b alone. So the CRC of a payload that follows an identity is the XOR of two parts: the CRC
    of the payload alone, which is known for each of the few payloads; and the CRC of the identity continued
    over as many zero bytes as the payload has, which takes one table look-up for each of its four bytes.
    Likewise each byte of seq has a table.
    """

    def __init__(self, run: int, producer: int, pool: bytes, size: int) -> None:
        self._run, self._producer = run, producer
        self._payloads = (
            np.lib.stride_tricks.sliding_window_view(np.frombuffer(pool, np.uint8), size) if size else None
        )
        self._payload_crc = np.array(
            [crc32c(pool[at : at + size], 0) for at in range(_POOL)], dtype=np.uint32
        )
        before_seq = struct.pack(">IQI", MAGIC, run, producer)
        self._fixed_crc = np.uint32(crc32c(bytes(_SEQ_BYTES), crc32c(before_seq)))
        self._zeros = _through_zeros(size)
        self._length = PREFIX + size

    def __call__(self, first: int, count: int) -> list[bytes]:
        """The values of seq `first`, `first + 1`, ..."""
        seq = np.arange(first, first + count, dtype=np.int64)
        start = seq * _STRIDE & (_POOL - 1)
        crc = np.full(count, self._fixed_crc, dtype=np.uint32)
        rest = seq
        for table in _of_seq()[: ((first + count).bit_length() + 7) // 8]:
            crc ^= table[rest & 0xFF]
            rest = rest >> 8
        whole = self._payload_crc[start]
        for byte, table in enumerate(self._zeros):
            whole ^= table[crc >> np.uint32(8 * byte) & np.uint32(0xFF)]
        head = np.empty(count, dtype=DTYPE)
        head["magic"], head["run"], head["producer"] = MAGIC, self._run, self._producer
        head["seq"], head["crc"] = seq, whole
        rows = np.empty((count, self._length), dtype=np.uint8)
        rows[:, :PREFIX] = head.view(np.uint8).reshape(count, PREFIX)
        if self._payloads is not None:
            rows[:, PREFIX:] = self._payloads[start]
        # Of a column of void items, tolist() makes bytes, four times as fast as slices.
        values: list[bytes] = rows.view(f"V{self._length}").ravel().tolist()
        return values


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

    def replace(self, indexes: Sequence[int], others: Decoded) -> None:
        """Put the columns of `others` where these indexes are."""
        for field in fields(self):
            getattr(self, field.name)[indexes] = getattr(others, field.name)

    def set_known(self, index: int, run: int, producer: int, seq: int) -> None:
        """Say of one value that it is this record, for reasons of one's own."""
        self.state[index], self.run[index], self.producer[index], self.seq[index] = OK, run, producer, seq


def _crc_of(value: bytes) -> int:
    return int(crc32c(value[:24] + value[PREFIX:]))


def decode(values: Sequence[bytes | None], run: int) -> Decoded:
    """Decode values of any size, or None; their content never raises. Values of another run than `run` are
    `foreign`.

    numpy extracts the fields. The checksum is one C call per value: measured to be faster than numpy working
    on single bytes.
    """
    count = len(values)
    joined = b"".join([v[:PREFIX] if v is not None and len(v) >= PREFIX else _BLANK for v in values])
    heads = np.frombuffer(joined, dtype=DTYPE)
    ours = heads["magic"] == MAGIC
    claimed = heads["crc"].astype(np.uint32)
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
    state[right & (heads["run"] == run)] = OK
    for index in np.flatnonzero(state != OK).tolist():
        claimed[index] = crc32c(values[index] or b"")
    return Decoded(
        state=state,
        run=np.where(ours, heads["run"], 0).astype(np.int64),
        producer=np.where(ours, heads["producer"], 0).astype(np.int32),
        seq=np.where(ours, heads["seq"], 0).astype(np.int64),
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
    return np.frombuffer(heads, dtype=DTYPE)["seq"].astype(np.int64)


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
