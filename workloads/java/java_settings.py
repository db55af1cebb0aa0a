"""Producer settings as properties of the Java client."""

from __future__ import annotations

from harness.model.frozen import plain
from workloads.records.config.producer_settings import ProducerSettings
from workloads.records.config.workload_spec import ScriptedProducerSpec, WorkloadSpec

MOST_PRODUCERS = 16
"""The most producers of a run with `client: java`: each has a JVM."""
_RETRIES = 2**31 - 1
"""The Java client's own default."""
_REQUEST_TIMEOUT_MS = 30_000
_LINGER_MS = 5
"""Java's defaults since 4.0 (before: linger.ms 0)."""


def java_problem(spec: WorkloadSpec, settings: ProducerSettings) -> str | None:
    """Why the Java client cannot run this workload; None: it can."""
    if spec.transactional:
        return "client java writes no transactions and has no `process`; `client: driven` writes transactions"
    if spec.producers > MOST_PRODUCERS:
        return f"client java takes at most {MOST_PRODUCERS} producers, a JVM each, not {spec.producers}"
    return settings_problem(settings)


def settings_problem(settings: ProducerSettings) -> str | None:
    """Why the Java client cannot take these settings; None: it can."""
    if settings.socket_timeout_ms is not None:
        return "socket.timeout.ms is librdkafka's; the Java client has request.timeout.ms"
    if settings.linger_ms is not None and settings.linger_ms != int(settings.linger_ms):
        return f"the Java client takes linger.ms in whole milliseconds, not {settings.linger_ms}"
    return None


def java_properties(settings: ProducerSettings, bootstrap: str) -> dict[str, str]:
    """Properties of the Java producer.

    Without a `request.timeout.ms` it is the client's 30 s, or less if `delivery.timeout.ms` is short: the
    client requires delivery.timeout.ms >= linger.ms + request.timeout.ms.
    """
    given = {name: _java_text(value) for name, value in settings.properties().items()}
    linger = _LINGER_MS if settings.linger_ms is None else int(settings.linger_ms)
    room = max(1, settings.delivery_timeout_ms - linger)
    defaults = {
        "retries": str(_RETRIES),
        "linger.ms": str(min(linger, settings.delivery_timeout_ms - 1)),
        "request.timeout.ms": str(min(_REQUEST_TIMEOUT_MS, room)),
    }
    return {"bootstrap.servers": bootstrap, **defaults, **given}


def scripted_properties(
    spec: ScriptedProducerSpec,
    settings: ProducerSettings,
    bootstrap: str,
    transactional_id: str | None = None,
) -> dict[str, str]:
    """Properties of a Java producer that drive steps control.

    A transactional producer is idempotent, as in the client itself.
    """
    given = java_properties(settings, bootstrap)
    if spec.transactional:
        given["enable.idempotence"] = "true"
        # The client's own default would not fit a short delivery time-out.
        given["transaction.timeout.ms"] = str(settings.transaction_timeout())
    return given if transactional_id is None else {**given, "transactional.id": transactional_id}


def _java_text(value: str | int | float | bool) -> str:
    return str(plain(int(value) if isinstance(value, float) and value.is_integer() else value))
