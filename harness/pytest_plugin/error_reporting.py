"""Shows errors of the harness in pytest: what, where and what to do next, without our traceback."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from harness.model.errors import KafkaChaosError, PrerequisiteMissing
from harness.pytest_plugin.settings import Missing


@contextmanager
def readable(missing: Missing) -> Iterator[None]:
    """Errors of the harness fail the test with their own message; a missing prerequisite may skip it."""
    __tracebackhide__ = True
    try:
        yield
    except KafkaChaosError as error:
        message = "\n".join([f"kafka-chaos: {error}", *getattr(error, "__notes__", ())])
        if isinstance(error, PrerequisiteMissing) and missing == "skip":
            raise pytest.skip.Exception(message) from None
        raise pytest.fail.Exception(message, pytrace=False) from None
