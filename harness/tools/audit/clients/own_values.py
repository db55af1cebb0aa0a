"""Values as the users of other clients write them, and Kafka's of the same meaning."""

from __future__ import annotations

import re
from typing import Literal

OwnForm = Literal[
    "text", "word", "int", "number", "ms", "duration", "attempts", "boolean", "option", "interval"
]
"""text: any; word: one of the values; int, number, ms (a number of milliseconds); duration: Go's
time.Duration; attempts: a number that counts the first try; boolean; option: one that is given or not;
interval: boolean, or the number of milliseconds between what is then done."""

_WORDS: dict[str, str] = {
    "word": "one of {values}",
    "int": "a whole number",
    "number": "a number",
    "ms": "a number of milliseconds",
    "duration": "a duration of Go, such as 100ms, 10 * time.Second or a number of nanoseconds",
    "attempts": "a whole number",
    "boolean": "true or false",
    "option": "true (the option is given) or false",
    "interval": "true, false or a number of milliseconds",
}
_UNITS_MS = {"ns": 1e-6, "us": 1e-3, "µs": 1e-3, "ms": 1.0, "s": 1e3, "m": 6e4, "h": 3.6e6}
_OF_TIME = {
    "Nanosecond": "ns",
    "Microsecond": "us",
    "Millisecond": "ms",
    "Second": "s",
    "Minute": "m",
    "Hour": "h",
}
_PRODUCT = re.compile(r"(?:([0-9]{1,15})\*)?time\.([A-Z][a-z]+)(?:\*([0-9]{1,15}))?")
_DURATION = re.compile(r"(?:[0-9]{1,15}(?:\.[0-9]{1,9})?(?:ns|us|µs|ms|s|m|h)){1,8}")
_PART = re.compile(r"([0-9]+(?:\.[0-9]+)?)(ns|us|µs|ms|s|m|h)")
_NUMBER = re.compile(r"[+-]?[0-9]{1,18}")
_DECIMAL = re.compile(r"[+-]?[0-9]{1,18}(?:\.[0-9]{1,18})?")
_DEFAULT_ATTEMPTS = 10


def kafka_value(form: OwnForm, values: dict[str, str], spelled: dict[str, str], text: str) -> str | None:
    """Kafka's value for an own one; None: it has not this form, and is none of the values."""
    bare = _bare(text)
    meant = {_bare(own): value for own, value in values.items()}
    key = _bare(spelled.get(bare, bare))
    if key in meant:
        return meant[key]
    if form == "interval" and _DECIMAL.fullmatch(bare):
        return "true"
    if form in ("boolean", "option", "interval"):
        truth = bare.lower()
        return values.get(truth, truth) if truth in ("true", "false") else None
    if form == "duration":
        milliseconds = _milliseconds(bare)
        return (
            None
            if milliseconds is None
            else f"{milliseconds:g}"
            if milliseconds % 1
            else str(int(milliseconds))
        )
    if form == "attempts":
        number = int(bare) if _NUMBER.fullmatch(bare) else None
        return None if number is None else str((number if number > 0 else _DEFAULT_ATTEMPTS) - 1)
    pattern = {"int": _NUMBER, "number": _DECIMAL, "ms": _DECIMAL}.get(form)
    if pattern is not None:
        return bare if pattern.fullmatch(bare) else None
    return None if form == "word" else text


def expected_words(form: OwnForm, values: dict[str, str]) -> str:
    """What is taken, in words."""
    words = _WORDS[form].format(values=", ".join(values))
    return (
        words
        if form == "word" or not values or form in ("boolean", "option")
        else f"{words}, or {', '.join(values)}"
    )


def _bare(text: str) -> str:
    """A value without blanks, the name of Go's package before it, and the brackets of a call behind it."""
    squashed = re.sub(r"\s+|\(\)", "", text)
    return re.sub(r"^(?:sarama|kafka|kgo)\.(?=[A-Z])", "", squashed)


def _milliseconds(text: str) -> float | None:
    """Go's durations, as its programs and ParseDuration write them, or as a number of nanoseconds."""
    if _NUMBER.fullmatch(text):
        return int(text) / 1e6
    product = _PRODUCT.fullmatch(text)
    if product is not None and product[2] in _OF_TIME:
        return int(product[1] or product[3] or 1) * _UNITS_MS[_OF_TIME[product[2]]]
    if _DURATION.fullmatch(text):
        return sum(float(number) * _UNITS_MS[unit] for number, unit in _PART.findall(text))
    return None
