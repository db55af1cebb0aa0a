"""Work for the engine beside other work, since one query seldom keeps all cores busy."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

Returned = TypeVar("Returned")


def beside(work: Callable[[], Returned]) -> Future[Returned]:
    """Start `work` in a thread of its own. Its result, or what it raised, comes with `Future.result`.

    The thread ends with the process: nobody waits for it who is interrupted, or whose own work has failed.
    """
    future: Future[Returned] = Future()

    def run() -> None:
        try:
            future.set_result(work())
        # Kept for whoever asks for the result.
        except BaseException as error:
            future.set_exception(error)

    threading.Thread(target=run, name="beside", daemon=True).start()
    return future
