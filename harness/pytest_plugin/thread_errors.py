"""Errors that end threads of a test, such as that of a consumer under test."""

from __future__ import annotations

import threading
from collections.abc import Callable


class ThreadErrors:
    """Notes the errors that end threads from `listen` to `stop`; the hook that was there is called too."""

    def __init__(self) -> None:
        self.found: list[str] = []
        self._before: Callable[[threading.ExceptHookArgs], object] | None = None

    def listen(self) -> None:
        if self._before is not None:
            return
        before = self._before = threading.excepthook

        def noted(error: threading.ExceptHookArgs) -> None:
            self.found.append(f"{error.exc_type.__name__}: {error.exc_value}")
            before(error)

        threading.excepthook = noted

    def stop(self) -> None:
        if self._before is not None:
            threading.excepthook, self._before = self._before, None
