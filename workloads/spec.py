"""What the producers are given and how much they write, under Kafka's own property names."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema, model_validator

from harness.model.settings import Setting
from workloads.identity import PREFIX

CLIENT_MAX_IN_FLIGHT = 1_000_000
"""librdkafka's own default; the Java client's is 5."""
_BACKOFF_MS = 100
_BACKOFF_MAX_MS = 1000
_BACKOFF_JITTER = 0.8
_OURS = frozenset({"bootstrap.servers", "on_delivery", "error_cb", "logger", "log_cb", "transactional.id"})


def _acks(value: Any) -> Any:
    if isinstance(value, bool):
        return value
    text = str(value).strip().lower()
    return "all" if text == "-1" else text


Acks = Annotated[
    Literal["0", "1", "all"],
    BeforeValidator(_acks),
    WithJsonSchema({"enum": ["0", "1", "all", 0, 1, -1]}),
]


class ProducerSettings(BaseModel):
    """Settings of every producer of a workload. None leaves the client's default.

    Defaults are librdkafka's, which differ from the Java client's: idempotence off, 1,000,000 requests in
    flight. `delivery.timeout.ms` alone is ours (30 s instead of 5 minutes), so that a write step ends.
    `extra` takes any other librdkafka property.

    Raises:
        ValueError (as pydantic's ValidationError): settings that contradict each other.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

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
    compression_type: Literal["none", "gzip", "snappy", "lz4", "zstd"] | None = Field(
        default=None, alias="compression.type"
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
                    f"but it is {self.max_in_flight}: a broker remembers the last 5 batches of a producer"
                )
            if self.retries == 0:
                raise ValueError(
                    "enable.idempotence needs retries above 0, but retries is 0: leave retries out"
                )
        named = {field.alias or name for name, field in type(self).model_fields.items()} - {"extra"}
        for name in self.extra:
            if name in named:
                raise ValueError(f"{name} has a field of its own: move it out of extra")
            if name in _OURS:
                raise ValueError(f"{name} is set by the workload itself and cannot be given in extra")
        return self

    def properties(self) -> dict[str, str | int | float | bool]:
        """What differs from the client's defaults, by Kafka's names, without the addresses."""
        given = self.model_dump(by_alias=True, exclude={"extra"}, exclude_none=True)
        return {**given, **self.extra}

    def to_librdkafka(self, bootstrap: str) -> dict[str, str | int | float | bool]:
        """Configuration for `confluent_kafka.Producer`; `bootstrap` is "host:port,host:port"."""
        return {"bootstrap.servers": bootstrap, **self.properties()}

    def single_attempt_ns(self) -> int:
        """A report that comes sooner than this after the send proves that there was one attempt only.

        0 (proves nothing) when retries are allowed. With retries=0 librdkafka may still send again
        uncounted, but not before its back-off, jittered by 20 % either way (`rd_kafka_retry_msgq`).
        """
        if self.retries != 0:
            return 0
        try:
            backoff = int(self.extra.get("retry.backoff.ms", _BACKOFF_MS))
            most = int(self.extra.get("retry.backoff.max.ms", _BACKOFF_MAX_MS))
        except ValueError:
            # Not a number: the client will refuse it; until then nothing is proved.
            return 0
        return int(min(backoff * _BACKOFF_JITTER, most) * 1_000_000)


class WorkloadSpec(BaseModel):
    """How much is written, by which client, and how it is spread.

    `client` is "librdkafka", or "java": Kafka's own VerifiableProducer, which writes numbers as text, so
    that `record_size` cannot be chosen.

    `record_size` is the value's bytes. With `keys` the key id is seq % keys and the partition is key %
    partitions; without, records have no key and go round robin by seq. `rate` is records a second over all
    producers (None: full speed).
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    producers: int = Field(default=1, ge=1, le=1000)
    record_size: int = Field(default=100, ge=PREFIX, le=100_000_000)
    keys: int | None = Field(default=None, ge=1, le=2**62)
    rate: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    client: Literal["librdkafka", "java"] = "librdkafka"
