"""Counts runs that break: after several in a row the environment is blamed, not the experiment."""

from __future__ import annotations

from harness.model.errors import BadInput, ClusterError, KafkaChaosError

MOST_FAILURES = 3
"""Consecutive broken runs after which the environment is blamed."""


class ConsecutiveFailures:
    """`resume` is the command that continues once the cause is removed."""

    def __init__(self, resume: str) -> None:
        self._resume = resume
        self._count = 0

    def reset(self) -> None:
        """A run did not break."""
        self._count = 0

    def add(self, run: str, error: KafkaChaosError) -> None:
        """A run broke.

        Raises:
            BadInput: several runs in a row broke, and what was run was refused: `error` itself.
            ClusterError: several runs in a row broke.
        """
        self._count += 1
        if self._count < MOST_FAILURES:
            return
        if isinstance(error, BadInput):
            raise error
        raise ClusterError(
            f"{self._count} runs in a row broke",
            where=run,
            found=str(error),
            next_step=f"remove the cause, then: {self._resume}",
        ) from error
