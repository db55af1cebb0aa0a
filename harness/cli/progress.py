"""Shows progress: one line that changes on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.text import Text

from harness.model.progress import NewActivity, progress_to

_EVERY_SECONDS = 5.0


class _Handler(logging.Handler):
    def __init__(self, show: Callable[[str], None]) -> None:
        super().__init__()
        self._show = show

    def emit(self, record: logging.LogRecord) -> None:
        self._show(record.getMessage())


@contextmanager
def show_progress(console: Console, quiet: bool = False) -> Iterator[None]:
    """Show the progress that is reported in the block on `console`; `quiet` shows none."""
    if quiet:
        yield
    elif console.is_terminal:
        # As plain text: "[0]" is a partition here, not markup.
        with console.status("") as status, progress_to(_Handler(lambda text: status.update(Text(text)))):
            yield
    else:
        handler = _Handler(lambda text: console.print(text, soft_wrap=True, highlight=False, markup=False))
        handler.addFilter(NewActivity(_EVERY_SECONDS))
        with progress_to(handler):
            yield
