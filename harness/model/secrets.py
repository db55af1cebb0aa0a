"""Secrets in configurations are never shown: neither in reports, nor in messages, nor in run folders."""

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
"""What is shorter stands in other words too."""


def is_secret(name: str, value: str = "") -> bool:
    """Whether a setting's value may hold a secret: by its name, or by what the value looks like."""
    return bool(_SECRET_NAME.search(name) or _SECRET_VALUE.search(value))


def masked(name: str, value: str) -> str:
    """A setting's value, fit to be shown."""
    return MASK if is_secret(name, value) else value


def shown(settings: Mapping[str, object]) -> str:
    """Settings in one line, fit to be shown: "acks=all, sasl.password=***"."""
    return ", ".join(f"{name}={masked(name, str(value))}" for name, value in settings.items())


def without_secrets(text: str, settings: Mapping[str, str]) -> str:
    """A message without the secrets that these settings hold, in case it quotes one."""
    hidden = [value for name, value in settings.items() if is_secret(name, value) and len(value) >= _SHORTEST]
    for value in sorted(hidden, key=len, reverse=True):
        text = text.replace(value, MASK)
    return text


def without_secret_values(data: Any) -> Any:
    """Data of a file (mappings, lists, scalars) with the secrets among its settings masked.

    Only what is surely one: by a setting's name, or a private key or login by its looks. A description that
    speaks of passwords stays as it is.
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


def masked_at(data: Any, place: str = "") -> str | None:
    """Where in a file's data a secret stands as `MASK`: it was written by us, and cannot be used as it is."""
    if isinstance(data, Mapping):
        pairs = [(f"{place}.{key}" if place else str(key), value) for key, value in data.items()]
    elif isinstance(data, list | tuple):
        pairs = [(f"{place}[{number}]", value) for number, value in enumerate(data)]
    else:
        return place if data == MASK else None
    return next((found for where, value in pairs if (found := masked_at(value, where))), None)


def shown_command(arguments: Iterable[str]) -> str:
    """A command line that can be shown and pasted: `name=value` of a secret is masked."""
    told = []
    for argument in arguments:
        name, sign, value = argument.partition("=")
        told.append(f"{name}={masked(name, value)}" if sign else argument)
    return shlex.join(told)


def this_command(*more: str) -> str:
    """The command line of this process, and more options, as `shown_command` shows it."""
    return shown_command(["kafka-chaos", *sys.argv[1:], *more])


class _Known:
    """Secrets that this process was given, so that none of them gets into what it writes, however it came
    there: in the words of a client's error, or in a command line of a fault."""

    def __init__(self) -> None:
        self._values: set[str] = set()

    def learn(self, data: Any) -> None:
        if isinstance(data, Mapping):
            for name, value in data.items():
                if isinstance(value, str) and is_secret(str(name), "") and len(value) >= _SHORTEST_KNOWN:
                    self._values.add(value)
                else:
                    self.learn(value)
        elif isinstance(data, list | tuple):
            for value in data:
                self.learn(value)

    def hidden(self, text: str) -> str:
        for value in sorted(self._values, key=len, reverse=True):
            for form in (value, json.dumps(value)[1:-1]):
                text = text.replace(form, MASK)
        return text


_KNOWN = _Known()


def learn(data: Any) -> None:
    """Remember the secrets among these settings (mappings may hold mappings and lists), for `hidden`."""
    _KNOWN.learn(data)


def hidden(text: str) -> str:
    """Text without any secret that was learnt."""
    return _KNOWN.hidden(text)
