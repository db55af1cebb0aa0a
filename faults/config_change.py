"""Config change: settings of the topic or of brokers get other values while everything runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import islice
from typing import Literal

from pydantic import Field, field_validator, model_validator

from faults.shared.dynamic_settings import OF_BROKERS, OF_TOPICS, TOPIC_NAMES
from faults.shared.fault_spec import Evidence, FaultSpec, Injection, InjectionContext, TopicEffect
from faults.shared.waiting import ANSWER_SECONDS, MeasuredInjection, await_or_fail, until_answered
from faults.shared.words import node_name, node_names
from faults.targets import Target
from faults.targets.fault_cluster import FaultCluster
from faults.targets.target_context import ClusterShape
from harness.model.broker_views import SettingState
from harness.model.errors import ClusterError, FaultError, did_you_mean
from harness.model.frozen import Frozen, Setting
from harness.model.polling import poll_within

_BACK_SECONDS = 90.0
_GONE = "UNKNOWN_TOPIC_OR_PARTITION"


class Changed(Frozen):
    """The settings of one broker (None: of the topic): names with new values, and with the values that were
    set for it before (None: none, so that a default or a value for all applied)."""

    broker: int | None
    new: dict[str, str]
    before: dict[str, str | None]


class SettingsChanged(MeasuredInjection, Injection):
    """Settings were changed."""

    proof_seconds = 15.0
    proof_pause = 0.25

    changes: tuple[Changed, ...]

    @property
    def nodes(self) -> tuple[int, ...]:
        return tuple(sorted(change.broker for change in self.changes if change.broker is not None))

    @property
    def target(self) -> str:
        where = node_names(self.nodes) if self.nodes else "the topic"
        return f"{where}: " + ", ".join(f"{name}={value}" for name, value in self.changes[0].new.items())

    @property
    def on_topic(self) -> TopicEffect:
        new = self.changes[0].new
        if not self.nodes:
            return TopicEffect(config=new)
        named = {TOPIC_NAMES[name]: value for name, value in new.items() if name in TOPIC_NAMES}
        return TopicEffect(config=named, every_topic=True)

    def apply(self, context: InjectionContext) -> None:
        for change in self.changes:
            refused = until_answered(partial(_change, context, change.broker, change.new))
            if refused is not None:
                raise FaultError(
                    "Kafka refused a setting",
                    where=self.target,
                    found=refused,
                    next_step="correct the value: Kafka's documentation of topic and broker configs has them",
                )

    def measure(self, context: InjectionContext) -> Evidence:
        settings = [
            (number, name, now.get(name), change)
            for change, number, now in self._answers(context)
            if now is not None
            for name in change.new
        ]
        facts: dict[str, object] = {
            "settings": [
                {"broker": number, "setting": name, "value": None if now is None else now.value}
                for number, name, now, _ in settings
            ]
        }
        for number, name, now, change in settings:
            value = None if now is None else now.value
            if value is None or value.lower() != change.new[name].lower():
                return Evidence(False, f"{node_name(number)} reports {name}={value}", facts)
        if not settings or set(self.nodes) - {number for number, *_ in settings}:
            return Evidence(False, f"not every broker answers: {self.target}", facts)
        words = {
            f"{name} from {_words(changed.before[name])} to {changed.new[name]}"
            for *_, name, _, changed in settings
        }
        brokers = node_names({number for number, *_ in settings})
        return Evidence(True, f"{brokers} reports {', '.join(sorted(words))}", facts)

    def undo(self, context: InjectionContext) -> None:
        for change in self.changes:
            try:
                refused = _change(context, change.broker, change.before)
            except ClusterError:
                # Down or cut off: `healed` tries again.
                continue
            if refused is not None and _GONE not in refused:
                raise FaultError("Kafka refused the former setting", where=self.target, found=refused)

    def healed(self, context: InjectionContext) -> Evidence:
        def missing() -> str | None:
            left = self._not_set_back(context)
            if left is not None:
                self.undo(context)
            return left

        await_or_fail(
            _BACK_SECONDS,
            missing,
            "a setting was not set back",
            where=self.target,
            expected="the former values",
            next_step="does every broker answer? `kafka-chaos heal` tries again",
        )
        return Evidence(True, "every broker that was asked reports the former values")

    def _not_set_back(self, context: InjectionContext) -> str | None:
        answers = self._answers(context)
        silent = {number for _, number, now in answers if now is None}
        # Settings of the topic are all brokers': those that answer are enough.
        if silent & set(self.nodes) or len(silent) == len(answers):
            return f"{node_names(silent)} does not answer"
        for change, number, now in answers:
            # A topic that was deleted has no settings.
            for name, value in change.before.items() if now else ():
                state = now.get(name) if now else None
                found = state.value if state is not None and state.own else None
                if found != value:
                    return f"{node_name(number)} reports {name}={found}, not {_words(value)}"
        return None

    def _answers(
        self, context: InjectionContext
    ) -> list[tuple[Changed, int, Mapping[str, SettingState] | None]]:
        """What every broker reports of the topic's settings, and each broker of its own (None: no answer)."""
        return [
            (
                change,
                number,
                context.cluster.settings(number, context.topic if change.broker is None else None),
            )
            for change in self.changes
            for number in (context.cluster.broker_ids if change.broker is None else (change.broker,))
        ]


class ConfigChange(FaultSpec):
    """Settings get other values while everything runs, as with `kafka-configs.sh --alter`: those of the topic
    under test, or of the brokers of `target`; healed by setting the former values back.

    Settings of the topic, such as min.insync.replicas, retention.ms or max.message.bytes, apply to every
    replica. Those of brokers, such as num.io.threads, message.max.bytes or log.retention.ms, are set for each
    broker of the target alone, over what is set for all; of these the topic's own settings win. Only what
    Kafka can change in a running cluster is accepted (KIP-226); settings of listeners and credentials are
    not.

    What Kafka does: the controller writes the change to the metadata log, and every broker applies it when it
    has read it. With min.insync.replicas above the size of the ISR, acks=all gets NOT_ENOUGH_REPLICAS; below
    max.message.bytes nothing is lost, larger batches get MESSAGE_TOO_LARGE (producers do not send them
    again); segments that a shorter retention makes too old go at the next check
    (log.retention.check.interval.ms, 5 minutes); num.io.threads and num.network.threads can be halved or
    doubled at most at once.

    The check counts what a retention may have deleted while it was in force as `expired`.

    Proof: every broker that answers reports the new value itself (of brokers: each of the target).
    """

    kind: Literal["config_change"] = "config_change"
    external = "requests"
    injection = SettingsChanged

    set_: dict[str, Setting] = Field(
        alias="set", min_length=1, description="settings by Kafka's names, with their new values"
    )
    target: Target | None = Field(
        default=None, description="brokers whose settings are changed; default: the topic's are"
    )

    @field_validator("set_")
    @classmethod
    def _values(cls, value: dict[str, str]) -> dict[str, str]:
        for name, setting in value.items():
            if not setting.strip():
                raise ValueError(f"{name} has no value")
        return value

    @model_validator(mode="after")
    def _dynamic(self) -> ConfigChange:
        known, other = (OF_TOPICS, OF_BROKERS) if self.target is None else (OF_BROKERS, OF_TOPICS)
        whose = "a topic" if self.target is None else "a broker"
        for name in self.set_:
            if name in known:
                continue
            if name in other:
                hint = "leave `target` out" if self.target is not None else "name its brokers as `target`"
            else:
                hint = did_you_mean(name, known, "docs/faults/config_change.md says which are possible")
            raise ValueError(f"{name} is no setting of {whose} that Kafka can change while it runs; {hint}")
        return self

    def __hash__(self) -> int:
        # Faults are hashed by schedules, and a dictionary is not.
        return hash((frozenset(self.set_.items()), self.target))

    @property
    def of_topic(self) -> bool:
        return self.target is None

    def warnings(self, shape: ClusterShape) -> tuple[str, ...]:
        super().warnings(shape)
        target = self.target
        if target is not None and (target.may_include_client() or not target.max_brokers(shape)):
            raise ValueError(f"target `{self.target}`: only brokers have such settings")
        isr = self.set_.get("min.insync.replicas", "")
        if isr.isdigit() and int(isr) > shape.replication_factor:
            return (
                f"min.insync.replicas={isr} is above the replication factor ({shape.replication_factor}): "
                "sends with acks=all are refused, unless this Kafka takes it for the replication factor",
            )
        return ()

    def aim(self, context: InjectionContext) -> SettingsChanged:
        if self.target is None:
            numbers: tuple[int | None, ...] = (None,)
        else:
            resolved = self.target.resolve(context.snapshot())
            numbers = tuple(number for number in resolved if number in context.cluster.broker_ids)
        return SettingsChanged(changes=tuple(self._changed(context, number) for number in numbers))

    def _changed(self, context: InjectionContext, number: int | None) -> Changed:
        topic = context.topic if number is None else None
        asked = context.cluster.broker_ids if number is None else (number,)
        now = _answered(context.cluster, asked, topic)
        where = context.topic if number is None else node_name(number)
        if now is None:
            raise FaultError(
                "the present settings are not known",
                where=where,
                expected="an answer of " + ("a broker" if number is None else "this broker"),
                found=f"none within {ANSWER_SECONDS:g} s",
                next_step="inject the fault when it answers",
            )
        for name in self.set_:
            if name not in now or now[name].read_only:
                raise FaultError(
                    f"{name} cannot be changed while the cluster runs",
                    where=where,
                    expected="a dynamic setting of this Kafka version",
                    found="no such setting" if name not in now else "a read-only one",
                    next_step="leave it out",
                )
        before = {name: now[name].value if now[name].own else None for name in self.set_}
        return Changed(broker=number, new=dict(self.set_), before=before)


def _change(context: InjectionContext, broker: int | None, values: Mapping[str, str | None]) -> str | None:
    return context.cluster.change_settings(broker, context.topic if broker is None else None, values)


def _words(value: str | None) -> str:
    return "the default" if value is None else value


def _answered(
    cluster: FaultCluster, asked: Sequence[int], topic: str | None
) -> Mapping[str, SettingState] | None:
    """The settings as told by the first broker that answers. One that has just been started is waited for."""
    settings: list[Mapping[str, SettingState]] = []

    def missing() -> str | None:
        answers = (cluster.settings(broker, topic) for broker in asked)
        settings.extend(islice(filter(None, answers), 1))
        return None if settings else "no answer"

    poll_within(ANSWER_SECONDS, missing)
    return settings[0] if settings else None
