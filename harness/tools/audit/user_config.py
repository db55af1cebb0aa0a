"""Puts a user's own configuration of producer, topic and brokers, in any format that is read, into an
experiment; Java's names of producer settings become librdkafka's, which our producers use."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from confluent_kafka import KafkaException, Producer
from pydantic import ValidationError

from harness.model.config.properties import PropertyLine
from harness.model.errors import BadInput, located_words_of
from harness.model.secrets import is_secret, without_secrets
from harness.spec.experiment import Arm, Experiment
from harness.tools.audit.config_file import ConfigFile
from harness.tools.audit.config_reader import read_config
from harness.tools.audit.effective_settings import EffectiveSettings, client_of
from harness.tools.audit.known_settings import (
    ClientLibrary,
    SettingKind,
    canonical,
    closest_setting,
    known_settings,
)
from workloads.records.clients import client_logger
from workloads.records.config.producer_settings import ProducerSettings

STANDARD = "standard"
"""The experiment for a configuration without a named experiment."""
ARM = "own"
_OURS = (
    *("node.id", "broker.id", "process.roles", "listener", "advertised.", "controller.", "zookeeper."),
    *("inter.broker.listener", "log.dir", "metadata.log.dir", "security.", "ssl.", "sasl.", "super.users"),
    "authorizer.",
)
"""Prefixes of broker settings that belong to one broker of one cluster."""
_FIELDS = frozenset(
    str(field.alias or name) for name, field in ProducerSettings.model_fields.items() if name != "extra"
)
"""The settings with a field in `ProducerSettings`, by Kafka's names."""
_OTHER_NAMES = {
    "max.request.size": "message.max.bytes",
    "send.buffer.bytes": "socket.send.buffer.bytes",
    "receive.buffer.bytes": "socket.receive.buffer.bytes",
    "metadata.max.age.ms": "topic.metadata.refresh.interval.ms",
    "compression.gzip.level": "compression.level",
    "compression.lz4.level": "compression.level",
    "compression.zstd.level": "compression.level",
}
"""Java's name -> librdkafka's of the same meaning."""
_CONNECTION = ("bootstrap.servers", "security.", "sasl.", "ssl.", "client.dns.lookup", "metadata.recovery.")
_NO_EQUIVALENT = (
    "max.block.ms",
    "partitioner.class",
    "interceptor.classes",
    "key.serializer",
    "value.serializer",
)
_ON_TOPICS = {
    "default.replication.factor": "replication.factor",
    "num.partitions": "partitions",
    "message.max.bytes": "max.message.bytes",
}
"""Brokers' settings -> the topic's that override them, where their names differ by more than `log.`."""
_JAVA_IN_FLIGHT = 5
_LONGEST_SOCKET_MS = 300_000


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
        entries[kind], client, unused = _section(file, kind)
        left_out += unused
        if kind is SettingKind.BROKER:
            properties, unused = _broker(entries[kind])
            cluster = experiment.cluster
            changes["cluster"] = {**cluster.model_dump(), "properties": {**cluster.properties, **properties}}
            left_out += unused
        elif kind is SettingKind.TOPIC:
            changes["topic"] = _topic(experiment, entries[kind], path)
        else:
            arm, without = _arm(experiment, entries[kind], path, client)
            changes["arms"] = [arm]
            left_out += without
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


def _section(
    file: ConfigFile, kind: SettingKind
) -> tuple[tuple[PropertyLine, ...], ClientLibrary | None, list[str]]:
    """The entries of the one section of this kind, its client (None: by the names), and what else the file
    configures."""
    sections = [section for section in file.sections if section.kind in (kind, None) and not section.alone]
    if len(sections) != 1:
        raise BadInput(
            f"this file does not have one {kind}" if sections else f"this file has no {kind}",
            where=str(file.path),
            found=f"{file.format}: {', '.join(section.title or 'settings' for section in file.sections)}",
            next_step=f"cut out the settings of one {kind}"
            if sections
            else "name the file by another option",
        )
    others = [
        f"{section.title}: only the {kind} of this file"
        for section in file.sections
        if section is not sections[0]
    ]
    return sections[0].entries, sections[0].client, others


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


def _arm(
    experiment: Experiment, entries: Sequence[PropertyLine], path: Path, client: ClientLibrary | None
) -> tuple[dict[str, Any], tuple[str, ...]]:
    effective = EffectiveSettings(tuple(entries), client or client_of(entries))
    fields, left_out = _to_librdkafka(effective)
    values = {entry.name: entry.value for entry in entries}
    transactional_id = "own" if effective.transactional else None
    try:
        settings = ProducerSettings.model_validate(fields)
        if effective.transactional:
            settings.check_transactional()
        given = settings.to_librdkafka("127.0.0.1:1", transactional_id)
        Producer({**given, "log_level": 0}, logger=client_logger())
    except ValidationError as error:
        raise _refused(path, located_words_of(error), values) from None
    except (KafkaException, ValueError, TypeError) as error:
        reason: Any = error.args[0] if error.args else error
        message = reason.str() if isinstance(error, KafkaException) else str(reason)
        raise _refused(path, message, values) from None
    idempotent = settings.enable_idempotence or effective.transactional
    arm = Arm(
        name=ARM,
        producer=settings,
        workload=_workload(experiment, effective.transactional),
        promise={"lost": "0", "duplicate": "0" if idempotent else "any"},
    )
    return arm.model_dump(by_alias=True, exclude_none=True, mode="json"), left_out


def _to_librdkafka(effective: EffectiveSettings) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The configuration as fields of `ProducerSettings`, for librdkafka, and the unused settings, each with
    the reason. A Java configuration keeps the Java client's defaults (idempotence, and 5 requests in flight),
    to reproduce its behaviour."""
    java = effective.client is ClientLibrary.JAVA
    settings: dict[str, str] = {}
    if java:
        settings["enable.idempotence"] = str(effective.idempotent).lower()
        settings["max.in.flight.requests.per.connection"] = str(_JAVA_IN_FLIGHT)
    extra: dict[str, str] = {}
    left_out = []
    for name, value in effective.written.items():
        why = _reason_unused(name, java)
        if why is not None:
            left_out.append(f"{name}: {why}")
        elif name == "transactional.id":
            continue
        elif name in _FIELDS:
            settings[name] = value
        elif java and name == "buffer.memory":
            whole = value.isascii() and value.isdigit()
            extra["queue.buffering.max.kbytes"] = str(max(1, int(value) // 1024)) if whole else value
        else:
            extra[_OTHER_NAMES.get(name, name)] = value
    if java and "request.timeout.ms" in settings and "socket.timeout.ms" not in settings:
        # Java's setting is how long the client waits for an answer: librdkafka's socket.timeout.ms.
        waiting = effective.number("request.timeout.ms", _LONGEST_SOCKET_MS)
        settings["socket.timeout.ms"] = str(min(waiting, _LONGEST_SOCKET_MS))
    return {**settings, "extra": extra}, tuple(left_out)


def _reason_unused(name: str, java: bool) -> str | None:
    """Why a setting is not used; None: it is used."""
    if name.startswith(_CONNECTION) or is_secret(name):
        return "the experiment has its own cluster"
    known = known_settings().get(name)
    if name in _NO_EQUIVALENT or name.startswith(("metric", "enable.metrics")):
        return "librdkafka has no equivalent"
    if known is not None and SettingKind.PRODUCER not in known.kinds and canonical(name) == name:
        return "not a producer setting"
    only_java = known is not None and (ClientLibrary.LIBRDKAFKA, SettingKind.PRODUCER) not in known.defaults
    if java and only_java and name not in _OTHER_NAMES and name != "buffer.memory":
        return "librdkafka has no equivalent"
    return None


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


def _refused(path: Path, reason: str, values: dict[str, str]) -> BadInput:
    return BadInput(
        "the client refuses this producer configuration",
        where=str(path),
        found=without_secrets(reason, values),
        next_step=f"`kafka-chaos audit {path}` shows contradictions",
    )
