"""How much producers write, with which client, in which transactions, and how it is spread."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from harness.model.frozen import Frozen
from harness.model.secrets import format_command
from workloads.records.config.own_producer_spec import OwnProducerSpec
from workloads.records.config.payload_spec import PayloadSpec
from workloads.records.config.reader_spec import ReaderSpec
from workloads.records.record.identity import PREFIX


class TransactionSpec(Frozen):
    """Every record is sent in a transaction of its producer, over several partitions.

    A transaction ends after `records` sends and at the end of the write step. A share of `abort` of the
    transactions, drawn by the seed, is aborted instead of committed. The producer waits for the reports of a
    transaction's records before it aborts, so that aborted records really are in the log. With
    `fence_every: N` every N-th transaction is left open while a successor takes over its transactional.id (as
    after a failover); then its producer tries to commit and must be fenced.

    With `poll`, an isolation.level, transactions also read: every producer has a reader of all partitions,
    named `polls-N` after the producer's number. When the records of a transaction are acknowledged, it stays
    open for `poll_after` seconds, takes up to `poll_records` of the records that its reader has received
    since the transaction before, and is then committed or aborted. Positions are not committed, and go on
    after an abort. The cycles that such transactions make are findings
    (docs/explanation/transactions-that-read.md).
    """

    records: int = Field(default=100, ge=1, description="sends of one transaction")
    abort: float = Field(default=0.0, ge=0, le=1, description="share that is aborted on purpose")
    fence_every: int | None = Field(default=None, ge=1)
    poll: Literal["read_committed", "read_uncommitted"] | None = Field(
        default=None, description="isolation.level with which transactions read; null: they do not"
    )
    poll_after: float = Field(default=0.2, ge=0, le=10, description="seconds; others write meanwhile")
    poll_records: int = Field(default=500, ge=1, le=100_000, description="the most that a transaction takes")


class ProcessSpec(Frozen):
    """Exactly-once consume-process-produce (KIP-447): a group of `members` reads the topic with
    read_committed and writes one record for each record to a second topic. The records and offsets of up to
    `records` input records are committed in one transaction. A share of `abort` of the transactions, drawn
    by the seed, is aborted instead, and their input records are read again. `restarts` are as for readers.

    The key id of a processed record is its input record's partition * 2^48 + offset: each must occur
    exactly once among the committed records of the second topic.
    """

    members: int = Field(default=1, ge=1, le=20)
    records: int = Field(default=100, ge=1, le=10_000)
    abort: float = Field(default=0.0, ge=0, le=1, description="share that is aborted on purpose")
    restarts: tuple[Annotated[float, Field(ge=0)], ...] = ()


class ScriptedProducerSpec(Frozen):
    """Java producers that make the calls of drive steps, one after another.

    `version` is the version of the client library (None: the cluster's). With `transactional` each producer
    has a transactional.id; with `coordinator` one for which this broker is the coordinator.
    """

    version: str | None = Field(default=None, pattern=r"^\d+\.\d+\.\d+$")
    transactional: bool = False
    coordinator: int | None = Field(default=None, ge=0)

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.coordinator is not None and not self.transactional:
            raise ValueError(
                "`coordinator` applies to transactions only: set `transactional: true`, or leave it out"
            )
        return self


class WorkloadSpec(Frozen):
    """How much is written, by which client, and how it is spread.

    `client` is "librdkafka"; or "java", the Java client, at most about 4,000 records/s; or "driven", Java
    producers that only make the calls of drive steps (`driven` holds their settings). All write the same
    records. With "own" a program of the user's writes (`own` holds what it does, and how the run starts it),
    and the run waits for `producers` of its producers.

    `record_size` is the size of a value in bytes. With `keys` the key id is seq % keys; without, records have
    no key. `spread` says who chooses the partition: with `even` the workload (key % partitions, or round
    robin by seq), with `client` the client, by its `partitioner` and the key, or sticky without a key
    (`sticky.partitioning.linger.ms`). `rate` is the number of records per second over all producers (None:
    full speed). With `payload` records hold what the user says, so that an application can parse them;
    without, bytes of kafka-chaos that begin with the identity of the record.
    """

    producers: int = Field(default=1, ge=1, le=1000)
    record_size: int = Field(default=100, ge=PREFIX, le=100_000_000)
    keys: int | None = Field(default=None, ge=1, le=2**62)
    rate: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    spread: Literal["even", "client"] = "even"
    transactions: TransactionSpec | None = None
    client: Literal["librdkafka", "java", "driven", "own"] = "librdkafka"
    process: ProcessSpec | None = None
    driven: ScriptedProducerSpec | None = None
    own: OwnProducerSpec | None = None
    payload: PayloadSpec | None = None

    @model_validator(mode="after")
    def _check(self) -> Self:
        defaults = {name: field.default for name, field in type(self).model_fields.items()}
        if self.payload is not None and self.client != "librdkafka":
            raise ValueError(f"`payload` is not possible with `client: {self.client}`: leave one of them out")
        if self.payload is not None and self.process is not None:
            raise ValueError("`payload` is not possible with `process`: leave one of them out")
        if self.payload is not None and self.record_size != defaults["record_size"]:
            raise ValueError(
                "`record_size` is that of kafka-chaos's own values: with `payload`, leave it out"
            )
        left_out = set(defaults) - {"client", "driven", "record_size"}
        given = sorted(name for name in left_out if getattr(self, name) != defaults[name])
        if self.client == "driven" and given:
            raise ValueError(
                f"client driven only makes the calls of drive steps: leave {', '.join(given)} out"
            )
        for name in ("driven", "own"):
            if getattr(self, name) is not None and self.client != name:
                raise ValueError(f"`{name}` applies to `client: {name}` only: set that, or leave it out")
        decided = ("record_size", "keys", "rate", "spread", "transactions", "process", "payload")
        beside = [name for name in decided if getattr(self, name) != defaults[name]]
        if self.client == "own" and beside:
            raise ValueError(
                f"with client own your program decides what it writes: leave {', '.join(beside)} out"
            )
        return self

    @property
    def drive(self) -> ScriptedProducerSpec:
        """The settings of producers that drive steps control."""
        return self.driven or ScriptedProducerSpec()

    @property
    def poll_readers(self) -> tuple[ReaderSpec, ...]:
        """The readers from which transactions take records, one per producer; empty if they do not poll."""
        if self.transactions is None or self.transactions.poll is None:
            return ()
        isolation = self.transactions.poll
        return tuple(
            ReaderSpec(name=f"polls-{number}", isolation=isolation) for number in range(self.producers)
        )

    @property
    def program_in_words(self) -> str | None:
        """The program that the run starts, with its arguments, on one line; None: it starts none."""
        if self.own is None or self.own.command is None:
            return None
        each = self.own.one_each and self.producers > 1
        times = f", once for each of {self.producers} producers" if each else ""
        return f"{format_command(self.own.command)}{times}"

    @property
    def close_seconds(self) -> float | None:
        """How long after the write steps producers may take to end, in seconds, as the experiment says; None:
        it does not."""
        return None if self.own is None else self.own.close_seconds

    @property
    def transactional(self) -> bool:
        """Whether any record is written in a transaction."""
        return (
            self.transactions is not None
            or self.process is not None
            or self.drive.transactional
            or (self.own is not None and self.own.transactional)
        )
