"""Metadata of one run (`run.json`): what was run, on which cluster, and whether the final read is
complete."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from harness.model.application_meta import ApplicationMeta
from harness.model.frozen import Frozen
from harness.model.journal import RUN_FILE, SCHEMA_VERSION
from harness.model.program_meta import ProgramMeta, WireSettings
from harness.model.secrets import redact
from harness.model.storage import StoragePath, write_whole
from harness.model.versioned_json import Refusal, VersionedFile


class ImageInfo(Frozen):
    """The broker image, and whether it was here, pulled or built."""

    reference: str
    digest: str
    origin: Literal["local", "pulled", "built", "unknown"]
    kafka_version: str


class VersionChange(Frozen):
    """At `at_ns` a node got another version of Kafka, or a feature another finalised level: `what` is the
    node's name ("broker-1") or the feature ("metadata.version"); `before` and `after` are versions or
    levels."""

    at_ns: int
    what: str
    before: str
    after: str


class ClusterInfo(Frozen):
    """The cluster a run used. Memory is the sum over its containers after the run, in MiB. `image` is that
    of every node at the start, and `changes` are the versions and levels that it got during the run."""

    brokers: int
    controllers: int
    combined: bool
    profile: str
    properties: dict[str, str]
    image: ImageInfo
    start_seconds: float
    memory_mib: float | None = None
    changes: tuple[VersionChange, ...] = ()


UNKNOWN_CLUSTER = ClusterInfo(
    brokers=0,
    controllers=0,
    combined=False,
    profile="unknown",
    properties={},
    image=ImageInfo(reference="unknown", digest="", origin="unknown", kafka_version="unknown"),
    start_seconds=0.0,
)
"""For runs of another tool that did not describe its cluster."""


class StepInfo(Frozen):
    """One step of the experiment as it happened. `name` is unique within the run."""

    index: int
    name: str
    kind: str
    started_ns: int
    ended_ns: int | None = None


class PartitionBounds(Frozen):
    """Offsets of one partition at the final read: records lie in [log_start_offset, end_offset)."""

    topic: str
    partition: int
    log_start_offset: int
    end_offset: int
    leader: int
    leader_epoch: int


class FinalRead(Frozen):
    """Whether the final read was proved complete; `reasons` say why not.

    `attested`: whoever wrote the journals states that it is complete; this harness did not prove it.
    Replicas' files were not available then, so a loss is judged without them.
    """

    complete: bool
    attested: bool = False
    reasons: tuple[str, ...] = ()
    bounds: tuple[PartitionBounds, ...] = ()
    records: int = 0
    settled_seconds: float | None = None
    finished_ns: int | None = None
    committed_records: int | None = None
    """Records of the second final read, read_committed (None: there was none, nothing was transactional)."""
    replicas_inspected: tuple[int, ...] = ()
    """Brokers whose own segment files were read because something acknowledged was not read back."""
    held: tuple[tuple[str, int, int], ...] = ()
    """(topic, partition, last stable offset) where a transaction is still open long after its timeout:
    readers of committed records do not get further."""

    @property
    def began(self) -> bool:
        """Whether anything was read: if the cluster did not settle, the absence of a record says nothing."""
        return self.complete or self.records > 0


class ReaderInfo(Frozen):
    """A live reader, which read during the faults; its rows are in `live/NAME`.

    `group` is its consumer group (None: it was assigned partitions directly and committed nothing).
    `protocol` is group.protocol, `session_ms` after how many milliseconds without a heartbeat the coordinator
    may expire it. `committed`: isolation.level=read_committed. `rack`: client.rack, for fetching from
    followers. `client` is the library. `reset` is auto.offset.reset: error, earliest, latest or
    by_duration:DURATION (None: not known). `producer` is the number of the producer whose transactions take
    what it receives (None: it is a reader by itself).
    `closed` is False if it was still reading when the run was aborted.
    """

    name: str
    group: str | None = None
    committed: bool = False
    protocol: Literal["classic", "consumer"] = "classic"
    session_ms: int = 45_000
    rack: str | None = None
    commits: Literal["none", "auto", "manual", "before", "transaction"] = "none"
    client: str = "librdkafka"
    reset: str | None = None
    producer: int | None = None
    records: int = 0
    closed: bool = False


class ShareInfo(Frozen):
    """A share group of the run (KIP-932): its rows are in `deliveries`, `share_offsets` and `share_events`.

    `group` is its group.id. `members` are their names, `hold_seconds` how long each batch was held.
    `lock_seconds` and `delivery_limit` are the group's settings as the experiment has them. `client` is the
    library. `closed` is False if its members were still there when the run was aborted.
    """

    name: str
    group: str
    members: tuple[str, ...]
    acknowledge: Literal["accept", "release", "reject", "mixed"] = "accept"
    hold_seconds: float = 0.0
    lock_seconds: float = 30.0
    delivery_limit: int = 5
    client: str = "librdkafka"
    deliveries: int = 0
    closed: bool = False


class FaultWindow(Frozen):
    """One injected fault: open from `opened_ns` until `closed_ns` (None: never healed)."""

    name: str
    kind: str
    target: str
    opened_ns: int
    closed_ns: int | None
    verified: bool
    evidence: str = ""


class Deletion(Frozen):
    """Records that a step or a fault of the experiment deleted: those of `topic` below offset `before` in
    `partition` (None: in every one), or all of them, because the topic was deleted and created again (None).
    Every record that had been sent by `at_ns` is concerned."""

    topic: str
    before: int | None
    at_ns: int
    partition: int | None = None


class ChangedConfig(Frozen):
    """Settings of the topic that a fault set over its others, until `until_ns` (None: until the end)."""

    config: dict[str, str]
    until_ns: int | None = None


class RecordIds(Frozen):
    """That records have an id of their own: at what `place`, in words, and how often each is meant to be in
    the log (`times`). `alone`: they have no other identity, so that ids are all that is judged."""

    place: str
    times: int = 1
    alone: bool = False


class RunMeta(Frozen):
    """Everything about one run that is not a journal.

    `run_id` is the 63-bit number that every value of this run carries. `partitions` is the number that the
    topic has at the end, `partitions_at_start` that with which it was created (None: not known; then no
    partition counts as added). `producer_config` is the client's
    configuration (secrets masked), `client` the library ("librdkafka", "java", or the tool whose history was
    imported), `max_in_flight` the requests per connection (None: the client's default), `order` whether the
    client keeps the order of sends where the settings do ("none": it does not by itself), `promise` the arm's
    promise as written in the experiment. `skipped` names the faults that are not possible on the machine and
    that the experiment allowed to skip; `programs` are the user's that the run started, `wire` what proxies
    saw their clients ask for; `remarks` are sentences that the report shows; `timings` are the seconds of the
    phases, in order.
    """

    schema_version: int = SCHEMA_VERSION
    run_id: int
    experiment: str
    arm: str
    seed: int = 0
    topic: str
    partitions: int
    partitions_at_start: int | None = None
    replication_factor: int
    topic_config: dict[str, str] = {}
    producer_config: dict[str, str] = {}
    acks: Literal["0", "1", "all"]
    idempotent: bool
    transactional: bool = False
    client: str = "librdkafka"
    max_in_flight: int | None = None
    order: Literal["sent", "none"] = "sent"
    readers: tuple[ReaderInfo, ...] = ()
    share: tuple[ShareInfo, ...] = ()
    promise: dict[str, str] = {}
    cluster: ClusterInfo = UNKNOWN_CLUSTER
    versions: dict[str, str] = {}
    started_ns: int
    ended_ns: int | None = None
    steps: tuple[StepInfo, ...] = ()
    windows: tuple[FaultWindow, ...] = ()
    deletions: tuple[Deletion, ...] = ()
    changed_configs: tuple[ChangedConfig, ...] = ()
    final_read: FinalRead | None = None
    application: ApplicationMeta | None = None
    ids: RecordIds | None = None
    programs: tuple[ProgramMeta, ...] = ()
    wire: tuple[WireSettings, ...] = ()
    finished: bool = False
    problems: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    timings: dict[str, float] = {}

    @property
    def read_began(self) -> bool:
        """Whether the topic was read at the end: if not, that a record was not read says nothing."""
        return self.final_read is not None and self.final_read.began

    @property
    def identified(self) -> bool:
        """Whether its records have an identity: if not, they are judged by their ids alone."""
        return self.ids is None or not self.ids.alone

    def step_name(self, index: int | None) -> str:
        """The name of a step; its number, if the run has no such step."""
        return next((step.name for step in self.steps if step.index == index), f"step {index}")

    def save(self, folder: Path) -> None:
        """Write `run.json` so that a reader never sees half a file."""
        write_whole(folder / RUN_FILE, redact(self.model_dump_json(indent=2)) + "\n")

    @classmethod
    def load(cls, folder: StoragePath) -> RunMeta:
        """Read `run.json` of a run folder.

        Raises:
            JournalError: no such folder or file, not a run's metadata, or written by another version.
        """
        return _FILE.read(folder / RUN_FILE)


_FILE = VersionedFile(
    RunMeta,
    SCHEMA_VERSION,
    absent=Refusal(
        "this is not a run folder",
        expected=f"a folder holding {RUN_FILE}, as `kafka-chaos run` leaves below results/",
        next_step="name a run folder, for example results/kill-leader-.../acks-all",
    ),
    damaged=Refusal(
        "the run's metadata cannot be read",
        next_step="restore the file from a copy of the run folder, or run the experiment again",
    ),
    another=Refusal(
        "the run folder was written by another version of kafka-chaos",
        next_step="check it with the version that wrote it, or run the experiment again",
    ),
    no_text="replace",
)
