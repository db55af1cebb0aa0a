"""Whether a value is one that Kafka's or librdkafka's own validators take."""

from __future__ import annotations

import re
from collections.abc import Collection

from harness.model.errors import closest
from harness.tools.audit.kafka_version import NEWEST, VersionNumbers
from harness.tools.audit.known_settings import (
    SERVER_KINDS,
    ClientLibrary,
    SettingKind,
    known_settings,
    listed_name,
)
from harness.tools.audit.value_forms import EXAMPLE_TIME, FORMS, TIME, fits_time, meant_class, meant_instead

_BOUNDS = {"short": 2**15 - 1, "int": 2**31 - 1, "long": 2**63 - 1}
_MOST_DIGITS = 4000
"""Of a whole number that Python reads; such a long one is out of every range anyway."""
_FLAGS = ("true", "false", "t", "f", "1", "0")
_WHOLE = re.compile(r"[+-]?\d+", re.ASCII)
_DECIMAL = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?[dDfF]?", re.ASCII)
PLACEHOLDERS = ("${", "{{", "$(")
"""Marks of a value that a config provider or a template fills in later."""


def expected_values(
    name: str,
    value: str,
    client: ClientLibrary,
    kinds: Collection[SettingKind],
    kafka: VersionNumbers = NEWEST,
) -> tuple[str, SettingKind] | None:
    """What would be taken instead of `value`, in words, and by what; None: the value is taken.

    `kinds` is what the configuration configures. A name that several of these have, such as
    `compression.type`, may have the value of any of them.
    """
    known = known_settings(kafka).get(listed_name(name))
    if known is None or any(mark in value for mark in PLACEHOLDERS):
        return None
    places = known.values.items()
    values = {kind: one for (library, kind), one in places if library is client or kind in SERVER_KINDS}
    narrowed = {kind: one for kind, one in values.items() if kind in kinds} or values
    prefix_only = client is ClientLibrary.LIBRDKAFKA
    if not narrowed or any(_takes(one, value, prefix_only, kafka) for one in narrowed.values()):
        return None
    kind, one = next(iter(narrowed.items()))
    return _words(one, value), kind


def read_as_number(
    name: str, value: str, client: ClientLibrary, kafka: VersionNumbers = NEWEST
) -> tuple[int, str] | None:
    """The number that librdkafka makes of a value which is not written as one in decimal, and how it comes to
    it; None: it is, or the setting takes none.

    librdkafka reads a number as C's strtol with base 0 does, and drops what follows it without an error
    (findings/a-number-ends-at-its-first-letter.sh).
    """
    known = known_settings(kafka).get(listed_name(name))
    if known is None or client is not ClientLibrary.LIBRDKAFKA or any(mark in value for mark in PLACEHOLDERS):
        return None
    forms = {one.partition(" ")[0] for (library, _), one in known.values.items() if library is client}
    if not forms or not forms <= set(_BOUNDS):
        return None
    number, rest = c_number(value)
    if number is None or re.fullmatch(r"[+-]?(0|[1-9]\d*)", value, re.ASCII):
        return None
    return number, f"it drops {rest!r}" if rest else "a number that begins with 0 is octal or hexadecimal"


def c_number(text: str) -> tuple[int | None, str]:
    """The number at the beginning of a text, as C's strtol with base 0 reads it, and the rest of the text."""
    found = re.match(r"\s*([+-]?)(0[xX][0-9a-fA-F]+|0[0-7]*|[1-9]\d*)", text, re.ASCII)
    if found is None:
        return None, text
    digits = found[2]
    base = 16 if digits[1:2] in ("x", "X") else 8 if digits.startswith("0") else 10
    return int(found[1] + digits, base), text[found.end() :]


def _takes(values: str, value: str, prefix_only: bool, kafka: VersionNumbers) -> bool:
    """Whether the catalogue (see settings.tsv) has this among the values. `prefix_only`: the client reads
    only the beginning of a number, as strtol does, and no empty items of lists."""
    what, _, choices = values.partition(" ")
    if what == "form":
        return FORMS[choices].takes(value, kafka)
    if what in _BOUNDS or what == "double":
        pattern = _DECIMAL if what == "double" else _WHOLE
        found = pattern.match(value) if prefix_only else pattern.fullmatch(value)
        if found is None:
            return what == "double" and value in ("NaN", "Infinity", "-Infinity")
        number = float(found[0].rstrip("dDfF")) if what == "double" else int(found[0][:_MOST_DIGITS])
        bound = _BOUNDS.get(what)
        fits = bound is None or -bound - 1 <= number <= bound
        return fits and (not choices or any(_within(number, one) for one in choices.split("|")))
    if what in ("boolean", "flag"):
        return value.lower() in (_FLAGS if what == "flag" else _FLAGS[:2])
    known = choices.split("|")
    if what in ("word", "words"):  # in any case
        known, value = [one.lower() for one in known], value.lower()
    if what in ("list", "words"):
        items = [one.strip() for one in value.split(",")]
        may_be_empty = prefix_only or not value
        return all(one in known for one in items if one or not may_be_empty)
    if what == "word":
        return value in known
    return what != "string" or value in known or any(fits_time(value, one) for one in known)


def _within(number: float, choice: str) -> bool:
    low, dots, high = choice.partition("..")
    return float(low) <= number and (number <= float(high) if high else bool(dots) or number == float(low))


def _words(values: str, value: str) -> str:
    what, _, choices = values.partition(" ")
    if what in _BOUNDS or what == "double":
        ranges = " or ".join(_range_words(one, what) for one in choices.split("|")) if choices else ""
        return ("a number" if what == "double" else "a whole number") + (f", {ranges}" if ranges else "")
    if what in ("boolean", "flag"):
        return "true or false"
    if what == "form":
        meant = meant_class(value)
        return FORMS[choices].words + (f" (did you mean {meant!r}?)" if meant else "")
    known = choices.split("|")
    meant = meant_instead(value, known)
    timed = any(TIME in one for one in known)
    known = [one.replace(TIME, EXAMPLE_TIME) for one in known]
    several = "a list of" if what in ("list", "words") else "one of"
    told = f"{several} {', '.join(known)}"
    if timed:
        told += ", with a time in ISO 8601's D, H, M and S that is not negative"
    cased = next((one for one in known if one.lower() == value.lower()), None)
    if cased is not None:
        return f"{told}, and upper and lower case are told apart (write {cased!r})"
    close = meant or closest(value.lower(), known)
    return told + (f" (did you mean {close!r}?)" if close else "")


def _range_words(choice: str, what: str) -> str:
    low, dots, high = choice.partition("..")
    if dots and not high and what in ("short", "int"):
        high = str(_BOUNDS[what])
    return f"from {low} to {high}" if high else f"at least {low}" if dots else low
