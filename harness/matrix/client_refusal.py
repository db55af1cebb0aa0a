"""What the client itself says of settings that it refuses; no broker is asked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from confluent_kafka import KafkaException, Producer

_NOWHERE = "127.0.0.1:1"


def librdkafka_refuses(properties: Mapping[str, Any]) -> str | None:
    """Why librdkafka will not make a producer of these properties; None: it will.

    A producer connects when it is made, in the background: it is given an address where nobody answers.
    """
    given = {name: value for name, value in properties.items() if name != "extra"}
    given |= dict(properties.get("extra") or {})
    try:
        Producer({**given, "bootstrap.servers": _NOWHERE, "log_level": 0, "error_cb": _ignored})
    except (KafkaException, TypeError, ValueError) as error:
        cause = error.args[0] if error.args else error
        return str(cause.str()) if hasattr(cause, "str") else str(cause)
    return None


def _ignored(_error: object) -> None:
    """That nobody answers there is what was wanted."""
