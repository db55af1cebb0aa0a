"""The version of Kafka that a configuration is for: of the brokers, and of the Java client."""

from __future__ import annotations

import re
from collections.abc import Iterable

from harness.model.defaults import DEFAULT_VERSION
from harness.model.errors import BadInput

VersionNumbers = tuple[int, ...]
"""Major, minor and patch; without a patch it is lower than every patch of that minor version."""

OLDEST = "2.8"
"""What older versions do is not known here."""
_LAST_PATCH = 999


def numbers(version: str) -> VersionNumbers:
    """The numbers of a version in the catalogue, such as `3.7`."""
    return tuple(int(part) for part in version.split("."))


def read_version(text: str) -> VersionNumbers:
    """The numbers of a version as a user names it; without a patch the last patch is meant.

    Raises:
        BadInput: it is not a version, or older than `OLDEST`.
    """
    parts = text.split(".")
    if len(parts) in (2, 3) and all(part.isascii() and part.isdigit() for part in parts):
        version = (*(int(part) for part in parts), _LAST_PATCH)[:3]
        if version >= numbers(OLDEST):
            return version
    raise BadInput(
        "this is not a version of Kafka whose rules are known",
        where="--kafka-version",
        expected=f"a version from {OLDEST} on, such as 3.9 or {DEFAULT_VERSION}",
        found=text,
        next_step="name the version of your brokers and of your Java client",
    )


def version_or_newest(text: str) -> str:
    """The version of a run's image, or the newest known one if that is not known, or too old."""
    try:
        read_version(text)
    except BadInput:
        return DEFAULT_VERSION
    return text


_IMAGE = re.compile(
    r"(?:.*/)?(?P<name>kafka(?:-native)?|cp-(?:enterprise-)?(?:kafka|server))"
    r":(?:.*kafka-|v|latest-)?(?P<version>\d{1,4}\.\d{1,4}(?:\.\d{1,4})?)(?:[^\d.].*)?(?:@.*)?"
)
"""Images of apache, Bitnami, Strimzi (0.45.0-kafka-3.9.0), kafka-chaos and Confluent."""
_LONGEST = 20
"""Characters of a version; a longer text is none."""
_CONFLUENT = {"6": (2, 6), "7": (3, 0), "8": (4, 0)}
"""Confluent Platform's major version -> the version of Kafka in its first minor one; each later one has the
next one (Confluent's table of supported versions)."""


def version_of_image(image: str) -> str | None:
    """The version of Kafka in an image, or a version as it is; None: it is not an image of brokers, or its
    rules are not known."""
    match = _IMAGE.fullmatch(image.strip())
    version = match["version"] if match else image.strip()[:_LONGEST]
    if match and match["name"].startswith("cp-"):
        major, minor = version.split(".")[:2]
        if major not in _CONFLUENT:
            return None
        kafka_major, first = _CONFLUENT[major]
        version = f"{kafka_major}.{first + int(minor)}"
    try:
        read_version(version)
    except BadInput:
        return None
    return version


def oldest_version(texts: Iterable[str]) -> tuple[str, str] | None:
    """The oldest version that these texts name, and the text that does; None: none names one."""
    versions = [(version, text) for text in texts if (version := version_of_image(text)) is not None]
    return min(versions, key=lambda pair: read_version(pair[0]), default=None)


NEWEST = read_version(DEFAULT_VERSION)
