"""The version of Kafka that a configuration is for: of the brokers, and of the Java client."""

from __future__ import annotations

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
        found = (*(int(part) for part in parts), _LAST_PATCH)[:3]
        if found >= numbers(OLDEST):
            return found
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


NEWEST = read_version(DEFAULT_VERSION)
