"""What a client has asked and has not been answered, and what all connections of a proxy share."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

from harness.cluster.proxy.fetch_sessions import FetchSessions
from harness.cluster.proxy.frames import RequestHead
from harness.cluster.proxy.lane import Budget
from harness.cluster.proxy.produced import Produced
from harness.cluster.proxy.rewriting import Addresses
from harness.cluster.proxy.rule_book import RuleBook
from harness.model.kafka_protocol import api_name
from harness.model.request_rules import NamedPartition


@dataclass(slots=True, eq=False)
class Asked:
    """A request whose answer the client has not got. `answer` is there and waits for its turn."""

    head: RequestHead
    answer: bytes | None = None
    own: bool = False
    """The proxy itself has answered."""
    ready: float = 0.0
    silent: bool = False
    """It is never answered, and so none after it."""
    closes: bool = False
    """The connection is closed in place of its answer."""
    begins: frozenset[NamedPartition] | None = None
    """The partitions of the fetch session that its answer may begin."""

    @property
    def api(self) -> str:
        return api_name(self.head.key)


@dataclass(slots=True)
class Shared:
    """What all connections of a proxy share."""

    book: RuleBook
    budget: Budget
    largest_frame: int
    lane_bytes: int
    peers: dict[str, int] = field(default_factory=dict)
    addresses: Addresses | None = None
    sessions: dict[int, FetchSessions] = field(default_factory=lambda: defaultdict(FetchSessions))
    """By the broker's id."""
    produced: Produced = field(default_factory=Produced)
