"""librdkafka's mock cluster: brokers inside a client, reached over real sockets."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count

import pytest
from confluent_kafka import Producer

from workloads.records.clients import client_logger

_names = count()


@contextmanager
def mock_cluster() -> Iterator[str]:
    """Addresses of three mock brokers. They keep about 5 MB a partition: small tests only."""
    cluster = Producer({"test.mock.num.brokers": 3}, logger=client_logger())
    brokers = cluster.list_topics(timeout=30).brokers.values()
    yield ",".join(f"{broker.host}:{broker.port}" for broker in brokers)
    cluster.flush(1)


@pytest.fixture(scope="session")
def mock_bootstrap() -> Iterator[str]:
    """A mock cluster of all tests."""
    with mock_cluster() as addresses:
        yield addresses


@pytest.fixture
def own_mock_bootstrap() -> Iterator[str]:
    """A mock cluster of one test: a group that an earlier test left would be waited for, for its session."""
    with mock_cluster() as addresses:
        yield addresses


@pytest.fixture
def mock_topic() -> str:
    """A topic of the test's own; the mock cluster makes it with 4 partitions at the first request."""
    return f"topic-{next(_names)}"
