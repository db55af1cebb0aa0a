"""The specification of a cluster, as validated data: the same for Testcontainers and Compose."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Literal

from pydantic import BaseModel, Field, field_validator, model_validator

from harness.model.config_value import Setting
from harness.model.defaults import DEFAULT_VERSION
from harness.model.frozen import Frozen
from harness.spec.external_cluster import ExternalClusterSpec
from harness.spec.security import SecuritySpec


class Profile(StrEnum):
    """Timeouts after which brokers count each other as dead or out of sync."""

    KAFKA = "kafka"
    """Kafka's defaults: broker.session.timeout.ms 9 s, replica.lag.time.max.ms 30 s."""
    FAST = "fast"
    """For tests: 4 s and 6 s, so that elections and ISR changes come sooner."""


class Metadata(StrEnum):
    """Where a cluster stores its metadata."""

    KRAFT = "kraft"
    """In a quorum of controllers (KIP-500); ready for production since Kafka 3.3."""
    ZOOKEEPER = "zookeeper"
    """In ZooKeeper, up to Kafka 3.9; one server, and any broker may be the controller."""


PROFILES: dict[Profile, dict[str, str]] = {
    Profile.KAFKA: {},
    Profile.FAST: {
        "broker.session.timeout.ms": "4000",
        "broker.heartbeat.interval.ms": "1000",
        "replica.lag.time.max.ms": "6000",
    },
}

SESSION_SECONDS = {Profile.KAFKA: 9.0, Profile.FAST: 4.0}
"""broker.session.timeout.ms of each profile in seconds: a dead leader stays leader for at most this long."""

SMALLEST_DISK_MIB = 16
MOST_BROKERS = 9

CONSUMER_PROTOCOL = (4, 0)
"""The first Kafka with the consumer group protocol for production (KIP-848)."""
SHARE_GROUPS = (4, 2)
"""The first Kafka with share groups for production (KIP-932)."""
SHARE_PREVIEW = (4, 1)
"""Has share groups as a preview, which the feature share.version enables."""
SHARE_FEATURE = "share.version"
SHARE_LIMITS = (4, 3)
"""The first Kafka in which a share group can have a delivery limit of its own (KIP-1240)."""
SMALLEST_LOCK_PROPERTY = "group.share.min.record.lock.duration.ms"


class ClusterSpec(Frozen):
    """A cluster: number of nodes, Kafka version, settings.

    `properties` are broker and controller properties by Kafka's own names; they override the profile's.
    `combined` makes every broker a controller, too (then `controllers` must equal `brokers`). `disk_mib` is
    the size of each broker's log dir in MiB (None: the machine's disk); such a log dir is a volume in memory.
    `skewable_clocks` starts every node so that its clock can be shifted. With `metadata: zookeeper` there is
    one ZooKeeper server instead of controllers. `racks` puts broker N into rack rN and lets readers with a
    rack fetch from followers (KIP-392). `broker_properties` are properties of single brokers, by broker id;
    they override `properties`. `features` are levels of KRaft features that differ from those of a new
    cluster (KIP-584), set once it is up. `loggers` are levels of the nodes' loggers, by name: with
    `kafka.request.logger: DEBUG` a broker prints every request that it has answered. `metadata_version` is
    the metadata.version of KRaft that storage is formatted with (KIP-778), as "3.4-IV0" (None: the newest).
    `security` is how clients must authenticate (None: plain text, without authentication). `existing` is a
    cluster that kafka-chaos did not start: besides it only `brokers`, their number, may be set.
    """

    brokers: int = Field(default=3, ge=1, le=1000)
    controllers: int = Field(default=1, ge=1, le=5)
    combined: bool = False
    metadata: Metadata = Metadata.KRAFT
    version: str = DEFAULT_VERSION
    image: str | None = None
    profile: Profile = Profile.FAST
    properties: dict[str, Setting] = Field(default_factory=dict)
    broker_properties: dict[int, dict[str, Setting]] = Field(default_factory=dict)
    features: dict[str, Annotated[int, Field(ge=0)]] = Field(default_factory=dict)
    metadata_version: str | None = Field(default=None, pattern=r"^\d+\.\d+-IV\d+$")
    loggers: dict[str, Literal["ERROR", "WARN", "INFO", "DEBUG", "TRACE"]] = Field(default_factory=dict)
    disk_mib: int | None = None
    skewable_clocks: bool = False
    racks: bool = False
    security: SecuritySpec | None = None
    existing: ExternalClusterSpec | None = None

    @field_validator("disk_mib")
    @classmethod
    def _check_disk(cls, value: int | None) -> int | None:
        if value is not None and value < SMALLEST_DISK_MIB:
            raise ValueError(
                f"{value} MiB is too small for a log dir: an empty broker takes about 0.1 MiB, "
                f"and the records of a short run take more; the minimum is {SMALLEST_DISK_MIB}"
            )
        return value

    @property
    def rack_names(self) -> tuple[str, ...]:
        """The racks in order of broker id; empty without `racks`."""
        return tuple(rack_of(number) for number in range(1, self.brokers + 1)) if self.racks else ()

    @property
    def has_consumer_protocol(self) -> bool:
        """Whether groups can use `group.protocol: consumer`."""
        return self._is_from(CONSUMER_PROTOCOL)

    @property
    def without_share_groups(self) -> str | None:
        """Why the cluster has no share groups; None: it has, or this is not known (an existing cluster, an
        image without a version)."""
        if self._is_from(SHARE_GROUPS):
            return None
        mode = " with ZooKeeper" if self.metadata is Metadata.ZOOKEEPER else ""
        if tuple(self._version_numbers) == SHARE_PREVIEW and not mode:
            if self.features.get(SHARE_FEATURE, 0) >= 1:
                return None
            return (
                f"Kafka {self.version} has share groups as a preview that must be enabled: set "
                f"`features: {{{SHARE_FEATURE}: 1}}` below `cluster`, or a `version` from 4.2 on"
            )
        return (
            f"Kafka {self.version}{mode} has no share groups, 4.2 is the first (KIP-932): set `version` "
            "below `cluster`"
        )

    @property
    def has_group_limits(self) -> bool:
        """Whether a share group can have a delivery limit of its own."""
        return self._is_from(SHARE_LIMITS)

    def _is_from(self, version: tuple[int, int]) -> bool:
        """Whether Kafka has this version or a later one. True if the version is not known (an existing
        cluster, or an image without a version)."""
        numbers = self._version_numbers
        return self.existing is not None or len(numbers) < 2 or tuple(numbers) >= version

    @property
    def _version_numbers(self) -> list[int]:
        return [int(part) for part in self.version.split(".")[:2] if part.isdigit()]

    @model_validator(mode="after")
    def _check_version(self) -> ClusterSpec:
        numbers = self._version_numbers
        if len(numbers) < 2:
            return self
        if self.metadata is Metadata.ZOOKEEPER and numbers[0] >= 4:
            raise ValueError(
                f"Kafka {self.version} has no ZooKeeper mode: 3.9 was the last version with it (KIP-833)"
            )
        if self.metadata is Metadata.KRAFT and numbers < [3, 3]:
            raise ValueError(
                f"Kafka {self.version} has no production-ready KRaft mode, 3.3 was the first (KIP-833): "
                "set `metadata: zookeeper`"
            )
        if self.metadata is Metadata.ZOOKEEPER and self.features:
            raise ValueError("only KRaft clusters have `features`: with `metadata: zookeeper` leave them out")
        if self.metadata is Metadata.ZOOKEEPER and (self.loggers or self.metadata_version):
            raise ValueError(
                "only KRaft clusters have `loggers` and `metadata_version`: with `metadata: zookeeper` leave "
                "them out"
            )
        if self.metadata is Metadata.ZOOKEEPER and (self.combined or self.controllers != 1):
            raise ValueError("with `metadata: zookeeper` leave `controllers` and `combined` out")
        if self.security is not None:
            kraft = self.metadata is Metadata.KRAFT
            refusal = self.security.refusal((numbers[0], numbers[1]), kraft=kraft)
            if refusal is not None:
                raise ValueError(f"{refusal}; the version is {self.version}")
        return self

    @model_validator(mode="after")
    def _check_existing(self) -> ClusterSpec:
        if self.existing is None and self.brokers > MOST_BROKERS:
            raise ValueError(
                f"brokers is {self.brokers}: a cluster that kafka-chaos starts has at most {MOST_BROKERS}"
            )
        changed = self.model_fields_set - {"existing", "brokers", "profile", "controllers"}
        if self.existing is not None:
            odd = sorted(name for name in changed if getattr(self, name) != _default(type(self), name))
            if odd:
                raise ValueError(
                    f"{odd[0]} is only for clusters that kafka-chaos starts: with `existing` leave it out"
                )
        return self

    @model_validator(mode="after")
    def _check_broker_properties(self) -> ClusterSpec:
        for number in self.broker_properties:
            if not 1 <= number <= self.brokers:
                raise ValueError(
                    f"broker_properties names broker {number}; the cluster has brokers 1 to {self.brokers}"
                )
        return self

    @model_validator(mode="after")
    def _check_combined(self) -> ClusterSpec:
        if self.combined and self.controllers != self.brokers:
            raise ValueError(
                f"with `combined: true` every broker is a controller: controllers must be {self.brokers}, "
                f"not {self.controllers}"
            )
        return self


def _default(model: type[BaseModel], name: str) -> object:
    return model.model_fields[name].get_default(call_default_factory=True)


def rack_of(broker: int) -> str:
    """The rack of a broker in a cluster with racks."""
    return f"r{broker}"
