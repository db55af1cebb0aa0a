"""Memory that numpy frees and needs again a moment later stays with the process during a check."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from threading import Lock
from typing import Any

_TRIM_THRESHOLD, _TOP_PAD, _MMAP_THRESHOLD = -1, -2, -3
"""Parameters of `mallopt`, as in glibc's malloc.h."""
_LARGEST = 32 * 2**20
"""The largest threshold that glibc accepts; a column of a block has 4 MiB."""
_KEPT, _PAD = 2**30, 64 * 2**20
_USUAL = 128 * 2**10
"""glibc's own value of all three."""

_lock = Lock()
_checks = 0


@contextmanager
def kept_heap() -> Iterator[None]:
    """Let glibc keep freed memory until the end.

    By default it returns each array of more than some megabytes to the system at once, and the system fills
    the next one with zeros, page by page: a third of the time of a check. The peak stays as it is. Other
    allocators than glibc's are left alone.
    """
    global _checks
    libc = _glibc()
    if libc is None:
        yield
        return
    with _lock:
        _checks += 1
        # Else an arena gives back each of its heaps, of 64 MiB, whenever that is empty.
        libc.mallopt(_TOP_PAD, _PAD)
        libc.mallopt(_MMAP_THRESHOLD, _LARGEST)
        libc.mallopt(_TRIM_THRESHOLD, _KEPT)
    try:
        yield
    finally:
        with _lock:
            _checks -= 1
            if not _checks:
                libc.mallopt(_MMAP_THRESHOLD, _USUAL)
                libc.mallopt(_TRIM_THRESHOLD, _USUAL)
                libc.mallopt(_TOP_PAD, _USUAL)
                libc.malloc_trim(0)


@lru_cache(maxsize=1)
def _glibc() -> Any:
    """The C library of this process, if it is glibc."""
    try:
        libc = ctypes.CDLL(None)
        libc.gnu_get_libc_version  # noqa: B018 - only glibc has it
    except (OSError, AttributeError, TypeError):
        return None
    return libc
