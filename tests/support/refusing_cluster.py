"""A mock cluster of librdkafka that answers requests with errors."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.support.paths import ROOT


@contextmanager
def refusing_cluster() -> Iterator[Any]:
    """The mock cluster of the scripts in `examples/open-bugs/`."""
    path = ROOT / "examples" / "open-bugs" / "mock_brokers.py"
    spec = importlib.util.spec_from_file_location("mock_brokers", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    with module.mock_cluster(1) as cluster:
        yield cluster
