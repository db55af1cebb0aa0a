"""When an application is ready, when it has nothing left to do, and when it floods its output."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping

from workloads.applications.application_spec import ApplicationSpec, DrainedWhen, ReadyWhen
from workloads.applications.container_instance import Instance
from workloads.applications.group_watch import UNKNOWN_ENDS, GroupWatch

MARGIN = 10_000
"""Outputs that no bound counts: a small input may be multiplied at first."""
_LEAST_ROW_BYTES = 1024
_MIB = 2**20


def describe_unready(when: ReadyWhen, instances: Iterable[Instance], group: GroupWatch) -> str | None:
    """What is still missing until an application is ready, in words; None: it is."""
    for instance in instances:
        if when.logged is not None and when.logged not in instance.log_since(instance.started_ns()):
            return f"{instance.name} has not printed {when.logged!r}"
        if when.runs is not None and time.time_ns() - instance.started_ns() < when.runs * 1e9:
            return f"{instance.name} has not run for {when.runs:g} s"
    return group.describe_inactive() if when.group is not None else None


class Drain:
    """Looks again and again whether an application has nothing left to do.

    `group` tells its lag, `output_size` is any value that changes when the output does, and `checkpoints`
    the offsets up to which its instances have processed the input, by partition.
    """

    def __init__(
        self,
        when: DrainedWhen,
        group: GroupWatch,
        output_size: Callable[[], object],
        checkpoints: Callable[[], Mapping[int, int]] | None,
    ) -> None:
        self._when, self._group = when, group
        self._output_size, self._checkpoints = output_size, checkpoints
        self._last: object = None
        self._since = time.monotonic()

    def missing(self) -> str | None:
        """What is left to do, in words; None: nothing."""
        when = self._when
        size = self._output_size()
        if size != self._last:
            self._last, self._since = size, time.monotonic()
        if when.lag is not None and (lag := self._group.describe_lag(when.lag)) is not None:
            return lag
        if when.checkpoint:
            done = {} if self._checkpoints is None else self._checkpoints()
            ends = self._group.ends()
            if len(ends) < self._group.partitions:
                return UNKNOWN_ENDS
            for partition, end in sorted(ends.items()):
                if done.get(partition, 0) < end:
                    return f"its checkpoint of partition {partition} is {done.get(partition, 0)} of {end}"
        if when.quiet is not None and time.monotonic() - self._since < when.quiet:
            return f"its output has not been quiet for {when.quiet:g} s"
        return None


def most_outputs(spec: ApplicationSpec, inputs: int) -> float:
    """The number of outputs from which on it floods its output."""
    return spec.flood * spec.output.per_input * inputs + MARGIN


def describe_topic_flood(spec: ApplicationSpec, inputs: int, written: int) -> str | None:
    """That an application floods its output topic, in words; None: it does not."""
    if written <= most_outputs(spec, inputs):
        return None
    return _killed(spec, f"it had written {written:,} records from {inputs:,}")


def describe_table_flood(
    spec: ApplicationSpec, inputs: int, written_bytes: int, value_bytes: int
) -> str | None:
    """That an application floods its table, in words; None: it does not.

    The rows of a table are not counted, since a file that is being written need not tell them: each may take
    as many bytes as an input's value (`value_bytes`), and a KiB if that is less.
    """
    if written_bytes <= most_outputs(spec, inputs) * max(value_bytes, _LEAST_ROW_BYTES):
        return None
    return _killed(spec, f"its table had grown to {written_bytes / _MIB:,.1f} MiB from {inputs:,} inputs")


def _killed(spec: ApplicationSpec, what: str) -> str:
    return (
        f"the application was killed: {what}, more than {spec.flood:g} times what they may become (`flood`)"
    )
