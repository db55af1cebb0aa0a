"""librdkafka's own mock cluster, of which confluent-kafka exposes no functions: loaded from its package with
ctypes. The scripts beside this one need nothing but confluent-kafka, of any version: no broker, no Docker."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import confluent_kafka

PRODUCE, LIST_OFFSETS, OFFSET_FETCH = 0, 2, 9
"""API keys: https://kafka.apache.org/protocol#protocol_api_keys"""


class MockCluster:
    """Brokers 1 to N inside this process, reached over real sockets at `bootstrap`."""

    def __init__(self, library: ctypes.CDLL, cluster: int) -> None:
        self._library = library
        self._cluster = ctypes.c_void_p(cluster)
        library.rd_kafka_mock_cluster_bootstraps.restype = ctypes.c_char_p
        self.bootstrap: str = library.rd_kafka_mock_cluster_bootstraps(self._cluster).decode()

    def create(self, topic: str, replicas: int, partitions: int = 1) -> None:
        """A topic, led by any brokers."""
        self._library.rd_kafka_mock_topic_create(self._cluster, topic.encode(), partitions, replicas)

    def join_at_once(self) -> None:
        """A new group waits for no other members."""
        self._library.rd_kafka_mock_group_initial_rebalance_delay_ms(self._cluster, 0)

    def lead(self, topic: str, broker: int, partition: int = 0) -> None:
        """Elect a leader of a partition: its epoch is one higher, whichever broker it is."""
        self._library.rd_kafka_mock_partition_set_leader(self._cluster, topic.encode(), partition, broker)

    def late(self, api: int, seconds: float) -> None:
        """Broker 1 carries out the next request with this API key, and answers so much later."""
        self._push(1, api, (0, seconds))

    def refuse(self, broker: int, api: int, *errors: int, late: float = 0.0) -> None:
        """This broker answers its next requests with this API key with these error codes, in this order, the
        first one (and what waits behind it) `late` seconds later."""
        self._push(broker, api, *((error, 0.0 if place else late) for place, error in enumerate(errors)))

    def _push(self, broker: int, api: int, *answers: tuple[int, float]) -> None:
        push = self._library.rd_kafka_mock_broker_push_request_error_rtts
        pairs = [ctypes.c_int(value) for error, late in answers for value in (error, round(late * 1000))]
        count = ctypes.c_size_t(len(answers))
        push(self._cluster, ctypes.c_int32(broker), ctypes.c_int16(api), count, *pairs)

    def answer(self, api: int, *errors: int) -> None:
        """The next requests with this API key are answered with these error codes, in this order."""
        codes = (ctypes.c_int * len(errors))(*errors)
        push = self._library.rd_kafka_mock_push_request_errors_array
        push(self._cluster, ctypes.c_int16(api), ctypes.c_size_t(len(errors)), codes)


@contextmanager
def mock_cluster(brokers: int = 3) -> Iterator[MockCluster]:
    """Start a mock cluster.

    Raises:
        FileNotFoundError: this confluent-kafka was built against a librdkafka of the system.
    """
    package = Path(confluent_kafka.__file__).parent
    found = sorted(package.parent.glob("confluent_kafka.libs/librdkafka*"))
    if not found:
        raise FileNotFoundError(f"no librdkafka beside {package}: install confluent-kafka's wheel for Linux")
    library = ctypes.CDLL(str(found[0]))
    for function in ("rd_kafka_new", "rd_kafka_mock_cluster_new"):
        getattr(library, function).restype = ctypes.c_void_p
    handle = ctypes.c_void_p(library.rd_kafka_new(0, None, None, ctypes.c_size_t(0)))
    cluster = library.rd_kafka_mock_cluster_new(handle, brokers)
    yield MockCluster(library, cluster)
    library.rd_kafka_mock_cluster_destroy(ctypes.c_void_p(cluster))
    library.rd_kafka_destroy(handle)


def version() -> str:
    """Versions of confluent-kafka and librdkafka, for the first line of a report."""
    return f"confluent-kafka {confluent_kafka.__version__}, librdkafka {confluent_kafka.libversion()[0]}"
