"""Finalize: the feature levels of the cluster become those of a release, as at the end of an upgrade."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, field_validator

from faults.shared.fault_spec import Evidence, FaultSpec, Injection, InjectionContext
from faults.targets.target_context import ClusterShape
from harness.model.errors import FaultError
from harness.model.kafka_releases import METADATA, level_name, new_levels, release_of
from harness.model.polling import poll_within

_SECONDS = 30.0
_TOO_EARLY = "register"
"""In Kafka's refusal while a controller has not registered its features since its restart."""


class Finalized(Injection):
    """The features got these `levels`, in this order; `before` holds the former level of each. `brokers` were
    alive when it was aimed."""

    release: str
    levels: tuple[tuple[str, int], ...]
    before: tuple[tuple[str, int], ...]
    brokers: tuple[int, ...]

    @property
    def nodes(self) -> tuple[int, ...]:
        return self.brokers

    @property
    def target(self) -> str:
        return f"features of Kafka {self.release}"

    def apply(self, context: InjectionContext) -> None:
        refused: dict[str, str] = {}

        def missing() -> str | None:
            refused.update(context.cluster.set_features(dict(self.levels)))
            early = [why for why in refused.values() if _TOO_EARLY in why]
            if early:
                refused.clear()
            return early[0] if early else None

        left = poll_within(_SECONDS, missing, every=1.0)
        if left is not None or refused:
            raise FaultError(
                "Kafka refuses to finalise the features of a release",
                where=self.target,
                expected=", ".join(f"{name} {_named(name, level)}" for name, level in self.levels),
                found=left or "; ".join(f"{name}: {why}" for name, why in refused.items()),
                next_step="does every node run a version that knows these levels? docs/how-to/upgrade.md",
            )

    def verify(self, context: InjectionContext) -> Evidence:
        facts: dict[str, object] = {"before": dict(self.before), "levels": dict(self.levels)}
        left = self._await_levels(context)
        if left is not None:
            return Evidence(False, left, facts)
        before = dict(self.before)
        changes = ", ".join(
            f"{name} {_named(name, before[name])} -> {_named(name, level)}" for name, level in self.levels
        )
        return Evidence(True, f"finalised, says every broker: {changes}", facts)

    def undo(self, context: InjectionContext) -> None:
        """A finalised level stays."""

    def healed(self, context: InjectionContext) -> Evidence:
        left = self._await_levels(context)
        return Evidence(left is None, left or "nothing to undo: the finalised levels stay")

    def _await_levels(self, context: InjectionContext) -> str | None:
        """Wait until every broker knows the levels; returns what is missing after 30 s."""

        def missing() -> str | None:
            for broker in self.brokers:
                features = context.cluster.features(broker)
                if features is None:
                    return f"broker {broker} does not answer"
                for name, level in self.levels:
                    found = features.finalized.get(name, 0)
                    if found != level:
                        return (
                            f"broker {broker} knows {name} {_named(name, found)}, not {_named(name, level)}"
                        )
            return None

        return poll_within(_SECONDS, missing, every=0.3)


def _as_text(value: Any) -> Any:
    """YAML reads 4.1 as a number."""
    return str(value) if isinstance(value, float) else value


class Finalize(FaultSpec):
    """The finalised feature levels of the cluster become those of a release, as at the end of an upgrade.

    These are metadata.version and, unless `only_metadata`, transaction.version, group.version,
    eligible.leader.replicas.version, share.version and streams.version, as far as the release has them: what
    `kafka-features.sh upgrade --release-version` sets (KIP-584, KIP-778, KIP-1022).

    What Kafka does: every node has to support the levels; from then on records of the new formats are
    written, and a version that does not know them no longer starts. The levels of an older release are set by
    safe downgrades. Kafka allows this for metadata.version only if no version in between changed the records
    of the metadata log: from 4.1 and 4.2 down to 4.0, but not below 4.0, nor from 4.3 or 4.4. Unsafe
    downgrades are not implemented up to 4.4 (KIP-778, KIP-1155). What it would refuse is refused before
    anything starts, and so is a version that does not know a level that was lowered: nodes may still read it
    in the metadata log.

    Levels are not undone: they stay when the fault is healed, and the next run gets a new cluster.

    Proof: every broker names the new levels as finalised (ApiVersions). Healed: the same.
    """

    kind: Literal["finalize"] = "finalize"
    injection = Finalized
    leaves = {"the finalised levels": ()}

    release: Annotated[str, BeforeValidator(_as_text, json_schema_input_type=str | float)] = Field(
        description="the release, such as 4.1"
    )
    only_metadata: bool = Field(default=False, description="metadata.version alone, and no other feature")

    @field_validator("release")
    @classmethod
    def _known(cls, value: str) -> str:
        return release_of(value).line

    def aim(self, context: InjectionContext) -> Finalized:
        cluster = context.cluster
        brokers = context.running(cluster.broker_ids)
        answers = (cluster.features(broker) for broker in brokers)
        features = next((answer for answer in answers if answer is not None), None)
        if features is None:
            raise FaultError(
                "no broker tells which features are finalised",
                where="ApiVersions",
                expected="an answer from a broker within 2 s",
                next_step="finalise when a broker is up",
            )
        levels = new_levels(features.finalized, release_of(self.release), metadata_only=self.only_metadata)
        if not levels:
            raise FaultError(
                "there is nothing to finalise",
                where=f"features of Kafka {self.release}",
                expected="a level that differs from the finalised one",
                found=f"metadata.version is {level_name(features.finalized.get(METADATA, 0))} already",
                next_step="name another release, or leave the fault out",
            )
        before = tuple((name, features.finalized.get(name, 0)) for name in levels)
        return Finalized(release=self.release, levels=tuple(levels.items()), before=before, brokers=brokers)

    def warnings(self, shape: ClusterShape) -> tuple[str, ...]:
        if shape.zookeepers:
            raise ValueError("a ZooKeeper cluster has no metadata.version to finalise: leave it out")
        return super().warnings(shape)


def _named(feature: str, level: int) -> str:
    return level_name(level) if feature == METADATA else str(level)
