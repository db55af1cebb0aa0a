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
    values = {kind: form for (library, kind), form in places if library is client or kind in SERVER_KINDS}
    narrowed = {kind: form for kind, form in values.items() if kind in kinds} or values
    prefix_only = client is ClientLibrary.LIBRDKAFKA
    if not narrowed or any(_takes(form, value, prefix_only, kafka) for form in narrowed.values()):
        return None
    kind, allowed = next(iter(narrowed.items()))
    return _words(allowed, value), kind


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
    forms = {form.partition(" ")[0] for (library, _), form in known.values.items() if library is client}
    if not forms or not forms <= set(_BOUNDS):
        return None
    number, rest = c_number(value)
    if number is None or re.fullmatch(r"[+-]?(0|[1-9]\d*)", value, re.ASCII):
        return None
    return number, f"it drops {rest!r}" if rest else "a number that begins with 0 is octal or hexadecimal"


def c_number(text: str) -> tuple[int | None, str]:
    """The number at the beginning of a text, as C's strtol with base 0 reads it, and the rest of the text."""
    match = re.match(r"\s*([+-]?)(0[xX][0-9a-fA-F]+|0[0-7]*|[1-9]\d*)", text, re.ASCII)
    if match is None:
        return None, text
    digits = match[2]
    base = 16 if digits[1:2] in ("x", "X") else 8 if digits.startswith("0") else 10
    return int(match[1] + digits, base), text[match.end() :]


def _takes(values: str, value: str, prefix_only: bool, kafka: VersionNumbers) -> bool:
    """Whether the catalogue (see settings.tsv) has this among the values. `prefix_only`: the client reads
    only the beginning of a number, as strtol does, and no empty items of lists."""
    what, _, choices = values.partition(" ")
    if what == "form":
        return FORMS[choices].takes(value, kafka)
    if what in _BOUNDS or what == "double":
        pattern = _DECIMAL if what == "double" else _WHOLE
        match = pattern.match(value) if prefix_only else pattern.fullmatch(value)
        if match is None:
            return what == "double" and value in ("NaN", "Infinity", "-Infinity")
        number = float(match[0].rstrip("dDfF")) if what == "double" else int(match[0][:_MOST_DIGITS])
        bound = _BOUNDS.get(what)
        fits = bound is None or -bound - 1 <= number <= bound
        return fits and (not choices or any(_within(number, choice) for choice in choices.split("|")))
    if what in ("boolean", "flag"):
        return value.lower() in (_FLAGS if what == "flag" else _FLAGS[:2])
    known = choices.split("|")
    if what in ("word", "words"):  # in any case
        known, value = [choice.lower() for choice in known], value.lower()
    if what in ("list", "words"):
        items = [item.strip() for item in value.split(",")]
        may_be_empty = prefix_only or not value
        return all(item in known for item in items if item or not may_be_empty)
    if what == "word":
        return value in known
    return what != "string" or value in known or any(fits_time(value, choice) for choice in known)


def _within(number: float, choice: str) -> bool:
    low, dots, high = choice.partition("..")
    return float(low) <= number and (number <= float(high) if high else bool(dots) or number == float(low))


def _words(values: str, value: str) -> str:
    what, _, choices = values.partition(" ")
    if what in _BOUNDS or what == "double":
        ranges = " or ".join(_range_words(choice, what) for choice in choices.split("|")) if choices else ""
        return ("a number" if what == "double" else "a whole number") + (f", {ranges}" if ranges else "")
    if what in ("boolean", "flag"):
        return "true or false"
    if what == "form":
        meant = meant_class(value)
        return FORMS[choices].words + (f" (did you mean {meant!r}?)" if meant else "")
    known = choices.split("|")
    meant = meant_instead(value, known)
    timed = any(TIME in choice for choice in known)
    known = [choice.replace(TIME, EXAMPLE_TIME) for choice in known]
    several = "a list of" if what in ("list", "words") else "one of"
    words = f"{several} {', '.join(known)}"
    if timed:
        words += ", with a time in ISO 8601's D, H, M and S that is not negative"
    cased = next((choice for choice in known if choice.lower() == value.lower()), None)
    if cased is not None:
        return f"{words}, and upper and lower case are told apart (write {cased!r})"
    close = meant or closest(value.lower(), known)
    return words + (f" (did you mean {close!r}?)" if close else "")


def _range_words(choice: str, what: str) -> str:
    low, dots, high = choice.partition("..")
    if dots and not high and what in ("short", "int"):
        high = str(_BOUNDS[what])
    return f"from {low} to {high}" if high else f"at least {low}" if dots else low
