"""Masks secrets of configurations, so that reports, messages and run folders never show them."""

from __future__ import annotations

import json
import re
import shlex
import sys
from collections.abc import Iterable, Mapping
from typing import Any

MASK = "***"
_SECRET_NAME = re.compile(
    r"passw|passphrase|pasw|secret|sasl\.jaas|token(?!\.endpoint)|credential|basic\.auth|api\.?key"
    r"|ssl\.key(?!\.location)|ssl\.keystore\.key|private\.key(?!\.file)|oauthbearer\.config|assertion\.private",
    re.IGNORECASE,
)
_SECRET_VALUE = re.compile(r"passw|secret|BEGIN [A-Z ]*PRIVATE KEY|LoginModule", re.IGNORECASE)
_MATERIAL = re.compile(r"BEGIN [A-Z ]*PRIVATE KEY|LoginModule")
_SHORTEST = 3
_SHORTEST_KNOWN = 5
"""Shorter values also occur inside ordinary words."""


def is_secret(name: str, value: str = "") -> bool:
    """Whether a setting's value may hold a secret: by its name, or by what the value looks like."""
    return bool(_SECRET_NAME.search(name) or _SECRET_VALUE.search(value))


def masked(name: str, value: str) -> str:
    """A setting's value; `MASK` if it may be a secret."""
    return MASK if is_secret(name, value) else value


def format_settings(settings: Mapping[str, object]) -> str:
    """Settings in one line, with secrets masked: "acks=all, sasl.password=***"."""
    return ", ".join(f"{name}={masked(name, str(value))}" for name, value in settings.items())


def without_secrets(text: str, settings: Mapping[str, str]) -> str:
    """A message with the secrets of these settings masked, in case it quotes one."""
    hidden = [value for name, value in settings.items() if is_secret(name, value) and len(value) >= _SHORTEST]
    for value in sorted(hidden, key=len, reverse=True):
        text = text.replace(value, MASK)
    return text


def without_secret_values(data: Any) -> Any:
    """Data of a file (mappings, lists, scalars) with the secrets among its settings masked.

    Only certain secrets are masked: by a setting's name, or a value that looks like a private key or a
    login. A description that mentions passwords stays as it is.
    """
    if isinstance(data, Mapping):
        return {key: _of_setting(str(key), value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [without_secret_values(value) for value in data]
    return data


def _of_setting(name: str, value: Any) -> Any:
    if isinstance(value, str | int | float) and not isinstance(value, bool):
        return MASK if _SECRET_NAME.search(name) or _MATERIAL.search(str(value)) else value
    return without_secret_values(value)


def masked_at(data: Any, where: str = "") -> str | None:
    """The path of the first masked secret in a file's data; None: there is none.

    Such a file was written by this program and cannot be used as it is.
    """
    if isinstance(data, Mapping):
        pairs = [(f"{where}.{key}" if where else str(key), value) for key, value in data.items()]
    elif isinstance(data, list | tuple):
        pairs = [(f"{where}[{number}]", value) for number, value in enumerate(data)]
    else:
        return where if data == MASK else None
    return next((path for key_path, value in pairs if (path := masked_at(value, key_path))), None)


def format_command(arguments: Iterable[str]) -> str:
    """A command line that can be shown and pasted; secrets in `name=value` are masked."""
    words = []
    for argument in arguments:
        name, sign, value = argument.partition("=")
        words.append(f"{name}={masked(name, value)}" if sign else argument)
    return shlex.join(words)


def this_command(*more: str) -> str:
    """The command line of this process with more options, as `format_command` shows it."""
    return format_command(["kafka-chaos", *sys.argv[1:], *more])


_KNOWN: set[str] = set()
"""The secrets that this process was given, so that it never writes one: neither when a client's error quotes
it, nor in a command line of a fault."""


def remember_secrets(data: Any) -> None:
    """Remember the secrets among these settings (mappings may hold mappings and lists) for `redact`."""
    if isinstance(data, Mapping):
        for name, value in data.items():
            if isinstance(value, str) and is_secret(str(name), "") and len(value) >= _SHORTEST_KNOWN:
                _KNOWN.add(value)
            else:
                remember_secrets(value)
    elif isinstance(data, list | tuple):
        for value in data:
            remember_secrets(value)


def redact(text: str) -> str:
    """The text with every remembered secret masked."""
    for value in sorted(_KNOWN, key=len, reverse=True):
        for form in (value, json.dumps(value)[1:-1]):
            text = text.replace(form, MASK)
    return text
