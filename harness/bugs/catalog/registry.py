"""Every known bug, in order."""

from __future__ import annotations

from harness.bugs.catalog import (
    flink_35749,
    from_claims,
    kafka_15905,
    kafka_17754,
    kafka_18641,
    kafka_19012,
    kafka_19163,
    kafka_19479,
    kafka_19846,
    kafka_20634,
    kip_279,
    kip_890,
    kip_903,
    librdkafka_4844,
)
from harness.bugs.model import Bug

BUGS: tuple[Bug, ...] = (
    from_claims.LOSS,
    from_claims.DIVERGENCE,
    kip_279.BUG,
    from_claims.LAST_STANDING,
    kip_903.BUG,
    kafka_17754.BUG,
    kip_890.BUG,
    kafka_19012.BUG,
    kafka_19479.BUG,
    kafka_15905.BUG,
    flink_35749.BUG,
    librdkafka_4844.BUG,
    kafka_19163.BUG,
    kafka_20634.BUG,
    kafka_19846.BUG,
    kafka_18641.BUG,
)
