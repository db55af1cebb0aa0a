"""Settings of the producers, under Kafka's own property names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, WithJsonSchema, model_validator

from harness.model.frozen import Frozen, Setting

CLIENT_MAX_IN_FLIGHT = 1_000_000
"""librdkafka's own default; the Java client's is 5."""
CLIENT_TRANSACTION_TIMEOUT_MS = 60_000
"""librdkafka's default of transaction.timeout.ms."""
_BACKOFF_MS = 100
_BACKOFF_MAX_MS = 1000
_BACKOFF_JITTER = 0.8
_RESERVED = frozenset(
    {"bootstrap.servers", "on_delivery", "error_cb", "logger", "log_cb", "transactional.id"}
)


def _acks(value: Any) -> Any:
    if isinstance(value, bool):
        return value
    text = str(value).strip().lower()
    return "all" if text == "-1" else text


Acks = Annotated[
    Literal["0", "1", "all"], BeforeValidator(_acks), WithJsonSchema({"enum": ["0", "1", "all", 0, 1, -1]})
]
Partitioner = Literal[
    "random", "consistent", "consistent_random", "murmur2", "murmur2_random", "fnv1a", "fnv1a_random"
]
"""Partitioners of librdkafka. The Java client's default for records with a key is murmur2_random."""


class ProducerSettings(Frozen):
    """Settings of every producer of a workload. None leaves the client's default.

    Defaults are librdkafka's, which differ from the Java client's: idempotence off, 1,000,000 requests in
    flight. Only the default of `delivery.timeout.ms` is ours (30 s instead of 5 minutes), so that
    a write step ends. `extra` takes any other property of librdkafka.

    Raises:
        ValueError (as pydantic's ValidationError): settings that contradict each other.
    """

    acks: Acks = "all"
    enable_idempotence: bool = Field(default=False, alias="enable.idempotence")
    max_in_flight: int | None = Field(
        default=None, ge=1, le=CLIENT_MAX_IN_FLIGHT, alias="max.in.flight.requests.per.connection"
    )
    retries: int | None = Field(default=None, ge=0, le=2**31 - 1)
    delivery_timeout_ms: int = Field(default=30_000, ge=1, le=2**31 - 1, alias="delivery.timeout.ms")
    request_timeout_ms: int | None = Field(default=None, ge=1, le=900_000, alias="request.timeout.ms")
    socket_timeout_ms: int | None = Field(default=None, ge=10, le=300_000, alias="socket.timeout.ms")
    linger_ms: float | None = Field(default=None, ge=0, le=900_000, allow_inf_nan=False, alias="linger.ms")
    batch_size: int | None = Field(default=None, ge=1, le=2**31 - 1, alias="batch.size")
    batch_num_messages: int | None = Field(default=None, ge=1, le=1_000_000, alias="batch.num.messages")
    compression_type: Literal["none", "gzip", "snappy", "lz4", "zstd"] | None = Field(
        default=None, alias="compression.type"
    )
    partitioner: Partitioner | None = None
    sticky_linger_ms: int | None = Field(
        default=None, ge=0, le=900_000, alias="sticky.partitioning.linger.ms"
    )
    transaction_timeout_ms: int | None = Field(
        default=None, ge=1000, le=2**31 - 1, alias="transaction.timeout.ms"
    )
    extra: dict[str, Setting] = {}

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.enable_idempotence:
            if self.acks != "all":
                raise ValueError(
                    f"enable.idempotence needs acks=all, but acks is {self.acks}: "
                    "set acks to all, or switch idempotence off"
                )
            if self.max_in_flight is not None and self.max_in_flight > 5:
                raise ValueError(
                    "enable.idempotence allows at most 5 for max.in.flight.requests.per.connection, "
                    f"but it is {self.max_in_flight}: a broker remembers the last 5 batches of each producer"
                )
            if self.retries == 0:
                raise ValueError(
                    "enable.idempotence needs retries above 0, but retries is 0: leave retries out"
                )
        named = {field.alias or name for name, field in type(self).model_fields.items()} - {"extra"}
        for name in self.extra:
            if name in named:
                raise ValueError(f"{name} has a field of its own: move it out of extra")
            if name in _RESERVED:
                raise ValueError(f"{name} is set by the workload itself and cannot be given in extra")
        return self

    def properties(self) -> dict[str, str | int | float | bool]:
        """Settings that differ from the client's defaults, by Kafka's names, without the addresses."""
        given = self.model_dump(by_alias=True, exclude={"extra"}, exclude_none=True)
        return {**given, **self.extra}

    def to_librdkafka(
        self, bootstrap: str, transactional_id: str | None = None, security: Mapping[str, str] | None = None
    ) -> dict[str, str | int | float | bool]:
        """Configuration for `confluent_kafka.Producer`; `bootstrap` is "host:port,host:port", `security`
        holds security.protocol, ssl.* and sasl.*.

        With a `transactional_id` the producer is idempotent too, as transactions require.
        """
        config = {"bootstrap.servers": bootstrap, **(security or {}), **self.properties()}
        if transactional_id is not None:
            config |= {"transactional.id": transactional_id, "enable.idempotence": True}
        return config

    def transaction_timeout(self) -> int:
        """The client's transaction.timeout.ms, in ms."""
        return self.transaction_timeout_ms or CLIENT_TRANSACTION_TIMEOUT_MS

    def check_transactional(self) -> None:
        """Raise ValueError if these settings exclude transactions."""
        # Transactions need what idempotence needs: validation reports it.
        type(self).model_validate({**self.model_dump(by_alias=True), "enable.idempotence": True})
        timeout = self.transaction_timeout()
        if self.delivery_timeout_ms > timeout:
            raise ValueError(
                f"delivery.timeout.ms ({self.delivery_timeout_ms}) must not exceed transaction.timeout.ms "
                f"({timeout}): a record must have its report before its transaction times out"
            )

    def single_attempt_ns(self) -> int:
        """Nanoseconds after the send: an earlier report proves that there was only one attempt.

        0 (proves nothing) if retries are allowed. With retries=0 librdkafka may still resend, uncounted, but
        not before its back-off, jittered by 20 % either way (`rd_kafka_retry_msgq`).
        """
        if self.retries != 0:
            return 0
        try:
            backoff = int(self.extra.get("retry.backoff.ms", _BACKOFF_MS))
            most = int(self.extra.get("retry.backoff.max.ms", _BACKOFF_MAX_MS))
        except ValueError:
            # Not a number: the client will refuse it.
            return 0
        return int(min(backoff * _BACKOFF_JITTER, most) * 1_000_000)
