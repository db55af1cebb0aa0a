"""What is closed at the end of a `with` block."""

from __future__ import annotations

from typing import Self


class ClosesAtEnd:
    """A context manager whose end calls `close`."""

    def close(self) -> object:
        """Subclasses say what this does."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
