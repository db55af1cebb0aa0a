"""Errors of the harness as pytest shows them: what, where and what next, without our own traceback."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from harness.model.errors import KafkaChaosError, PrerequisiteMissing
from harness.pytest_plugin.settings import Missing


@contextmanager
def readable(missing: Missing) -> Iterator[None]:
    """Errors of the harness end the test with their own words; what the machine lacks may skip it."""
    __tracebackhide__ = True
    try:
        yield
    except KafkaChaosError as error:
        told = "\n".join([f"kafka-chaos: {error}", *getattr(error, "__notes__", ())])
        if isinstance(error, PrerequisiteMissing) and missing == "skip":
            raise pytest.skip.Exception(told) from None
        raise pytest.fail.Exception(told, pytrace=False) from None
