"""An experiment under way in a thread, for tests that follow its topic with an application of their own."""

from __future__ import annotations

import threading
from collections.abc import Callable

from harness.pytest_plugin.result import ChaosResult

_TOPIC_SECONDS = 120.0


class Running:
    """One run under way. `bootstrap` and `topic` are what an application needs to follow it."""

    def __init__(self, bootstrap: str) -> None:
        self.bootstrap = bootstrap
        self.topic = ""
        self._told = threading.Event()
        self._result: ChaosResult | None = None
        self._error: BaseException | None = None
        self._thread: threading.Thread | None = None

    def start(self, work: Callable[[], ChaosResult]) -> None:
        """Begin; `work` calls `tell` once the topic is there."""

        def body() -> None:
            try:
                self._result = work()
            except BaseException as error:  # raised again in the test's own thread
                self._error = error
            finally:
                self._told.set()

        self._thread = threading.Thread(target=body, name="chaos", daemon=True)
        self._thread.start()

    def tell(self, _arm: str, topic: str) -> None:
        """The topic of the run is there."""
        self.topic = topic
        self._told.set()

    def await_topic(self) -> None:
        """Wait until the topic is there, or the run has broken."""
        if not self._told.wait(_TOPIC_SECONDS):
            raise TimeoutError(f"the run had no topic within {_TOPIC_SECONDS:.0f} s")
        if self._error is not None:
            raise self._error

    def wait(self) -> ChaosResult:
        """Wait until faults are over and healed, all was read back and checked; returns the result. What
        broke the run is raised here."""
        self.finish()
        if self._error is not None:
            raise self._error
        if self._result is None:
            raise RuntimeError("the run was not started")
        return self._result

    def finish(self) -> None:
        """Wait for the end, whatever it is."""
        if self._thread is not None:
            self._thread.join()
