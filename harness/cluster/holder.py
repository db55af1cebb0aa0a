"""A cluster held by its spec: started when first needed, used again, replaced when it is no longer fit."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import Any, Self

from harness.model.errors import ClusterError
from harness.model.progress import report_progress
from harness.spec.cluster import ClusterSpec


class ClusterHolder:
    """At most one running cluster. Use it as a context manager: the cluster is removed at the end.

    `start` gives a cluster of a spec as a context manager, whose logs go to the folder named. `reset` makes a
    used cluster fit for its next user and describes how that was verified; when it raises ClusterError, the
    cluster is removed and a new one takes its place.
    """

    def __init__(
        self,
        start: Callable[[ClusterSpec, Path], AbstractContextManager[Any]],
        reset: Callable[[Any], str] = lambda _: "",
    ) -> None:
        self._start = start
        self._reset = reset
        self._stack = ExitStack()
        self.cluster: Any = None
        self.spec: ClusterSpec | None = None
        """The spec of the running cluster; None: no cluster runs."""
        self.proof: str | None = None
        """What `reset` returned when the cluster was last reset; None: the cluster is new."""
        self.starts = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()

    def get(self, spec: ClusterSpec, logs: Path) -> Any:
        """The running cluster if it has this spec and can be reset, else a new one.

        Raises:
            PrerequisiteMissing, ClusterError: a new cluster was needed and could not be started.
        """
        if not self.reuse(spec):
            self.remove()
            self.starts += 1
            self.cluster = self._stack.enter_context(self._start(spec, logs))
            self.spec, self.proof = spec, None
        return self.cluster

    def reuse(self, spec: ClusterSpec) -> bool:
        """Reset the running cluster if it has this spec; False: there is none, or it was removed."""
        if self.spec != spec:
            return False
        try:
            self.proof = self._reset(self.cluster)
        except ClusterError as error:
            report_progress(f"starting a new cluster, since the last one cannot be reset: {error.found}")
            self.remove()
            return False
        return True

    def remove(self) -> None:
        """Remove the cluster, if there is one."""
        self.cluster = self.spec = None
        self._stack.close()
