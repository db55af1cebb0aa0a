"""The files of a comparison: what each gives its producers, where they differ, and what is left out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

from harness.model.errors import BadInput
from harness.model.secrets import masked
from harness.tools.audit.config_file import sole_section
from harness.tools.audit.config_reader import read_config
from harness.tools.audit.known_settings import ClientLibrary, SettingKind, known_settings
from harness.tools.audit.user_producer import (
    NOT_IN_LIBRDKAFKA,
    NOT_OF_PRODUCERS,
    UserProducer,
    user_producer,
)

_IN_FLIGHT = "max.in.flight.requests.per.connection"
_WITHOUT_EFFECT = ("client.id", "client.rack", "client.software.", "debug", "log", "statistics.")
"""Begin the names of settings that change neither what a producer loses nor how long it waits."""
_IMPLIED = ("acks", "enable.idempotence", _IN_FLIGHT, "delivery.timeout.ms", "transactions")
"""What every producer is given, whether it is written or not."""
_MOST_NAMED = 6


@dataclass(frozen=True, slots=True)
class ComparedConfig:
    """One file that is compared: its name in tables, its path as typed, its producer, and what else it holds
    (a sentence each)."""

    label: str
    path: Path
    producer: UserProducer
    others: tuple[str, ...] = ()

    @property
    def given(self) -> dict[str, str]:
        """What its producers are given, under librdkafka's names."""
        settings = {name: _text(value) for name, value in self.producer.settings.properties().items()}
        implied = (
            {"transactions": "true", "enable.idempotence": "true"} if self.producer.transactional else {}
        )
        return settings | implied

    def value(self, name: str) -> str:
        """The value of a setting in its producers, whether it is given or the client's default."""
        given = self.given
        if name in given:
            return given[name]
        if name == _IN_FLIGHT and given["enable.idempotence"] == "true":
            return "5"  # librdkafka lowers it by itself
        if name == "transactions":
            return "false"
        known = known_settings().get(name)
        return (known.default(ClientLibrary.LIBRDKAFKA) if known is not None else None) or ""


def read_configs(paths: Sequence[Path]) -> tuple[ComparedConfig, ...]:
    """The producers of these files, which must differ.

    Raises:
        BadInput: fewer than two files, one that is named twice, cannot be read, has no settings of a producer
            or settings that the client refuses, or two that do not differ in anything that matters.
    """
    if len(paths) < 2:
        raise BadInput(
            "a comparison needs two files at least",
            where="kafka-chaos compare-configs",
            expected="files with settings of a producer: a.properties b.properties",
            found=str(paths[0]) if paths else "no file",
            next_step="name another file, or run this one: kafka-chaos run --producer-config FILE",
        )
    for one, other in combinations(paths, 2):
        if one.resolve() == other.resolve():
            raise BadInput(
                "one file is named twice",
                where=f"{one}, {other}",
                expected="files that differ",
                next_step="name each file once; --repeat says how often it is run",
            )
    labels = _labels(paths)
    configs = tuple(_read(path, label) for path, label in zip(paths, labels, strict=True))
    for pair in combinations(configs, 2):
        if not differences(pair):
            raise _alike(*pair)
    return configs


def differences(configs: Sequence[ComparedConfig]) -> dict[str, tuple[str, ...]]:
    """The settings in which producers of the files differ, and the value in each; "(not written)" behind one
    that the file does not set. What has no effect on records is left out."""
    names = dict.fromkeys(name for config in configs for name in config.given)
    return {
        name: tuple(_shown(config, name) for config in configs)
        for name in names
        if not name.startswith(_WITHOUT_EFFECT) and len({_compared(one.value(name)) for one in configs}) > 1
    }


def unused(configs: Sequence[ComparedConfig]) -> Iterator[str]:
    """A sentence about each setting or section of the files that is not used, and whether the files differ in
    it."""
    reasons: dict[tuple[str, str], list[ComparedConfig]] = {}
    for config in configs:
        for name, why in config.producer.left_out.items():
            reasons.setdefault((name, why), []).append(config)
    for (name, why), having in reasons.items():
        values = {config.producer.written.get(name) for config in configs}
        differ = len(values) > 1 and why == NOT_IN_LIBRDKAFKA
        end = ", so this difference of the files is not compared" if differ else ""
        yield f"{', '.join(config.label for config in having)}: {name}: {why}{end}"
    yield from (f"{config.label}: {sentence}" for config in configs for sentence in config.others)


def _read(path: Path, label: str) -> ComparedConfig:
    section, others = sole_section(read_config(path), SettingKind.PRODUCER)
    producer = user_producer(section.entries, path, section.client)
    if set(producer.written) == {name for name, why in producer.left_out.items() if why == NOT_OF_PRODUCERS}:
        raise BadInput(
            "this file has no setting of a producer",
            where=str(path),
            expected="settings such as acks, enable.idempotence or linger.ms",
            found=f"{_kinds(producer.written)}: {_listed(producer.written)}",
            next_step="name the producer's file; `kafka-chaos audit` reads those of consumers and topics",
        )
    return ComparedConfig(label, path, producer, tuple(others))


def _alike(one: ComparedConfig, other: ComparedConfig) -> BadInput:
    """The error for two files that do not differ in anything that matters."""
    written = (one.producer.written, other.producer.written)
    names = [name for name in {**written[0], **written[1]} if written[0].get(name) != written[1].get(name)]
    left_out = {**one.producer.left_out, **other.producer.left_out}
    reasons = [f"{name} ({left_out.get(name, 'the same in effect')})" for name in names]
    return BadInput(
        "these files do not differ in anything that matters to records",
        where=f"{one.path}, {other.path}",
        expected="a setting of the producer with another value, such as acks",
        found=f"they differ in {_listed(reasons)} alone" if reasons else "they say the same",
        next_step="compare files that differ, or run one: kafka-chaos run --producer-config FILE",
    )


def _labels(paths: Sequence[Path]) -> list[str]:
    """As few of the last parts of each path as tell all of them apart."""
    parts = [path.absolute().parts for path in paths]
    lengths = range(1, max(map(len, parts)) + 1)
    several = (["/".join(names[-length:]) for names in parts] for length in lengths)
    return next(labels for labels in several if len(set(labels)) == len(labels))


def _shown(config: ComparedConfig, name: str) -> str:
    value = masked(name, config.value(name)) or "none"
    written = name in config.given and (name not in _IMPLIED or name in config.producer.written)
    return value if written else f"{value} (not written)"


def _compared(value: str) -> object:
    """Equal for values that mean the same: 5 and 5.0."""
    try:
        return float(value)
    except ValueError:
        return value.strip().lower()


def _text(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return str(value).removesuffix(".0")


def _kinds(names: Iterable[str]) -> str:
    known = (known_settings().get(name) for name in names)
    kinds = dict.fromkeys(str(kind) for setting in known if setting is not None for kind in setting.kinds)
    return " and ".join(kinds)


def _listed(names: Iterable[str]) -> str:
    every = list(names)
    more = f" and {len(every) - _MOST_NAMED} more" if len(every) > _MOST_NAMED else ""
    return ", ".join(every[:_MOST_NAMED]) + more
