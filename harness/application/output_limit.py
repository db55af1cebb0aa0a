"""Kills an application whose output exceeds what its input can produce."""

from __future__ import annotations

from harness.spec.application import ApplicationSpec

MARGIN = 10_000
"""Outputs that no bound counts: a small input may be multiplied at first."""
_LEAST_ROW_BYTES = 1024
_MIB = 2**20


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
