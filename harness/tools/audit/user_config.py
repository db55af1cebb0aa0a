"""Puts a user's own configuration of producer, topic and brokers, in any format that is read, into an
experiment."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from harness.model.config.properties import PropertyLine
from harness.model.errors import BadInput, located_words_of
from harness.model.secrets import is_secret
from harness.spec.experiment import Arm, Experiment
from harness.tools.audit.config_file import sole_section
from harness.tools.audit.config_reader import read_config
from harness.tools.audit.known_settings import SettingKind, canonical, closest_setting, known_settings
from harness.tools.audit.user_producer import UserProducer, user_producer

STANDARD = "standard"
"""The experiment for a configuration without a named experiment."""
ARM = "own"
_OURS = (
    *("node.id", "broker.id", "process.roles", "listener", "advertised.", "controller.", "zookeeper."),
    *("inter.broker.listener", "log.dir", "metadata.log.dir", "security.", "ssl.", "sasl.", "super.users"),
    "authorizer.",
)
"""Prefixes of broker settings that belong to one broker of one cluster."""
_ON_TOPICS = {
    "default.replication.factor": "replication.factor",
    "num.partitions": "partitions",
    "message.max.bytes": "max.message.bytes",
}
"""Brokers' settings -> the topic's that override them, where their names differ by more than `log.`."""


@dataclass(frozen=True, slots=True)
class UserConfig:
    """Files of a configuration; None: the experiment's own is kept."""

    producer: Path | None = None
    topic: Path | None = None
    broker: Path | None = None

    def __bool__(self) -> bool:
        return any((self.producer, self.topic, self.broker))

    def files(self) -> list[tuple[SettingKind, Path]]:
        """The files that are given, and what each is to configure."""
        given = (SettingKind.BROKER, self.broker), (SettingKind.TOPIC, self.topic)
        return [(kind, path) for kind, path in (*given, (SettingKind.PRODUCER, self.producer)) if path]


def with_user_config(experiment: Experiment, own: UserConfig) -> tuple[Experiment, tuple[str, ...]]:
    """The experiment with this configuration instead of its own, and the settings that are not used or have
    no effect, each with the reason.

    With a producer configuration there is one arm, `own`, with the promise that nothing is lost, and, if it
    is idempotent, that nothing is written twice.

    Raises:
        BadInput: a file cannot be read, or the client refuses the configuration.
    """
    changes: dict[str, Any] = {}
    left_out: list[str] = []
    entries: dict[SettingKind, tuple[PropertyLine, ...]] = {}
    for kind, path in own.files():
        file = read_config(path)
        section, unused = sole_section(file, kind)
        entries[kind] = section.entries
        left_out += unused
        if kind is SettingKind.BROKER:
            properties, unused = _broker(entries[kind])
            cluster = experiment.cluster
            changes["cluster"] = {**cluster.model_dump(), "properties": {**cluster.properties, **properties}}
            left_out += unused
        elif kind is SettingKind.TOPIC:
            changes["topic"] = _topic(experiment, entries[kind], path)
        else:
            producer = user_producer(section.entries, path, section.client)
            changes["arms"] = [_arm(experiment, producer)]
            left_out += [f"{name}: {why}" for name, why in producer.left_out.items()]
    whole = experiment.model_dump(by_alias=True, exclude_none=True, mode="json")
    try:
        changed = Experiment.model_validate({**whole, **changes})
        return changed, (*left_out, *_without_effect(changed, entries))
    except ValidationError as error:
        raise BadInput(
            "the configuration does not fit the experiment",
            where=", ".join(str(path) for _, path in own.files()),
            found=located_words_of(error),
            next_step="correct the configuration, or name another experiment",
        ) from None


def _without_effect(
    experiment: Experiment, entries: dict[SettingKind, tuple[PropertyLine, ...]]
) -> Iterator[str]:
    """The settings of the files that the experiment, or another one of the files, overrides."""
    given = {
        kind: {canonical(line.name): line.value.strip() for line in some} for kind, some in entries.items()
    }
    topic, own_topic = experiment.topic, given.get(SettingKind.TOPIC, {})
    facts = {"replication.factor": str(topic.replication_factor), "partitions": str(topic.partitions)}
    for arm in experiment.arms:
        for name, value in own_topic.items():
            if arm.topic.get(name, value) != value:
                set_to = f"sets {name}={arm.topic[name]} in the arm {arm.name}"
                yield f"{name}: the experiment {set_to}, so {value} of your file has no effect"
    for name, value in given.get(SettingKind.BROKER, {}).items():
        on_topic = _ON_TOPICS.get(name, name.removeprefix("log."))
        used = {**topic.config, **facts}.get(on_topic)
        if used is not None and used != value:
            who = "your topic file" if on_topic in own_topic else "the experiment"
            sets = f"{who} sets {on_topic}={used} on the topic"
            yield f"{name}: {sets}, so {value} of your file has no effect"


def _arm(experiment: Experiment, producer: UserProducer) -> dict[str, Any]:
    arm = Arm(
        name=ARM,
        producer=producer.settings,
        workload=_workload(experiment, producer.transactional),
        promise=producer.promise,
    )
    return arm.model_dump(by_alias=True, exclude_none=True, mode="json")


def _workload(experiment: Experiment, transactional: bool) -> Any:
    if not transactional or experiment.workload.transactional:
        return None
    return type(experiment.workload).model_validate({**experiment.workload.model_dump(), "transactions": {}})


def _topic(experiment: Experiment, entries: Sequence[PropertyLine], path: Path) -> dict[str, Any]:
    topic = experiment.topic.model_dump(exclude_none=True)
    config = dict(experiment.topic.config)
    for entry in entries:
        name, value = canonical(entry.name), entry.value.strip()
        if name in ("partitions", "replication.factor"):
            topic.pop("assignment", None)
            topic[name.replace(".", "_")] = value
        elif name in known_settings() and SettingKind.TOPIC in known_settings()[name].kinds:
            config[name] = value
        else:
            close = closest_setting(entry.name)
            raise BadInput(
                f"topics have no setting {entry.name!r}",
                where=f"{path}, line {entry.line}",
                expected=f"did you mean {close!r}?" if close else "the name of a topic setting in Kafka",
                next_step="correct the name, or move it to the file that it belongs to",
            )
    return {**topic, "config": config}


def _broker(entries: Sequence[PropertyLine]) -> tuple[dict[str, str], list[str]]:
    used: dict[str, str] = {}
    unused = []
    for entry in entries:
        if entry.name.startswith(_OURS) or is_secret(entry.name, entry.value):
            unused.append(f"{entry.name}: the experiment's cluster has its own")
        else:
            used[entry.name] = entry.value.strip()
    return used, unused
