"""Progress on long work: one line that changes on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.text import Text

_EVERY_SECONDS = 5.0


@contextmanager
def progress(console: Console, quiet: bool = False) -> Iterator[Callable[[str], None]]:
    """Yields a function that takes what is going on now, as often as one likes."""
    if quiet:
        yield lambda _: None
        return
    if console.is_terminal:
        with console.status("") as status:
            # As plain text: "[0]" is a partition here, no markup.
            yield lambda text: status.update(Text(text))
        return
    last_head, last_at = "", 0.0

    def line(text: str) -> None:
        # A new activity is told at once, the counts of a running one every few seconds.
        nonlocal last_head, last_at
        head = " · ".join(text.split(" · ")[:3])
        now = time.monotonic()
        if head != last_head or now - last_at >= _EVERY_SECONDS:
            console.print(text, soft_wrap=True, highlight=False, markup=False)
            last_head, last_at = head, now

    yield line
