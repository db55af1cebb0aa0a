"""What producers whose methods are coroutines have in common when they journal."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from contextlib import suppress
from functools import partial
from typing import Any, ClassVar, Self

from harness.model.journal import SendOutcome, TxnOutcome
from workloads.own.journaled_client import JournaledClient


class JournaledCoroutines(JournaledClient):
    """A producer of a client library for asyncio. All its methods are called in one event loop."""

    _loop: asyncio.AbstractEventLoop | None = None
    _raised: ClassVar[SendOutcome] = SendOutcome.INDETERMINATE
    """The outcome of a record for which the client's method raised an error in place of giving a future."""

    def _error(self, error: BaseException) -> str:
        """The client's name for an error."""
        return type(error).__name__

    def _placed(self, told: Any) -> tuple[int, int] | None:
        """Partition and offset of what a future gives; None: no broker has answered."""
        raise NotImplementedError

    async def _handed_over(self, seq: int, sending: Awaitable[asyncio.Future[Any]]) -> asyncio.Future[Any]:
        """Await the client's method, and have the report of its future journaled."""
        self._loop = asyncio.get_running_loop()
        try:
            future = await sending
        except asyncio.CancelledError:
            self._report(seq, "CancelledError", SendOutcome.INDETERMINATE)
            raise
        except Exception as error:
            self._report(seq, self._error(error), self._raised)
            raise
        future.add_done_callback(partial(self._done, seq))
        # Who gives up waiting cancels what is given out here, and not the client's own future, which would
        # then not say any more what became of the record.
        return asyncio.shield(future)

    async def _ended_by(self, end: Awaitable[Any], outcome: TxnOutcome) -> None:
        """End the transaction by the client's method."""
        if outcome is TxnOutcome.COMMITTED:
            self._transactions.commit_requested()
        try:
            await end
        except Exception as error:
            # Whether it can be tried again the producer's next call says.
            self._transactions.failed_to_end(self._error(error), may_go_on=True)
            raise
        self._transactions.ended(outcome)

    async def _closed_by(self, close: Awaitable[Any]) -> Any:
        """Close the client, which waits for reports, and then the journal."""
        try:
            closed = await close
            # Reports that have just come are journaled in the next round of the loop.
            await asyncio.sleep(0)
        finally:
            # Another thread may be ending it and wait for this loop, so that its lock is not waited for.
            self._end_journal()
        return closed

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def __aenter__(self) -> Self:
        return self

    async def close(self) -> Any:
        """Subclasses say what this does."""
        raise NotImplementedError

    def _give_up(self, timeout: float) -> None:
        """Called by another thread, or when the process ends, and then no loop runs any more."""
        loop = self._loop
        if loop is None or not loop.is_running() or _runs_here(loop):
            return
        waiting = asyncio.run_coroutine_threadsafe(self._producer.flush(), loop)
        with suppress(Exception):
            waiting.result(timeout)

    def _done(self, seq: int, future: asyncio.Future[Any]) -> None:
        error = asyncio.CancelledError() if future.cancelled() else future.exception()
        if error is not None:
            self._report(seq, self._error(error), SendOutcome.INDETERMINATE)
            return
        self._acknowledged(seq, *(self._placed(future.result()) or (None, None)))


def _runs_here(loop: asyncio.AbstractEventLoop) -> bool:
    """Whether this thread runs the loop, so that it cannot wait for it."""
    try:
        return asyncio.get_running_loop() is loop
    except RuntimeError:
        return False
