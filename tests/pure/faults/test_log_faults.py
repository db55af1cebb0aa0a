"""Power loss, corrupt segment and wiped disk over log dirs in a temporary folder; their scripts run."""

from __future__ import annotations

import base64
import gzip
import re
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import pytest

from faults import corrupt_segment, data_loss
from faults.corrupt_segment import CorruptSegment, crc_of, stored_crc
from faults.data_loss import PowerLoss, WipeDisk
from faults.logs.disk_fault import NOTES_DIR
from faults.logs.log_dir_files import AllBut, cut_script
from faults.shared.fault_spec import Evidence, FaultSpec, Injection, InjectionContext
from faults.targets import Followers, Leader, NodeIds
from faults.targets.fault_cluster import FaultCluster
from faults.targets.target_context import ClusterShape
from harness.model.errors import FaultError
from harness.model.node_layout import DATA_DIR
from tests.support.builders.batches import segment
from tests.support.builders.views import quiet
from tests.support.fake_cluster import FakeCluster, FakeCommandResult

pytestmark = [
    pytest.mark.pure,
    pytest.mark.skipif(
        not all(map(shutil.which, ("bash", "perl", "truncate", "gzip"))), reason="the toolbox's own tools"
    ),
]

LOG = f"{0:020d}.log"
ONE = len(segment(0, 40))
LOADED = "Completed load of Log(dir=/var/lib/kafka/data/t-0, topic=t, logEndOffset={}) with 1 segments\n"
INVALID = "Found invalid messages in log segment /var/lib/kafka/data/t-0/{} at byte offset {}. (LogSegment)\n"
SHAPE = ClusterShape(brokers=3, controllers=1, combined=False, partitions=1, replication_factor=3)


@dataclass
class Disks(FakeCluster):
    """A fake cluster whose nodes have a data volume and another one."""

    root: Path = Path()
    log: str = ""
    starts: int = 0
    logs_since: list[int] = field(default_factory=list)

    def data(self, number: int) -> Path:
        return self.root / f"node-{number}" / "data"

    def in_files(self, number: int, script: str) -> FakeCommandResult:
        packed = re.search(r"printf %s (\S+) ", script)
        assert packed is not None
        inner = gzip.decompress(base64.b64decode(packed[1])).decode()
        moved = inner.replace(DATA_DIR, str(self.data(number)))
        moved = moved.replace(NOTES_DIR, str(self.data(number).parent / "notes"))
        # These scripts delete: none may reach out of the temporary folder.
        assert "/var/lib" not in moved
        assert "/mnt" not in moved
        ran = subprocess.run(["bash", "-euo", "pipefail", "-c", moved], capture_output=True, text=True)
        return FakeCommandResult(ran.returncode, ran.stdout + ran.stderr)

    def terminate(self, number: int) -> None:
        self.dead.add(number)
        (self.data(number) / ".kafka_cleanshutdown").write_text("{}")

    def start_node(self, number: int) -> None:
        self.starts += number in self.dead
        self.dead.discard(number)

    def log_since(self, number: int, since_ns: int) -> str:  # noqa: ARG002
        self.logs_since.append(since_ns)
        return self.log


@pytest.fixture
def disks(tmp_path: Path) -> Disks:
    """Broker 1 leads t-0: five batches of 10 records, none flushed; the followers hold the same."""
    made = Disks([quiet()], root=tmp_path)
    for number in made.broker_ids:
        folder = made.data(number) / "t-0"
        folder.mkdir(parents=True)
        (folder.parent.parent / "notes").mkdir()
        (folder / LOG).write_bytes(segment(0, *[40] * 5))
        (made.data(number) / "meta.properties").write_text(f"node.id={number}\n")
        (made.data(number) / "recovery-point-offset-checkpoint").write_text("0\n0\n")
    return made


def at(disks: Disks, seed: str = "s") -> InjectionContext:
    return InjectionContext(cast(FaultCluster, disks), "t", 4.0, "kafka-chaos-1", seed)


def applied(spec: FaultSpec, disks: Disks) -> Injection:
    aimed = spec.aim(at(disks))
    # What another process would get to know of it.
    injection = type(aimed).model_validate_json(aimed.model_dump_json())
    injection.apply(at(disks))
    return injection


def seen(injection: Injection, disks: Disks) -> Evidence:
    return injection.verify(at(disks))


LEADER = Leader(leader=0)


def test_a_power_loss_is_proved_by_shorter_files_of_a_dead_process(disks: Disks) -> None:
    injection = applied(PowerLoss(target=LEADER), disks)
    assert disks.dead == {1}
    evidence = seen(injection, disks)
    assert evidence.seen
    assert evidence.what == f"process ended; broker 1 lost offsets 0 to 49 of t-0 ({5 * ONE} bytes)"
    assert (disks.data(1) / "t-0" / LOG).stat().st_size == 0
    assert (disks.data(2) / "t-0" / LOG).stat().st_size == 5 * ONE
    injection.undo(at(disks))
    assert not seen(injection, disks).seen, "the process runs again"


def test_a_kill_alone_is_no_power_loss(disks: Disks) -> None:
    injection = PowerLoss(target=LEADER).aim(at(disks))
    disks.kill(1)
    evidence = seen(injection, disks)
    assert not evidence.seen
    assert "were not cut" in evidence.what


def test_files_that_kept_their_length_are_no_power_loss(
    disks: Disks, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(data_loss, "cut_script", lambda _: "true")
    assert "bytes, not 0" in seen(applied(PowerLoss(target=LEADER), disks), disks).what


def test_where_everything_was_flushed_nothing_is_proved(disks: Disks) -> None:
    (disks.data(1) / "recovery-point-offset-checkpoint").write_text("0\n1\nt 0 50\n")
    injection = applied(PowerLoss(target=LEADER), disks)
    evidence = seen(injection, disks)
    assert not evidence.seen
    assert "everything was flushed" in evidence.what
    disks.log = LOADED.format(50)
    assert not injection.heal(at(disks)).seen


@pytest.mark.parametrize(
    ("log", "seen_"), [(LOADED.format(40), True), (LOADED.format(50), False), ("", False)]
)
def test_a_broker_that_loads_another_end_than_cut_disproves_the_power_loss(
    disks: Disks, log: str, seen_: bool
) -> None:
    injection = applied(PowerLoss(target=LEADER, keep=AllBut(all_but_bytes=5)), disks)
    disks.log = log
    for _ in range(2):
        assert injection.heal(at(disks)).seen is seen_
    assert disks.starts == 1
    assert all(disks.logs_since), "only what was logged after the cut counts"


def test_what_was_cut_is_not_cut_again_when_the_broker_has_run_since(disks: Disks) -> None:
    injection = applied(PowerLoss(target=LEADER, keep=AllBut(all_but_bytes=5)), disks)
    path = disks.data(1) / "t-0" / LOG
    for _ in range(2):
        injection.apply(at(disks))
        assert path.stat().st_size == 5 * ONE - 5
    disks.start_node(1)
    path.write_bytes(segment(0, *[40] * 9))
    injection.apply(at(disks))
    assert disks.dead == set()
    assert path.stat().st_size == 9 * ONE


def test_a_cut_that_broke_off_is_carried_on_as_it_was_planned(
    disks: Disks, monkeypatch: pytest.MonkeyPatch
) -> None:
    injection = PowerLoss(target=LEADER, keep=AllBut(all_but_bytes=5)).aim(at(disks))
    with monkeypatch.context() as broken:
        broken.setattr(data_loss, "cut_script", lambda cuts: cut_script(cuts) + "\nfalse")
        with pytest.raises(FaultError, match="log files failed"):
            injection.apply(at(disks))
    assert not seen(injection, disks).seen
    injection.apply(at(disks))
    assert (disks.data(1) / "t-0" / LOG).stat().st_size == 5 * ONE - 5, "5 bytes once, not twice"
    assert seen(injection, disks).seen


def test_a_fault_that_was_never_applied_is_healed_and_proves_nothing(disks: Disks) -> None:
    specs: tuple[FaultSpec, ...] = (
        PowerLoss(target=LEADER), WipeDisk(target=LEADER), CorruptSegment(target=LEADER),
        CorruptSegment(target=LEADER, after="stop"),
    )  # fmt: skip
    for spec in specs:
        injection = spec.aim(at(disks))
        assert not injection.heal(at(disks)).seen
        assert not seen(injection, disks).seen


def test_other_topics_lose_power_only_when_asked(disks: Disks) -> None:
    for folder in ("other-3", "__cluster_metadata-0", "t-0.abc-delete"):
        (disks.data(1) / folder).mkdir()
        (disks.data(1) / folder / LOG).write_bytes(segment(0, 40))
    applied(PowerLoss(target=LEADER), disks)
    left = {path.parent.name: path.stat().st_size for path in disks.data(1).glob("*/*.log")}
    assert left == {"t-0": 0, "other-3": ONE, "__cluster_metadata-0": ONE, "t-0.abc-delete": ONE}
    everything = applied(PowerLoss(target=NodeIds(nodes=(2,)), topic="all"), disks)
    assert seen(everything, disks).seen


@pytest.mark.parametrize(("voters", "metadata"), [((101,), 0), ((1, 2, 3), ONE)])
def test_only_a_metadata_log_that_no_quorum_counts_on_can_be_lost(
    disks: Disks, voters: tuple[int, ...], metadata: int
) -> None:
    disks.controller_ids = voters
    (disks.data(1) / "__cluster_metadata-0").mkdir()
    path = disks.data(1) / "__cluster_metadata-0" / LOG
    path.write_bytes(segment(0, 40))
    applied(PowerLoss(target=LEADER, topic="all"), disks)
    assert path.stat().st_size == metadata


def test_one_seed_cuts_at_one_location(disks: Disks) -> None:
    spec = PowerLoss.model_validate({"target": {"followers": 0}, "keep": {"random": True}})
    applied(spec, disks)
    first = {number: (disks.data(number) / "t-0" / LOG).stat().st_size for number in (2, 3)}
    assert all(0 <= size < 5 * ONE for size in first.values())
    for number in (2, 3):
        shutil.rmtree(disks.data(number).parent / "notes")
        (disks.data(number).parent / "notes").mkdir()
        (disks.data(number) / "t-0" / LOG).write_bytes(segment(0, *[40] * 5))
    disks.dead.clear()
    applied(spec, disks)
    assert first == {number: (disks.data(number) / "t-0" / LOG).stat().st_size for number in (2, 3)}


def test_a_target_without_the_topic_has_nothing_to_lose(disks: Disks) -> None:
    disks.broker_ids = (1, 2, 3, 4)
    specs: tuple[FaultSpec, ...] = (
        PowerLoss(target=NodeIds(nodes=(4,))), CorruptSegment(target=NodeIds(nodes=(4,)))
    )  # fmt: skip
    for spec in specs:
        with pytest.raises(FaultError, match="the target"):
            spec.aim(at(disks))
    assert PowerLoss(target=NodeIds(nodes=(4,)), topic="all").aim(at(disks)).nodes == (4,)


def damage_of(disks: Disks, number: int = 1) -> list[int]:
    """Positions of the bytes that differ from what was written."""
    now = (disks.data(number) / "t-0" / LOG).read_bytes()
    return [
        place for place, pair in enumerate(zip(now, segment(0, *[40] * 5), strict=True)) if len(set(pair)) > 1
    ]


def test_bytes_within_the_records_of_one_batch_are_changed(disks: Disks) -> None:
    injection = applied(CorruptSegment(target=LEADER, bytes=6), disks)
    places = damage_of(disks)
    assert places == list(range(places[0], places[0] + 6))
    start = places[0] // ONE * ONE
    assert places[0] >= start + 61
    assert places[-1] < start + ONE
    batch = (disks.data(1) / "t-0" / LOG).read_bytes()[start : start + ONE]
    assert crc_of(batch) != stored_crc(batch)
    assert seen(injection, disks).seen
    injection.apply(at(disks))
    assert damage_of(disks) == places
    assert damage_of(disks, 2) == []


def test_damage_that_the_broker_finds_is_proved_and_stays(disks: Disks) -> None:
    injection = applied(CorruptSegment(target=LEADER), disks)
    start = damage_of(disks)[0] // ONE
    disks.log = INVALID.format(LOG, start * ONE) + LOADED.format(10 * start)
    evidence = injection.heal(at(disks))
    assert evidence.seen, evidence
    assert damage_of(disks), "Kafka truncates it; it is not ours to mend"


def test_damage_that_nobody_found_is_put_right_and_proves_nothing(disks: Disks) -> None:
    injection = applied(CorruptSegment(target=LEADER), disks)
    disks.log = LOADED.format(50)
    assert not injection.heal(at(disks)).seen
    assert damage_of(disks) == []


def test_unchanged_bytes_are_no_damage(disks: Disks, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(corrupt_segment, "_write_script", lambda *_: "true")
    assert "is intact" in seen(applied(CorruptSegment(target=LEADER), disks), disks).what


def test_after_a_stop_the_broker_serves_damaged_records_until_they_are_put_back(disks: Disks) -> None:
    injection = applied(CorruptSegment(target=LEADER, after="stop"), disks)
    assert disks.dead == set()
    assert seen(injection, disks).seen
    for _ in range(2):
        assert injection.heal(at(disks)).seen
        assert damage_of(disks) == []
    assert not seen(injection, disks).seen


def test_what_kafka_has_rewritten_or_deleted_is_left_alone(disks: Disks) -> None:
    injection = applied(CorruptSegment(target=LEADER, after="stop"), disks)
    path = disks.data(1) / "t-0" / LOG
    path.write_bytes(b"z" * 5 * ONE)
    injection.heal(at(disks))
    assert path.read_bytes() == b"z" * 5 * ONE
    path.unlink()
    injection.heal(at(disks))
    assert not path.exists()


def test_after_a_stop_that_was_none_nothing_is_damaged(disks: Disks) -> None:
    injection = CorruptSegment(target=LEADER, after="stop").aim(at(disks))
    disks.kill(1)
    with pytest.raises(FaultError, match="not shut down cleanly"):
        injection.apply(at(disks))
    assert damage_of(disks) == []


def test_a_log_without_records_cannot_be_corrupted(disks: Disks) -> None:
    (disks.data(1) / "t-0" / LOG).write_bytes(b"")
    with pytest.raises(FaultError, match="no batch to corrupt"):
        applied(CorruptSegment(target=LEADER), disks)


def test_a_wiped_disk_is_empty_and_is_wiped_once(disks: Disks) -> None:
    injection = applied(WipeDisk(target=LEADER), disks)
    assert disks.dead == {1}
    assert list(disks.data(1).iterdir()) == []
    assert (disks.data(2) / "meta.properties").exists()
    assert seen(injection, disks).seen
    disks.start_node(1)
    (disks.data(1) / "t-0").mkdir()
    injection.apply(at(disks))
    assert (disks.data(1) / "t-0").exists()


def test_a_disk_that_holds_anything_was_not_wiped(disks: Disks, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(data_loss, "_empty", lambda **_: "true")
    assert "meta.properties" in seen(applied(WipeDisk(target=LEADER), disks), disks).what


def test_a_wiped_disk_may_keep_its_identity(disks: Disks, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = WipeDisk(target=LEADER, keep_identity=True)
    injection = applied(kept, disks)
    assert [path.name for path in disks.data(1).iterdir()] == ["meta.properties"]
    evidence = seen(injection, disks)
    assert evidence.seen
    assert "is empty except for meta.properties" in evidence.what
    (disks.data(1) / "meta.properties").unlink()
    assert "holds nothing" in seen(injection, disks).what, "its identity is gone"
    monkeypatch.setattr(data_loss, "_empty", lambda **_: "true")
    disks.start_node(2)
    undone = applied(WipeDisk(target=NodeIds(nodes=(2,)), keep_identity=True), disks)
    assert "recovery-point" in seen(undone, disks).what


ANEW = "Loaded 0 logs in 10ms (kafka.log.LogManager)\n"
MADE = "Created log for partition t-0 in /var/lib/kafka/data/t-0 with properties {} (kafka.log.LogManager)\n"


@pytest.mark.parametrize(
    ("log", "seen_"),
    [(ANEW + MADE, True), (ANEW, False), ("Loaded 1 logs in 9ms\n" + MADE, False), ("", False)],
)
def test_a_wiped_broker_loads_no_log_and_makes_its_partitions_anew(
    disks: Disks, log: str, seen_: bool
) -> None:
    injection = applied(WipeDisk(target=LEADER), disks)
    disks.log = log
    assert injection.heal(at(disks)).seen is seen_


KINDS: tuple[type[Any], ...] = (PowerLoss, CorruptSegment, WipeDisk)


@pytest.mark.parametrize("kind", KINDS)
def test_controllers_are_refused(kind: type[Any]) -> None:
    targets: tuple[Any, ...] = (
        "controller", "controllers", {"nodes": [1, 101]}, {"any": [{"leader": 0}, "controller"]}
    )  # fmt: skip
    for target in targets:
        with pytest.raises(ValueError, match="controller"):
            kind(target=target).warnings(SHAPE)
    with pytest.raises(ValueError, match="client"):
        kind(target="client").warnings(SHAPE)
    assert kind(target={"both": [{"leader": 0}, "controllers"]}).warnings(SHAPE) == ()


@pytest.mark.parametrize("kind", KINDS)
def test_a_user_is_told_when_every_replica_may_be_hit(kind: type[Any]) -> None:
    assert kind(target=LEADER).warnings(SHAPE) == ()
    assert kind(target=Followers(followers=0)).max_brokers_down(SHAPE) == 2
    assert "acknowledged records will be lost" in kind(target={"random": 3}).warnings(SHAPE)[-1]


def test_silent_damage_is_announced_and_a_partition_must_exist() -> None:
    assert "checks no CRC" in CorruptSegment(target=LEADER, after="stop").warnings(SHAPE)[-1]
    with pytest.raises(ValueError, match="partitions 0 to 0"):
        CorruptSegment(target=LEADER, partition=1).warnings(SHAPE)


def test_voters_are_never_wiped(disks: Disks) -> None:
    combined = ClusterShape(brokers=3, controllers=3, combined=True, partitions=1, replication_factor=3)
    with pytest.raises(ValueError, match="metadata quorum"):
        WipeDisk(target=LEADER).warnings(combined)
    assert PowerLoss(target=LEADER).warnings(combined) == ()
    disks.controller_ids = (1, 2, 3)
    with pytest.raises(FaultError, match="not wiped"):
        WipeDisk(target=LEADER).aim(at(disks))
