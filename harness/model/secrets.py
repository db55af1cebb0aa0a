"""Secrets in configurations are never shown: neither in reports, nor in messages, nor in run folders."""

from __future__ import annotations

import re
from collections.abc import Mapping

MASK = "***"
_SECRET_NAME = re.compile(
    r"passw|passphrase|pasw|secret|sasl\.jaas|token(?!\.endpoint)|credential|basic\.auth|api\.?key"
    r"|ssl\.key(?!\.location)|ssl\.keystore\.key|private\.key(?!\.file)|oauthbearer\.config|assertion\.private",
    re.IGNORECASE,
)
_SECRET_VALUE = re.compile(r"passw|secret|BEGIN [A-Z ]*PRIVATE KEY|LoginModule", re.IGNORECASE)
_SHORTEST = 3


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
