"""The specification of a cluster, as validated data: the same for Testcontainers and Compose. Of an existing
cluster: addresses, client configuration, and which containers it consists of."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import Field, SerializerFunctionWrapHandler, field_validator, model_serializer, model_validator

from harness.model.defaults import DEFAULT_VERSION
from harness.model.frozen import Frozen, Setting
from harness.model.node_layout import MOST_CONTROLLERS
from harness.spec.security import SecuritySpec

_OF_EXISTING = {"existing", "brokers", "profile", "controllers", "proxy"}
"""The fields of a cluster that kafka-chaos has not started."""
_SERVER = re.compile(r"^\[?[A-Za-z0-9._:-]+\]?:\d{1,5}$")


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
MOST_EXISTING = 1000

SHARE_FEATURE = "share.version"
"""The feature that enables share groups in Kafka 4.1, which has them as a preview."""
SMALLEST_LOCK_PROPERTY = "group.share.min.record.lock.duration.ms"


class ExternalClusterSpec(Frozen):
    """A cluster that kafka-chaos did not start: the topic of a run is created there and deleted at the end,
    and nothing else is changed. `client_config` is a client's properties file with its security settings, by
    Java's or librdkafka's names. `containers` is a label (`name` or `name=value`) of the brokers' containers
    on this machine, for faults on them; they are never removed. `broker_ids` are the ids of its brokers
    (None: known once it is connected to).
    """

    bootstrap_servers: str = Field(description="host:port of some brokers, separated by commas")
    client_config: str | None = Field(None, description="a properties file; its secrets are not copied")
    containers: str | None = Field(None, description="label of the brokers' containers")
    broker_ids: tuple[Annotated[int, Field(ge=0)], ...] | None = Field(
        None, min_length=1, description="the ids of its brokers; default: found when it is connected to"
    )

    @field_validator("broker_ids")
    @classmethod
    def _ascending(cls, value: tuple[int, ...] | None) -> tuple[int, ...] | None:
        return None if value is None else tuple(sorted(set(value)))

    @field_validator("bootstrap_servers")
    @classmethod
    def _addresses(cls, value: str) -> str:
        for server in value.split(","):
            port = server.strip().rpartition(":")[2]
            if not _SERVER.match(server.strip()) or not 0 < int(port) < 65536:
                raise ValueError(f"{server.strip()!r} is not host:port")
        return value

    @property
    def servers(self) -> tuple[tuple[str, int], ...]:
        """Host and port of each server."""
        parts = [server.strip().rpartition(":") for server in self.bootstrap_servers.split(",")]
        return tuple((host.strip("[]"), int(port)) for host, _, port in parts)


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
    `security` is how clients must authenticate (None: plain text, without authentication). `proxy` puts a
    proxy before every listener of brokers and controllers, which faults can tell what to do with requests; a
    broker then sees each connection come from 127.0.0.1. `existing` is a
    cluster that kafka-chaos did not start: besides it only `brokers`, their number, and `proxy` may be set.
    """

    brokers: int = Field(3, ge=1, le=MOST_EXISTING)
    controllers: int = Field(1, ge=1, le=MOST_CONTROLLERS)
    combined: bool = False
    metadata: Metadata = Metadata.KRAFT
    version: str = DEFAULT_VERSION
    image: str | None = None
    profile: Profile = Profile.FAST
    properties: dict[str, Setting] = Field(default_factory=dict)
    broker_properties: dict[int, dict[str, Setting]] = Field(default_factory=dict)
    features: dict[str, Annotated[int, Field(ge=0)]] = Field(default_factory=dict)
    metadata_version: str | None = Field(None, pattern=r"^\d+\.\d+-IV\d+$")
    loggers: dict[str, Literal["ERROR", "WARN", "INFO", "DEBUG", "TRACE"]] = Field(default_factory=dict)
    disk_mib: int | None = None
    skewable_clocks: bool = False
    racks: bool = False
    security: SecuritySpec | None = None
    proxy: bool = False
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
        """Whether groups can use `group.protocol: consumer`, for production since Kafka 4.0 (KIP-848)."""
        return self._is_from((4, 0))

    @property
    def without_share_groups(self) -> str | None:
        """Why the cluster has no share groups; None: it has, or this is not known (an existing cluster, an
        image without a version)."""
        if self._is_from((4, 2)):
            return None
        mode = " with ZooKeeper" if self.metadata is Metadata.ZOOKEEPER else ""
        if self.version_numbers == (4, 1) and not mode:
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
    def controllers_advertise(self) -> bool:
        """Whether controllers have to be told what to advertise: with a proxy, and since Kafka 3.9, before
        which they cannot (KIP-853)."""
        return self.proxy and self._is_from((3, 9))

    @property
    def has_group_limits(self) -> bool:
        """Whether a share group can have a delivery limit of its own, as since Kafka 4.3 (KIP-1240)."""
        return self._is_from((4, 3))

    def _is_from(self, version: tuple[int, int]) -> bool:
        """Whether Kafka has this version or a later one. True if the version is not known (an existing
        cluster, or an image without a version)."""
        numbers = self.version_numbers
        return self.existing is not None or len(numbers) < 2 or numbers >= version

    @property
    def version_numbers(self) -> tuple[int, ...]:
        """The first two numbers of Kafka's version; fewer, if it is not known."""
        return tuple(int(part) for part in self.version.split(".")[:2] if part.isdigit())

    @model_validator(mode="after")
    def _check_version(self) -> ClusterSpec:
        numbers = self.version_numbers
        if len(numbers) < 2:
            return self
        zookeeper = self.metadata is Metadata.ZOOKEEPER
        if zookeeper and numbers[0] >= 4:
            raise ValueError(
                f"Kafka {self.version} has no ZooKeeper mode: 3.9 was the last version with it (KIP-833)"
            )
        if not zookeeper and numbers < (3, 3):
            raise ValueError(
                f"Kafka {self.version} has no production-ready KRaft mode, 3.3 was the first (KIP-833): "
                "set `metadata: zookeeper`"
            )
        if zookeeper and self.features:
            raise ValueError("only KRaft clusters have `features`: with `metadata: zookeeper` leave them out")
        if zookeeper and (self.loggers or self.metadata_version):
            raise ValueError(
                "only KRaft clusters have `loggers` and `metadata_version`: with `metadata: zookeeper` leave "
                "them out"
            )
        if zookeeper and (self.combined or self.controllers != 1):
            raise ValueError("with `metadata: zookeeper` leave `controllers` and `combined` out")
        refusal = self.security and self.security.refusal(numbers, kraft=not zookeeper)
        if refusal:
            raise ValueError(f"{refusal}; the version is {self.version}")
        return self

    @model_serializer(mode="wrap")
    def _said(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Of an existing cluster only what can be said of it: what is written down can then be read where
        other defaults apply, such as a newer version of Kafka."""
        data: dict[str, Any] = dump(self)
        if self.existing is not None:
            data = {name: value for name, value in data.items() if name in _OF_EXISTING}
        return data

    @model_validator(mode="after")
    def _check_nodes(self) -> ClusterSpec:
        if self.existing is not None:
            fields = type(self).model_fields
            odd = sorted(
                name
                for name in self.model_fields_set - _OF_EXISTING
                if getattr(self, name) != fields[name].get_default(call_default_factory=True)
            )
            if odd:
                raise ValueError(
                    f"{odd[0]} is only for clusters that kafka-chaos starts: with `existing` leave it out"
                )
            if (ids := self.existing.broker_ids) is not None and len(ids) != self.brokers:
                raise ValueError(
                    f"brokers is {self.brokers}, but existing.broker_ids names {', '.join(map(str, ids))}"
                )
        elif self.brokers > MOST_BROKERS:
            raise ValueError(
                f"brokers is {self.brokers}: a cluster that kafka-chaos starts has at most {MOST_BROKERS}"
            )
        for number in self.broker_properties:
            if not 1 <= number <= self.brokers:
                raise ValueError(
                    f"broker_properties names broker {number}; the cluster has brokers 1 to {self.brokers}"
                )
        if self.combined and self.controllers != self.brokers:
            raise ValueError(
                f"with `combined: true` every broker is a controller: controllers must be {self.brokers}, "
                f"not {self.controllers}"
            )
        return self


def rack_of(broker: int) -> str:
    """The rack of a broker in a cluster with racks."""
    return f"r{broker}"


class OutputCluster(Frozen):
    """A cluster of one broker, of the same Kafka version as the experiment's, for the output of an
    application. Each run has one of its own; no fault acts on it."""

    properties: dict[str, Setting] = Field(
        default_factory=dict, description="broker properties, by Kafka's names"
    )


def output_cluster_spec(main: ClusterSpec, second: OutputCluster) -> ClusterSpec:
    """The second cluster of an experiment on the cluster `main`, which kafka-chaos starts."""
    return ClusterSpec(
        brokers=1,
        combined=main.metadata is Metadata.KRAFT,
        metadata=main.metadata,
        version=main.version,
        image=main.image,
        profile=main.profile,
        properties=second.properties,
    )
