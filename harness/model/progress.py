"""Progress on long work, as messages of the logger `kafka_chaos.progress`.

Whoever does the work calls `report_progress`; a handler of that logger shows it, or nothing does. What a user
must do for the work to go on is a notice, of the logger `kafka_chaos.notices`: it is shown to those, too, who
want no progress.
"""

from __future__ import annotations

import logging
import math
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

LOGGER = logging.getLogger("kafka_chaos.progress")
LOGGER.setLevel(logging.INFO)
NOTICES = logging.getLogger("kafka_chaos.notices")
NOTICES.setLevel(logging.INFO)

SEPARATOR = " · "
"""Between the parts of a message: the first three name the activity, what follows are its counts."""

_wording: ContextVar[Callable[[str], str]] = ContextVar("wording", default=str)


def report_progress(message: str) -> None:
    """Say what is going on now, as often as is convenient. Lone surrogates, which messages of clients and
    brokers may contain, become "?": whatever collects log records may have to write them as UTF-8."""
    line = _wording.get()(message)
    LOGGER.info("%s", line.encode("utf-8", "replace").decode())


def report_notice(text: str) -> None:
    """Say what the user must do now; the text may have several lines."""
    NOTICES.info("%s", text)


@contextmanager
def progress_under(head: str, *, last_part: bool = False) -> Iterator[None]:
    """Put `head` before every message that this thread reports in the block. With `last_part`, only the last
    part of each message follows it."""
    outer = _wording.get()

    def wording(message: str) -> str:
        return outer(SEPARATOR.join((head, message.split(SEPARATOR)[-1] if last_part else message)))

    token = _wording.set(wording)
    try:
        yield
    finally:
        _wording.reset(token)


class MessagesTo(logging.Handler):
    """Gives each message to `show`; what that raises reaches the code that reports progress."""

    def __init__(self, show: Callable[[str], object]) -> None:
        super().__init__()
        self._show = show

    def emit(self, record: logging.LogRecord) -> None:
        self._show(record.getMessage())


@contextmanager
def progress_to(handler: logging.Handler) -> Iterator[None]:
    """Have `handler` handle progress messages in the block."""
    with _handled(LOGGER, handler):
        yield


@contextmanager
def notices_to(handler: logging.Handler) -> Iterator[None]:
    """Have `handler` handle notices in the block."""
    with _handled(NOTICES, handler):
        yield


@contextmanager
def _handled(logger: logging.Logger, handler: logging.Handler) -> Iterator[None]:
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)


@contextmanager
def progress_on_stdout(prefix: str = "") -> Iterator[None]:
    """Print one line per activity in the block, for logs; counts of an activity are left out."""
    handler = logging.StreamHandler(sys.stdout)
    handler.setFormatter(logging.Formatter(f"{prefix}%(message)s"))
    handler.addFilter(NewActivity())
    with progress_to(handler):
        yield


@contextmanager
def activities_only() -> Iterator[None]:
    """In the block a message is logged only where the activity changes, whoever collects the messages."""
    wanted = NewActivity()
    LOGGER.addFilter(wanted)
    try:
        yield
    finally:
        LOGGER.removeFilter(wanted)


class NewActivity(logging.Filter):
    """Lets a message through when the activity changes, and again after `every` seconds; activities that run
    in parallel, which differ in the first part of their messages, are limited separately."""

    def __init__(self, every: float = math.inf) -> None:
        super().__init__()
        self._every = every
        self._shown: dict[str, tuple[str, float]] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        parts = record.getMessage().split(SEPARATOR)
        activity, now = SEPARATOR.join(parts[:3]), time.monotonic()
        last, at = self._shown.get(parts[0], ("", 0.0))
        shown = activity != last or now - at >= self._every
        if shown:
            self._shown[parts[0]] = (activity, now)
        return shown
