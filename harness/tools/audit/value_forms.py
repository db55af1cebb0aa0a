"""Values with an inner form, such as a list of addresses: which of them Kafka takes. They were tried with the
classes of Kafka 2.8.2 to 4.4.0."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from harness.tools.audit.kafka_version import VersionNumbers

_LONGEST_TIME = 2**63
"""Seconds that java.time.Duration cannot hold."""
_TIME = re.compile(
    r"([-+]?)P(?:([-+]?[0-9]{1,40})D)?"
    r"(T(?=[-+0-9])(?:([-+]?[0-9]{1,40})H)?(?:([-+]?[0-9]{1,40})M)?(?:([-+]?[0-9]{1,40})(?:[.,]([0-9]{0,9}))?S)?)?",
    re.IGNORECASE,
)
_MEANT = re.compile(
    r"[-+]?P?T?[-+]?([0-9]{1,18})\s*(ms|s|sec|seconds|m|min|minutes|h|hours?|d|days?|w|weeks?)?", re.I
)
_UNITS = {
    "s": ("PT", 1, "S"),
    "m": ("PT", 1, "M"),
    "h": ("PT", 1, "H"),
    "d": ("P", 1, "D"),
    "w": ("P", 7, "D"),
}
_TEMPLATE = re.compile(r"\$[\w({]|\{\{|<[^<>]+>|@[\w.-]+@|%\w+%|__\w+__")
"""What templates, Maven and scripts fill in."""
_NO_EMPTY_ITEMS = (4, 2)
"""Since then no list may have an empty item, and some may not be empty (KIP-1161)."""
_ADDRESS = re.compile(r"(?:[0-9a-zA-Z\-%._]*://)?\[?([0-9a-zA-Z\-%._:]*)\]?:([0-9]{1,40})")
_CLASS = re.compile(r"[^\W\d][\w$]*(\.[^\W\d][\w$]*)*")
_SERIALIZED = (
    *("String", "ByteArray", "ByteBuffer", "Bytes", "Double", "Float", "Integer", "Long", "Short"),
    *("UUID", "Void", "Boolean", "List"),
)
_PLAIN_CLASSES = {
    **{
        f"{what}{end}": f"org.apache.kafka.common.serialization.{what}{end}"
        for what in _SERIALIZED
        for end in ("Serializer", "Deserializer")
    },
    "RoundRobinPartitioner": "org.apache.kafka.clients.producer.RoundRobinPartitioner",
}
"""Kafka's own classes by their names without a package, with which none is found."""
_PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")


def is_filled_in_later(value: str) -> bool:
    """Whether a template, a build tool or a script puts another text here."""
    return _TEMPLATE.search(value) is not None


def seconds_of(text: str) -> float | None:
    """The seconds of a time as java.time.Duration reads it; None: it is none, or too long for it."""
    match = _TIME.fullmatch(text)
    if match is None or not any(match[group] for group in (2, 4, 5, 6)):
        return None
    sign, days, _, hours, minutes, whole, fraction = match.groups()
    parts = zip((days, hours, minutes, whole), (86_400, 3600, 60, 1), strict=True)
    total = sum(int(number or 0) * unit for number, unit in parts)
    if not -_LONGEST_TIME <= total < _LONGEST_TIME:
        return None
    rest = int((fraction or "").ljust(9, "0")) / 1e9 * (-1 if (whole or "").startswith("-") else 1)
    return (total + rest) * (-1 if sign == "-" else 1)


def _meant_time(text: str) -> str | None:
    """The time that was probably meant, as ISO 8601 writes it; None: it cannot be guessed."""
    match = _MEANT.fullmatch(text.strip())
    if match is None or int(match[1]) == 0:
        return None
    number, unit = int(match[1]), (match[2] or "ms").lower()
    if unit == "ms":
        return f"PT{number // 60_000}M" if number % 60_000 == 0 else f"PT{number / 1000:g}S"
    if text.upper().startswith("P") and "T" not in text.upper() and unit == "m":
        return None  # a month
    before, factor, letter = _UNITS[unit[0]]
    return f"{before}{number * factor}{letter}"


def _is_address(text: str) -> bool:
    match = _ADDRESS.fullmatch(text)
    return match is not None and int(match[2]) < 2**16


def _is_class(text: str) -> bool:
    return _CLASS.fullmatch(text) is not None and text not in _PLAIN_CLASSES


def _is_mapped(text: str) -> bool:
    _, colon, protocol = text.partition(":")
    return bool(colon) and protocol.strip().upper() in _PROTOCOLS


def _matches(pattern: str) -> Callable[[str], bool]:
    return lambda text: re.fullmatch(pattern, text) is not None


@dataclass(frozen=True, slots=True)
class ValueForm:
    """A form: in words, and whether one text, or each item of a list, has it. `whole`: values beside lists.
    `empty`: whether an empty list is taken."""

    words: str
    fits: Callable[[str], bool]
    listed: bool = True
    empty: bool = True
    empty_items: bool | None = None
    """Whether empty items are taken; None: by the version of Kafka."""
    whole: tuple[str, ...] = ()

    def takes(self, value: str, kafka: VersionNumbers) -> bool:
        """Whether this version of Kafka takes the value."""
        if is_filled_in_later(value) or value in self.whole:
            return True
        if not self.listed:
            return self.fits(value)
        if not value.strip():
            return self.empty or (kafka < _NO_EMPTY_ITEMS and self.empty_items is not False)
        may_be_empty = kafka < _NO_EMPTY_ITEMS if self.empty_items is None else self.empty_items
        items = [item.strip() for item in value.split(",")]
        return all(self.fits(item) if item else may_be_empty for item in items)


def _assignors(*own: str) -> ValueForm:
    """Server-side assignors: those that the broker has, and classes, which have a package."""
    words = f"a list of {' and '.join(own)} or of full names of classes"
    return ValueForm(words, lambda text: text in own or ("." in text and _is_class(text)), empty=False)


FORMS: dict[str, ValueForm] = {
    "text": ValueForm("a text that is not empty", lambda text: bool(text.strip()), listed=False),
    "instance": ValueForm(
        "1 to 249 letters, digits, '.', '_' and '-', and neither '.' nor '..'",
        _matches(r"(?!\.{1,2}$)[a-zA-Z0-9._-]{1,249}"),
        listed=False,
    ),
    "class": ValueForm(
        "the full name of a class, such as org.apache.kafka.common.serialization.StringSerializer",
        _is_class,
        listed=False,
    ),
    "classes": ValueForm("a list of full names of classes", _is_class),
    "names": ValueForm("a list without empty items", bool),
    "several": ValueForm("a list of at least one name, without empty items", bool, empty=False),
    "consumer-assignors": _assignors("uniform", "range"),
    "share-assignors": _assignors("simple"),
    "streams-assignors": _assignors("sticky"),
    "addresses": ValueForm(
        "a list of host:port, such as kafka-1:9092,kafka-2:9092", _is_address, empty=False
    ),
    "listeners": ValueForm(
        "a list of NAME://host:port, such as PLAINTEXT://:9092",
        _matches(r".*://\[?[0-9a-zA-Z\-%._:]*\]?:-?[0-9]+"),
        empty=False,
    ),
    "advertised": ValueForm(
        "a list of NAME://host:port that clients can reach, so not 0.0.0.0",
        _matches(r".*://(?!0\.0\.0\.0:)\[?[0-9a-zA-Z\-%._:]*\]?:-?[0-9]+"),
        empty=False,
    ),
    "voters": ValueForm(
        "a list of id@host:port, such as 1@kafka-1:9093",
        _matches(r"[-+]?[0-9]+@\[?[0-9a-zA-Z\-%._:]+\]?:[0-9]+"),
        empty_items=False,
    ),
    "controllers": ValueForm(
        "a list of host:port, such as kafka-1:9093", _matches(_ADDRESS.pattern), empty_items=False
    ),
    "protocols": ValueForm(
        f"a list of LISTENER:PROTOCOL, where the protocol is one of {', '.join(_PROTOCOLS)}",
        _is_mapped,
        empty_items=True,
    ),
    "limits": ValueForm("a list of host:number", _matches(r".*:\s*[-+]?[0-9]+"), empty_items=True),
    "replicas": ValueForm(
        "'*' for all replicas, or a list of partition:broker, such as 0:1,1:2",
        _matches("[0-9]+:[0-9]+"),
        empty_items=True,
        whole=("*",),
    ),
    "version": ValueForm(
        "a version of Kafka, such as 3.9 or 3.9-IV0",
        _matches(r"[0-9]+\.[0-9]+(\.[0-9]+)*(-IV[0-9]+)?"),
        listed=False,
    ),
}
"""The forms by the names that settings.tsv gives them."""

TIME = "<time>"
"""Stands in a text of settings.tsv for a time that is not negative, as ISO 8601 writes it."""
EXAMPLE_TIME = "PT10M"


def fits_time(value: str, choice: str) -> bool:
    """Whether the value is a choice such as `by_duration:<time>`."""
    before = choice.removesuffix(TIME)
    if before == choice or not value.startswith(before):
        return False
    seconds = seconds_of(value.removeprefix(before))
    return is_filled_in_later(value) or (seconds is not None and seconds >= 0)


def meant_instead(value: str, choices: list[str]) -> str | None:
    """The value of a choice with a time that was probably meant; None: none was."""
    for before in (choice.removesuffix(TIME) for choice in choices if choice.endswith(TIME)):
        if value.lower().startswith(before.rstrip(":").lower()):
            rest = value[len(before) :]
            seconds = seconds_of(rest)
            good = rest.upper() if seconds is not None and seconds >= 0 else _meant_time(rest)
            return before + (good or EXAMPLE_TIME)
    return None


def meant_class(value: str) -> str | None:
    """The full name of one of Kafka's classes that is named without its package; None: there is none."""
    return _PLAIN_CLASSES.get(value)
