"""The built-in applications, one module each. A new one is a line in `_ALL`."""

from __future__ import annotations

from harness.application.built_in import BuiltIn
from harness.application.builtin.connect import CONNECT
from harness.application.builtin.failover import MIRRORMAKER_FAILOVER
from harness.application.builtin.flink import FLINK
from harness.application.builtin.kafka_streams import KAFKA_STREAMS
from harness.application.builtin.librdkafka import LIBRDKAFKA
from harness.application.builtin.spark import SPARK
from harness.model.did_you_mean import did_you_mean
from harness.model.errors import BadInput

_ALL: tuple[BuiltIn, ...] = (*SPARK, FLINK, KAFKA_STREAMS, *CONNECT, MIRRORMAKER_FAILOVER, LIBRDKAFKA)

BUILT_INS: dict[str, BuiltIn] = {one.name: one for one in _ALL}
"""Every built-in application by its name in experiment files."""


def find(name: str) -> BuiltIn:
    """The built-in application of this name.

    Raises:
        BadInput: there is none.
    """
    if name in BUILT_INS:
        return BUILT_INS[name]
    raise BadInput(
        f"there is no built-in application {name!r}",
        where="application.run.builtin",
        expected=f"one of {', '.join(BUILT_INS)}" if BUILT_INS else "a process or a container",
        next_step=did_you_mean(name, BUILT_INS, "correct the name: docs/how-to/applications.md lists them"),
    )
