"""Share groups as data: members that take records from a queue and acknowledge them (KIP-932)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from harness.model.frozen import Frozen, Setting

_NAME = r"^[a-z0-9][a-z0-9=+._-]{0,59}$"
_RESERVED = frozenset(
    {"bootstrap.servers", "group.id", "share.acknowledgement.mode", "internal.termination.signal"}
)

Acknowledge = Literal["accept", "release", "reject", "mixed"]
Time = Annotated[float, Field(ge=0)]

SMALLEST_LOCK_SECONDS = 15.0
"""group.share.min.record.lock.duration.ms, unless the brokers' properties set another one."""
DEFAULT_LOCK_SECONDS = 30.0
DEFAULT_LIMIT = 5
LIMIT_PROPERTY = "group.share.delivery.count.limit"


class MemberPause(Frozen):
    """A member's process is stopped (SIGSTOP) `at` seconds after the first step began, for `seconds`."""

    at: float = Field(ge=0)
    seconds: float = Field(gt=0, le=600)


class ShareSpec(Frozen):
    """The members of one share group (KIP-932), each a process of its own. They read from the start of the
    topic.

    `acknowledge` is what members do with records: `accept` them, `release` them so that they are given again,
    `reject` them, or `mixed`: the seed decides for each delivery (70 % accepted, 20 % released, 10 %
    rejected). Each batch is held for `hold` seconds before it is acknowledged. `mode: implicit`: the client
    accepts what it has returned with the next call (share.acknowledgement.mode). `commit` is how
    acknowledgements are sent: `sync` waits for each answer, `async` gets it later.

    `lock` is the group's share.record.lock.duration.ms in seconds, `delivery_limit` its
    share.delivery.count.limit (Kafka 4.3 or later); without them the brokers' own apply (30 s and 5). The
    group's name gets the run's id at its end, so that no run inherits another one's settings. Faults on its
    coordinator name the group as it is written here.

    At each time of `kills`, `pauses` and `restarts` (seconds after the first step began) the next member in
    turn is killed (SIGKILL) and replaced, stopped for a while, or closed and replaced. `extra` takes any
    other property of the client.
    """

    name: str = Field(pattern=_NAME)
    group: str | None = Field(default=None, pattern=_NAME, description="default: the name")
    members: int = Field(default=2, ge=1, le=20)
    acknowledge: Acknowledge = "accept"
    hold: float = Field(default=0.0, ge=0, le=600, description="seconds")
    lock: float | None = Field(default=None, ge=1, le=3600, description="seconds")
    delivery_limit: int | None = Field(default=None, ge=1, le=100)
    mode: Literal["explicit", "implicit"] = "explicit"
    commit: Literal["sync", "async"] = "sync"
    client: Literal["librdkafka", "java"] = "librdkafka"
    version: str | None = Field(
        default=None, pattern=r"^\d+\.\d+\.\d+$", description="of the Java client; default: the cluster's"
    )
    kills: tuple[Time, ...] = ()
    pauses: tuple[MemberPause, ...] = ()
    restarts: tuple[Time, ...] = ()
    extra: dict[str, Setting] = {}

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.mode == "implicit" and self.acknowledge != "accept":
            raise ValueError(
                f"acknowledge is {self.acknowledge}, but `mode: implicit` accepts every record: "
                "set `mode: explicit`, or `acknowledge: accept`"
            )
        ours = sorted(_RESERVED & set(self.extra))
        if ours:
            raise ValueError(f"{ours[0]} is set by the member itself and cannot be given in extra")
        if self.client == "java" and self.pauses:
            raise ValueError("`pauses` stop a process, and a Java member has two: use `client: librdkafka`")
        if self.client != "java" and self.version is not None:
            raise ValueError("`version` is that of the Java client: set `client: java`")
        return self

    @property
    def member_names(self) -> tuple[str, ...]:
        return tuple(f"{self.name}-{number}" for number in range(self.members))

    def group_id(self, run_id: int) -> str:
        """The group's name in a run."""
        return f"{self.group or self.name}-{run_id:x}"

    def lock_seconds(self, brokers: Mapping[str, str]) -> float:
        """The lock that holds; `brokers` are the brokers' properties."""
        if self.lock is not None:
            return self.lock
        own = brokers.get("group.share.record.lock.duration.ms", "")
        return int(own) / 1000 if own.isdigit() else DEFAULT_LOCK_SECONDS

    def limit(self, brokers: Mapping[str, str]) -> int:
        """The delivery limit that holds; `brokers` are the brokers' properties."""
        if self.delivery_limit is not None:
            return self.delivery_limit
        own = brokers.get(LIMIT_PROPERTY, "")
        return int(own) if own.isdigit() else DEFAULT_LIMIT

    def group_config(self) -> dict[str, str]:
        """The settings of the group, by Kafka's names; those that have no value here are the brokers' own."""
        config = {"share.auto.offset.reset": "earliest"}
        if self.lock is not None:
            config["share.record.lock.duration.ms"] = str(round(self.lock * 1000))
        if self.delivery_limit is not None:
            config["share.delivery.count.limit"] = str(self.delivery_limit)
        return config

    def properties(
        self, bootstrap: str, group_id: str, security: Mapping[str, str] | None = None
    ) -> dict[str, Any]:
        """Configuration for the client; `security` by the client's own names."""
        own = {"fetch.wait.max.ms": 100, "socket.timeout.ms": 10_000} if self.client == "librdkafka" else {}
        return {
            "bootstrap.servers": bootstrap,
            **(security or {}),
            "group.id": group_id,
            "share.acknowledgement.mode": self.mode,
            **own,
            **self.extra,
        }
