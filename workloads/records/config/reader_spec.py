"""Live readers as data: consumers that read during the faults."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from harness.model.frozen import Frozen, Setting

SESSION_MS = 45_000
"""The default of session.timeout.ms, and of the brokers' group.consumer.session.timeout.ms (KIP-848)."""
_JAVA_ASSIGNORS = {
    "range": "org.apache.kafka.clients.consumer.RangeAssignor",
    "roundrobin": "org.apache.kafka.clients.consumer.RoundRobinAssignor",
    "cooperative-sticky": "org.apache.kafka.clients.consumer.CooperativeStickyAssignor",
}
_NAME = r"^[a-z0-9][a-z0-9=+._-]{0,59}$"
_RESERVED = frozenset(
    {
        "bootstrap.servers",
        "group.id",
        "client.rack",
        "isolation.level",
        "auto.offset.reset",
        "enable.auto.commit",
        "auto.commit.interval.ms",
        "enable.auto.offset.store",
        "enable.partition.eof",
        "partition.assignment.strategy",
        "group.protocol",
        "group.instance.id",
        "statistics.interval.ms",
    }
)


class ReaderSpec(Frozen):
    """One live reader, or the members of one consumer group. It reads from the start of the topic.

    Without `group` it is assigned every partition by hand and commits nothing. `group` is the group.id, which
    faults may aim at (`{coordinator: {group: NAME}}`); there are `members` of it, and `commits` says how each
    commits. `auto`: the client commits what it has returned to the application. `manual`: the reader commits
    what is journaled, every `commit_every` seconds and before partitions are revoked. `none`: never, so that
    each rebalance starts from the beginning again. At each time of `restarts` (seconds after the first step
    began), but not before a member has been given a record, the next member in turn leaves, and a new client
    takes its place: two rebalances.

    `protocol` is group.protocol: `classic`, or `consumer`, in which the broker assigns (KIP-848, from Kafka
    4.0). `assignor` is partition.assignment.strategy of the classic protocol: `range` and `roundrobin` are
    eager, so that a rebalance takes all partitions from all members, `cooperative-sticky` takes only those
    that move. The consumer protocol has none: the broker's assignor can be named by `group.remote.assignor`
    in `extra`. With `static: true` every member has its name as group.instance.id, so that it keeps its
    partitions when it comes back within the session time-out (KIP-345). In the consumer protocol that holds
    after a close alone: the successor of a killed member is refused, with a fatal error, until the session of
    the dead one is over (Kafka 4.4.0; findings/kip848-refuses-a-killed-static-member.sh).

    With `by_hand: true` every member of the group assigns itself all partitions (assign() in place of
    subscribe()), as instances of an application do that share a group.id by mistake: the coordinator takes
    their commits and knows of no owners.

    `reset` is auto.offset.reset: where to continue when the log does not hold the offset, or a group has
    none. `error`: the client reports it, and the reader continues from the nearest existing offset, which is
    journaled as a new session. `earliest`, `latest`: the client decides and does not report it, as in an
    application that leaves it to the client.

    The application takes `takes` seconds for each batch that the client returns to it, of at most `batch`
    records (default 2,000). A record is journaled when it is processed: if the application crashes before
    that, nobody has processed it. `commits: before` commits each batch when it is received, before it is
    processed.

    `process: true` gives each member's client a process of its own, which a `restart_reader` step can kill.
    `version` does so too, with that version of confluent-kafka, which pip fetches once.

    `client: java` is the consumer of Kafka's own client library, in a process and a JVM of its own; `version`
    is then that of kafka-clients (default: the cluster's). It needs a group and a `reset` other than `error`,
    and commits automatically or never. It does not tell of its commits: the coordinator's answers do.

    `rack` is client.rack: the reader fetches from a follower in that rack (KIP-392). `extra` takes any other
    property of the client.
    """

    name: str = Field(pattern=_NAME)
    group: str | None = Field(default=None, pattern=_NAME)
    members: int = Field(default=1, ge=1, le=20)
    isolation: Literal["read_uncommitted", "read_committed"] = "read_uncommitted"
    commits: Literal["none", "auto", "manual", "before"] = "none"
    commit_every: float = Field(default=1.0, gt=0, le=3600, description="seconds")
    protocol: Literal["classic", "consumer"] = "classic"
    assignor: Literal["range", "roundrobin", "cooperative-sticky"] | None = Field(
        default=None, description="null: range, and with the consumer protocol the broker's own"
    )
    static: bool = False
    by_hand: bool = Field(default=False, description="every member assigns itself all partitions")
    restarts: tuple[Annotated[float, Field(ge=0)], ...] = ()
    reset: Literal["error", "earliest", "latest"] = "error"
    batch: int | None = Field(default=None, ge=1, le=10_000, description="records; default: 2,000")
    takes: float = Field(default=0.0, ge=0, le=60, description="seconds per batch")
    process: bool = False
    client: Literal["librdkafka", "java"] = "librdkafka"
    version: str | None = Field(
        default=None, pattern=r"^\d+\.\d+\.\d+$", description="of confluent-kafka, or of kafka-clients"
    )
    rack: str | None = None
    extra: dict[str, Setting] = {}

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.group is None and self.members > 1:
            raise ValueError(f"members is {self.members}, but there is no group: name one with `group`")
        if self.group is None and self.commits != "none":
            raise ValueError(f"commits is {self.commits}, but only a group has offsets: name it with `group`")
        if self.group is None and (self.protocol == "consumer" or self.static):
            setting = "static" if self.static else "protocol"
            raise ValueError(f"{setting} is given, but there is no group: name one with `group`")
        if self.by_hand and self.group is None:
            raise ValueError(
                "by_hand is given, but there is no group: a reader without one is so anyway; leave it out"
            )
        if self.by_hand and (self.protocol == "consumer" or self.static or self.assignor is not None):
            setting = "assignor" if self.assignor else "static" if self.static else "protocol"
            raise ValueError(f"members assign themselves partitions (by_hand), so leave {setting} out")
        if list(self.restarts) != sorted(self.restarts):
            raise ValueError("restarts must be in order of time")
        if self.client == "java":
            self._check_java()
        ours = sorted(_RESERVED & set(self.extra))
        if ours:
            raise ValueError(f"{ours[0]} is set by the reader itself and cannot be given in extra")
        return self

    def _check_java(self) -> None:
        if self.group is None:
            raise ValueError("`client: java` reads in a group: name one with `group`")
        if self.commits not in ("none", "auto"):
            raise ValueError(
                f"commits is {self.commits}, but `client: java` only commits automatically or never: set "
                "`commits: auto`, or use `client: librdkafka`"
            )
        if self.reset == "error":
            raise ValueError(
                "`client: java` cannot go on after such an error: set `reset: earliest` or `latest`"
            )
        if self.rack is not None:
            raise ValueError("`client: java` does not tell whom it fetches from: leave `rack` out")

    @property
    def member_names(self) -> tuple[str, ...]:
        """Names of the journals, one per member."""
        if self.group is None:
            return (self.name,)
        return tuple(f"{self.name}-{number}" for number in range(self.members))

    @property
    def incremental(self) -> bool:
        """Whether a rebalance names only the partitions that move, and the others are kept."""
        return self.protocol == "consumer" or self.assignor == "cooperative-sticky"

    @property
    def session_ms(self) -> int:
        """session.timeout.ms of the classic protocol, in milliseconds."""
        return int(self.extra.get("session.timeout.ms", SESSION_MS))

    @property
    def apart(self) -> bool:
        """Whether its clients have processes of their own."""
        return self.process or self.version is not None or self.client == "java"

    @property
    def library(self) -> str:
        """The client library, with its version if the reader names one."""
        if self.client == "librdkafka":
            return "librdkafka"
        return "kafka-clients" if self.version is None else f"kafka-clients {self.version}"

    @property
    def committed(self) -> bool:
        return self.isolation == "read_committed"

    def properties(
        self,
        bootstrap: str,
        group_id: str,
        security: Mapping[str, str] | None = None,
        *,
        member: str | None = None,
    ) -> dict[str, Any]:
        """Configuration of one member for its client: for `confluent_kafka.Consumer`, which needs a group.id
        even if none is used, or for the Java client, without TLS and SASL (`security`)."""
        java = self.client == "java"
        strategy: str | None = self.assignor or ("range" if self.protocol == "classic" else None)
        if strategy is not None and java:
            strategy = _JAVA_ASSIGNORS[strategy]
        fetching = {"fetch.max.wait.ms": 100, "max.poll.records": self.batch} if java else self._fetching()
        given: dict[str, Any] = {
            "bootstrap.servers": bootstrap,
            **({} if java else security or {}),
            "group.id": group_id,
            "isolation.level": self.isolation,
            "auto.offset.reset": self.reset,
            "enable.auto.commit": self.commits == "auto",
            "auto.commit.interval.ms": int(self.commit_every * 1000),
            "group.protocol": "consumer" if self.protocol == "consumer" else None,
            "partition.assignment.strategy": strategy,
            "group.instance.id": member if self.static else None,
            **fetching,
            **self.extra,
        }
        # What is not asked for is left out: with the consumer protocol the client refuses an assignor, as it
        # does session.timeout.ms and heartbeat.interval.ms.
        return {name: value for name, value in given.items() if value is not None}

    def _fetching(self) -> dict[str, Any]:
        return {
            "enable.partition.eof": True,
            "fetch.wait.max.ms": 100,
            "fetch.error.backoff.ms": 100,
            # The default of 64 MiB per partition is too much for many readers in one process.
            "queued.max.messages.kbytes": 8192,
            # A commit before partitions are revoked blocks; the default of 60 s is longer than a run.
            "socket.timeout.ms": 10_000,
            "client.rack": self.rack,
            "statistics.interval.ms": None if self.rack is None else 500,
        }
