"""Why the client refuses settings, in its own words; no broker is needed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from confluent_kafka import KafkaException, Producer

_NOWHERE = "127.0.0.1:1"


def librdkafka_refuses(properties: Mapping[str, Any]) -> str | None:
    """Why librdkafka cannot create a producer with these properties; None: it can.

    A producer connects in the background once it is created, so it gets an address where no broker answers.
    """
    settings = {name: value for name, value in properties.items() if name != "extra"}
    settings |= dict(properties.get("extra") or {})
    try:
        Producer({**settings, "bootstrap.servers": _NOWHERE, "log_level": 0, "error_cb": lambda _: None})
    except (KafkaException, TypeError, ValueError) as error:
        cause = error.args[0] if error.args else error
        return str(cause.str()) if hasattr(cause, "str") else str(cause)
    return None
