"""Metadata of one run (`run.json`): what was run, on what, and whether the final read can be trusted."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from harness.model.frozen import Frozen
from harness.model.journal import RUN_FILE, SCHEMA_VERSION
from harness.model.secrets import hidden
from harness.model.storage import StoragePath, write_whole
from harness.model.versioned_json import Refusal, VersionedFile


class ImageInfo(Frozen):
    """The broker image and how it came to be here."""

    reference: str
    digest: str
    origin: Literal["local", "pulled", "built", "unknown"]
    kafka_version: str


class ClusterInfo(Frozen):
    """The cluster a run used. Memory is the sum over its containers after the run, in MiB."""

    brokers: int
    controllers: int
    combined: bool
    profile: str
    properties: dict[str, str]
    image: ImageInfo
    start_seconds: float
    memory_mib: float | None = None


UNKNOWN_CLUSTER = ClusterInfo(
    brokers=0,
    controllers=0,
    combined=False,
    profile="unknown",
    properties={},
    image=ImageInfo(reference="unknown", digest="", origin="unknown", kafka_version="unknown"),
    start_seconds=0.0,
)
"""Of runs that another tool made and did not describe."""


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

    `attested`: complete by the word of whoever wrote the journals, not by this harness's proof. Replicas'
    files were not at hand then, so a loss is judged without them.
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
    """(topic, partition, last stable offset) where a transaction is open long after it had timed out: no
    reader of committed records gets further."""


class ReaderInfo(Frozen):
    """A live reader: one that read while the faults went on; its rows are in `live/NAME`.

    `group` is the consumer group whose offsets it went by (None: it was assigned partitions by hand and
    committed nothing). `committed` - isolation.level=read_committed. `rack` - client.rack, for fetching from
    followers. `client` is the library. `closed` False: it was still reading when the run broke off.
    """

    name: str
    group: str | None = None
    committed: bool = False
    rack: str | None = None
    commits: Literal["none", "auto", "manual", "transaction"] = "none"
    client: str = "librdkafka"
    records: int = 0
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


class RunMeta(Frozen):
    """Everything about one run that is not a journal.

    `run_id` is the 63-bit number every value of this run carries. `producer_config` is what the client
    was given (secrets masked), `client` the library ("librdkafka", "java", or the tool whose history was
    imported), `max_in_flight` requests per connection (None: the client's default), `promise` is the arm's
    expectation as written in the experiment, `skipped` says which faults the machine could not have and the
    experiment allowed to skip, `timings` are the seconds of its phases in their order.
    """

    schema_version: int = SCHEMA_VERSION
    run_id: int
    experiment: str
    arm: str
    seed: int = 0
    topic: str
    partitions: int
    replication_factor: int
    topic_config: dict[str, str] = {}
    producer_config: dict[str, str] = {}
    acks: Literal["0", "1", "all"]
    idempotent: bool
    transactional: bool = False
    client: str = "librdkafka"
    max_in_flight: int | None = None
    readers: tuple[ReaderInfo, ...] = ()
    promise: dict[str, str] = {}
    cluster: ClusterInfo = UNKNOWN_CLUSTER
    versions: dict[str, str] = {}
    started_ns: int
    ended_ns: int | None = None
    steps: tuple[StepInfo, ...] = ()
    windows: tuple[FaultWindow, ...] = ()
    final_read: FinalRead | None = None
    finished: bool = False
    problems: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()
    timings: dict[str, float] = {}

    def save(self, folder: Path) -> None:
        """Write `run.json` so that a reader never sees half a file."""
        write_whole(folder / RUN_FILE, hidden(self.model_dump_json(indent=2)) + "\n")

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
