"""Producer settings as properties of the Java client, and the arguments of VerifiableProducer."""

from __future__ import annotations

from workloads.config.spec import ProducerSettings, ScriptedProducerSpec, WorkloadSpec

MOST_PRODUCERS = 16
"""The most VerifiableProducers of a run: each is a JVM."""
_RETRIES = 2**31 - 1
"""The Java client's own default. VerifiableProducer's is 0, which excludes idempotence."""
_REQUEST_TIMEOUT_MS = 30_000
_LINGER_MS = 5
"""Java's defaults since 4.0 (before: linger.ms 0)."""
_LARGEST = 2**31 - 1


def java_problem(spec: WorkloadSpec, settings: ProducerSettings) -> str | None:
    """Why the Java client cannot run this workload; None: it can."""
    if "record_size" in spec.model_fields_set:
        return "record_size cannot be set with client java: VerifiableProducer writes numbers"
    if spec.transactional or spec.spread != "even":
        return "client java has no transactions, no `process` and no `spread: client`: its tool cannot"
    if spec.producers > MOST_PRODUCERS:
        return f"client java takes at most {MOST_PRODUCERS} producers, a JVM each, not {spec.producers}"
    if spec.keys is not None and spec.keys > _LARGEST:
        return f"client java takes at most {_LARGEST} keys"
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

    Every setting that matters is given, because the defaults of VerifiableProducer are not the client's
    (retries is 0). Without a `request.timeout.ms` it is the client's 30 s, or less if `delivery.timeout.ms`
    is short: the client requires delivery.timeout.ms >= linger.ms + request.timeout.ms.
    """
    given = {name: _java_text(value) for name, value in settings.properties().items()}
    linger = int(float(given.get("linger.ms", _LINGER_MS)))
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
    if isinstance(value, bool):
        return str(value).lower()
    return str(int(value)) if isinstance(value, float) and value == int(value) else str(value)


def properties_text(properties: dict[str, str]) -> str:
    """A Java properties file (java.util.Properties.load)."""
    return "".join(f"{name}={_escaped(value)}\n" for name, value in properties.items())


def _escaped(value: str) -> str:
    plain = value.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t")
    return f"\\{plain}" if plain.startswith(" ") else plain


def arguments(
    version: str,
    *,
    bootstrap: str,
    topic: str,
    prefix: int,
    acks: str,
    config_file: str,
    records: int | None,
    rate: float | None,
    keys: int | None,
) -> list[str]:
    """Arguments of VerifiableProducer.

    Args:
        version: the version of Kafka, which decides the name of an option (KIP-1147).
        prefix: the first part of each value, "PREFIX.NUMBER".
        records: the number of records to send; None: until the process is stopped.
        rate: records per second, at least 1; None: full speed.
        keys: the number of keys that are repeated; None: no keys.
    """
    options = {
        "--bootstrap-server": bootstrap,
        "--topic": topic,
        "--value-prefix": prefix,
        "--acks": -1 if acks == "all" else acks,
        "--max-messages": -1 if records is None else min(records, _LARGEST),
        "--throughput": -1 if rate is None else min(_LARGEST, max(1, round(rate))),
        _config_option(version): config_file,
    }
    if keys is not None:
        options["--repeating-keys"] = keys
    return [str(part) for pair in options.items() for part in pair]


def _config_option(version: str) -> str:
    numbers = [int(part) if part.isdigit() else 0 for part in version.split("-")[0].split(".")]
    return "--command-config" if numbers[:2] >= [4, 3] else "--producer.config"
