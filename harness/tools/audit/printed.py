"""Reads what Kafka itself prints: the settings that a client or a broker logs when it starts, and what
`kafka-topics --describe` and `kafka-configs --describe` say."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from harness.model.config.properties import PropertyLine
from harness.model.defaults import DEFAULT_VERSION
from harness.tools.audit.config_file import ConfigSection
from harness.tools.audit.kafka_version import VersionNumbers, read_version
from harness.tools.audit.known_settings import SERVER_KINDS, ClientLibrary, SettingKind, known_settings

_HEAD = re.compile(r"(\w+Config) values:")
_SETTING = re.compile(r"\s*([a-zA-Z][\w.\-]*) = ?(.*?)\s*")
_JAVA_VALUE = re.compile(r"null|\[.*\]|class \S+")
_KINDS = {
    "ProducerConfig": SettingKind.PRODUCER,
    "ConsumerConfig": SettingKind.CONSUMER,
    "ShareConsumerConfig": SettingKind.CONSUMER,
    "KafkaConfig": SettingKind.BROKER,
}
_EMBEDDED = {"StreamsConfig": "Kafka Streams", "DistributedConfig": "Kafka Connect worker"}
_EMBEDDED |= {"StandaloneConfig": "Kafka Connect worker", "WorkerConfig": "Kafka Connect worker"}
_ASSIGNORS = ",".join(
    f"org.apache.kafka.clients.consumer.{assignor}Assignor" for assignor in ("Range", "CooperativeSticky")
)
_LONG_DEFAULTS = {"partition.assignment.strategy": _ASSIGNORS, "acks": "-1"}
"""Defaults since Kafka 3.0 as they are printed, where settings.tsv has none or another word."""
_ENTITIES = {"topic": SettingKind.TOPIC, "broker": SettingKind.BROKER}
_BEFORE = re.compile(
    r"((?:[\w./-]+\s+\|\s?)?(?:\[pod/\S+\]\s)?)(?:\d{4}-\d\d-\d\dT[\d:.,]+(?:Z|[+-]\d\d:?\d\d)?\s)?(.*)"
)
"""What `docker compose logs` and `kubectl logs` put before a line, and the line."""
_TOPIC = re.compile(
    r"\s*Topic: ?(\S+)\s.*?PartitionCount: ?(\d+)\s+ReplicationFactor: ?(\d+)\s+Configs: ?(.*)", re.DOTALL
)
_PARTITION = re.compile(r"\s*Topic: ?\S+\s+Partition: ?\d+\s+Leader: ")
_CONFIGS = re.compile(
    r"(?:(?:Dynamic|All|Default|Static|Quota) )?[Cc]onfigs for "
    r"(brokers in the cluster|[\w-]+)(?: '?(.*?)'?)? are:?\s*(.*)"
)
_CONFIG = re.compile(r"\s*([\w.\-]+)=(.*?)(?:\s+sensitive=(\w+))?(?:\s+synonyms=\{([^}]*)\}.*)?\s*")
_COMMA = r",(?=[a-z][\w.]*=)"
"""Between two settings, whose values may have commas, too."""
_GROUPS = re.compile(r"\s*GROUP\s+TOPIC\s+PARTITION\s+CURRENT-OFFSET")


@dataclass
class Printed:
    """An output by its name; `embedded` are lines that belong to another format of files."""

    format: str
    sections: list[ConfigSection] = field(default_factory=list)
    embedded: list[tuple[str, list[PropertyLine]]] = field(default_factory=list)
    notes: tuple[str, ...] = ()


def read_printed(text: str, file: str, kafka: str = DEFAULT_VERSION) -> Printed | None:
    """What this version of Kafka printed into the text; None: it is something else. `file` names it in
    messages.

    Raises:
        BadInput: the defaults of this version are not known.
    """
    lines = text.split("\n")
    blocks = _blocks(lines, file) if _HEAD.search(text) else []
    if any(settings for _, settings in blocks):
        return _dumps(blocks, kafka)
    head = [line for line in lines[:200] if line.strip() and not line.lstrip().startswith("#")]
    if any(map(_CONFIGS.fullmatch, head)):
        return Printed("kafka-configs --describe", list(_configs(lines, file)))
    if any(_TOPIC.match(line) or _PARTITION.match(line) for line in head):
        return Printed("kafka-topics --describe", list(_topics(lines, file)))
    if any(map(_GROUPS.match, head)):
        return Printed("kafka-consumer-groups --describe, which shows no settings")
    matches = [_SETTING.fullmatch(line) for line in head]
    if (
        len(matches) > 2
        and all(matches)
        and any(match and _JAVA_VALUE.fullmatch(match[2]) for match in matches)
    ):
        return _dumps([("", list(_settings(enumerate(lines, start=1), file)))], kafka)
    return None


def _blocks(lines: list[str], file: str) -> list[tuple[str, list[PropertyLine]]]:
    """The dumps of a log: the class that printed each, and its settings. Lines of several containers may
    alternate."""
    blocks: list[tuple[str, list[tuple[int, str]]]] = []
    opened: dict[str, list[tuple[int, str]]] = {}
    for number, line in enumerate(lines, start=1):
        if not opened and "Config values:" not in line:
            continue
        match = _BEFORE.fullmatch(line)
        source, rest = (match[1], match[2]) if match else ("", line)
        if head := _HEAD.search(rest):
            texts = list(_json_texts(rest)) if rest.lstrip().startswith("{") else []
            blocks += [(head[1], [(number, part) for part in text.split("\n")[1:]]) for text in texts]
            if not texts:
                opened[source] = []
                blocks.append((head[1], opened[source]))
        elif source in opened and (_SETTING.fullmatch(rest) or not rest.strip() or rest.strip()[0] == "#"):
            opened[source].append((number, rest))
        else:
            opened.pop(source, None)
    return [(name, list(_settings(block, file))) for name, block in blocks]


def _json_texts(line: str) -> Iterator[str]:
    """The texts of a log line in JSON that are dumps."""
    try:
        event = json.loads(line)
    except (ValueError, RecursionError):
        return
    values = event.values() if isinstance(event, dict) else ()
    yield from (text for text in values if isinstance(text, str) and _HEAD.search(text))


def _settings(lines: Iterable[tuple[int, str]], file: str) -> Iterator[PropertyLine]:
    for number, line in lines:
        match = None if line.lstrip().startswith("#") else _SETTING.fullmatch(line)
        if match is not None and match[2] not in ("null", "None", "[]", ""):
            listed = match[2][1:-1] if match[2].startswith("[") and match[2].endswith("]") else match[2]
            value = ",".join(element.strip().removeprefix("class ") for element in listed.split(","))
            yield PropertyLine(match[1], value, file, number)


def _dumps(found: Iterable[tuple[str, list[PropertyLine]]], kafka: str) -> Printed:
    version = read_version(kafka)
    result = Printed("start-up dump of the Java client")
    others: dict[str, None] = {}
    left_out = foreign = 0
    for name, lines in found:
        kind = _KINDS.get(name)
        if name in _EMBEDDED:
            result.embedded.append((_EMBEDDED[name], lines))
        elif kind is None and name:
            others[name] = None
        else:
            kind = kind or _kind_of(lines, version)
            known = [line for line in lines if line.name in known_settings(version)]
            set_ = [line for line in known if not _is_default(line, kind, version)]
            left_out, foreign = left_out + len(known) - len(set_), foreign + len(lines) - len(known)
            label = next((line.value for line in lines if line.name in ("client.id", "node.id")), "")
            client = None if kind in SERVER_KINDS else ClientLibrary.JAVA
            result.sections.append(ConfigSection(kind, (label,), client, tuple(set_)))
    if left_out:
        result.notes += (f"{left_out} lines are defaults of Kafka {kafka}",)
    if foreign:
        result.notes += (f"{foreign} lines are settings that Kafka {kafka} does not have",)
    if others:
        result.notes += (f"not read: {', '.join(others)}",)
    return result


def _kind_of(lines: Iterable[PropertyLine], kafka: VersionNumbers) -> SettingKind | None:
    """The kind whose names a dump without its first line has."""
    known = known_settings(kafka)
    kinds = [known[line.name].kinds for line in lines if line.name in known]
    return next((kind for own in kinds if len(own) == 1 for kind in own), None)


def _is_default(line: PropertyLine, kind: SettingKind | None, kafka: VersionNumbers) -> bool:
    """Whether a printed value is the default of this version; which values a file has set, a dump does not
    say."""
    known = known_settings(kafka).get(line.name)
    if kafka >= (3,) and line.value == _LONG_DEFAULTS.get(line.name):
        return True
    kinds = SettingKind if kind is None else (kind,)
    return known is not None and any(
        known.defaults.get((ClientLibrary.JAVA, possible)) == line.value for possible in kinds
    )


def _topics(lines: Iterable[str], file: str) -> Iterator[ConfigSection]:
    for number, line in enumerate(lines, start=1):
        if match := _TOPIC.fullmatch(line):
            pairs = [("partitions", match[2]), ("replication.factor", match[3])]
            pairs += [
                (name, value)
                for pair in re.split(_COMMA, match[4].strip())
                for name, sign, value in [pair.partition("=")]
                if sign
            ]
            entries = tuple(PropertyLine(*pair, file, number) for pair in pairs)
            yield ConfigSection(SettingKind.TOPIC, (match[1],), None, entries)


def _configs(lines: Iterable[str], file: str) -> Iterator[ConfigSection]:
    head: re.Match[str] | None = None
    entries: list[PropertyLine] = []
    for number, line in enumerate((*lines, "Configs for the end are:"), start=1):
        if match := _CONFIGS.fullmatch(line):
            kind = _ENTITIES.get(head[1].split()[0].rstrip("s")) if head else None
            if head is not None and kind is not None and entries:
                yield ConfigSection(kind, (head[2] or "",), None, tuple(entries))
            head, entries = match, []
            line = match[3]
        for piece in re.split(_COMMA, line) if head else ():
            setting = _CONFIG.fullmatch(piece)
            # With --all the defaults are printed, too; the first synonym is where the value is from.
            if setting and setting[3] != "true" and not (setting[4] or "").startswith("DEFAULT_CONFIG"):
                entries.append(PropertyLine(setting[1], setting[2], file, number))
