"""Messages of an output topic, and what is made of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.support.history import RUN
from workloads.applications.outputs.output_identity import OutputIdentity, output_rows


class FakeMessage:
    """A message, as a client gives it."""

    def __init__(
        self, value: bytes | None = None, key: bytes | None = None, headers: Any = None, offset: int = 7
    ) -> None:
        self._value, self._key, self._headers, self._offset = value, key, headers, offset

    def topic(self) -> str:
        return "out"

    def partition(self) -> int:
        return 1

    def offset(self) -> int:
        return self._offset

    def key(self) -> bytes | None:
        return self._key

    def value(self) -> bytes | None:
        return self._value

    def headers(self) -> Any:
        return self._headers

    def timestamp(self) -> tuple[int, int]:
        return (2, 1234)

    def leader_epoch(self) -> int:
        return 3


def rows_of_outputs(identity: OutputIdentity, *outputs: Any) -> list[dict[str, Any]]:
    """The rows that the journal of outputs gets."""
    mapped = identity.map(outputs, RUN)
    return output_rows(outputs, mapped, np.ones(len(outputs), np.bool_), 99).to_pylist()


def identities_of_outputs(
    identity: OutputIdentity, *outputs: Any
) -> list[tuple[str, int | None, int | None]]:
    """State, producer and seq of each of those rows."""
    return [(row["state"], row["producer"], row["seq"]) for row in rows_of_outputs(identity, *outputs)]
