"""Identity of values that Kafka's VerifiableProducer writes: text, "NUMBER" or "PREFIX.NUMBER".

The prefix is the producer (0 without one), the number is its seq. Such a value contains neither a run nor a
checksum: a record of another run, or one whose digits were changed, cannot be distinguished from ours. Keys
are text too.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from crc32c import crc32c

from workloads.record.identity import OK, UNDECODABLE, Decoded

_FORM = r"^(?:(?P<producer>0|[1-9][0-9]{0,8})\.)?(?P<seq>0|[1-9][0-9]{0,17})$"
_PLAIN_DIGITS = 18
"""Numbers of up to this many digits fit into 63 bits."""


def decode_text(values: Sequence[bytes | None], run: int) -> Decoded:
    """As `workloads.record.identity.decode`, for text values; every value that decodes counts as one of this
    run."""
    count = len(values)
    fields = pc.extract_regex(pa.array(values, pa.binary()), pattern=_FORM)
    right = np.asarray(fields.is_valid().to_numpy(zero_copy_only=False), dtype=np.bool_)
    return Decoded(
        state=np.where(right, OK, UNDECODABLE).astype(np.uint8),
        run=np.where(right, run, 0).astype(np.int64),
        producer=_numbers(fields, "producer", right).astype(np.int32),
        seq=_numbers(fields, "seq", right),
        crc=np.fromiter((crc32c(value or b"") for value in values), dtype=np.uint32, count=count),
    )


def _numbers(fields: pa.StructArray, name: str, right: np.ndarray) -> np.ndarray:
    """A field as int64, 0 if the value has none."""
    digits = pc.struct_field(fields, name).cast(pa.string())
    some = pa.array(right) if len(right) else pa.array([], pa.bool_())
    present = pc.if_else(pc.and_(some, pc.not_equal(pc.fill_null(digits, ""), "")), digits, "0")
    return np.asarray(present.cast(pa.int64()).to_numpy(zero_copy_only=False), dtype=np.int64)


def key_id(key: str | bytes | None) -> int | None:
    """The key id of a key: its number if it is a decimal number in its shortest form, else 62 bits of its
    hash."""
    if key is None:
        return None
    raw = key.encode(errors="surrogatepass") if isinstance(key, str) else key
    if raw.isdigit() and len(raw) <= _PLAIN_DIGITS and (raw == b"0" or not raw.startswith(b"0")):
        return int(raw)
    return int.from_bytes(blake2b(raw, digest_size=8).digest(), "big") >> 2
