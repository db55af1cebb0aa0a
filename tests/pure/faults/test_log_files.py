"""What is read off a log dir, and where a power loss cuts it."""

from __future__ import annotations

import random
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faults.logs.log_dir_files import (
    AllBut,
    AtRandom,
    BatchHeader,
    KeptUpTo,
    LogDir,
    PartitionCutOff,
    Segment,
    cut_partition,
    cut_script,
    describe_uncut,
    invalid_batches,
    list_script,
    loaded_end_offsets,
    log_path,
    parse_checkpoint,
    parse_listing,
    parse_walk,
    segments_to_read,
    walk_script,
)
from harness.model.node_layout import DATA_DIR
from tests.support.builders.batches import batch, old_message, segment
from workloads.records.log_format.segments import log_end_offset

pytestmark = pytest.mark.pure

needs_tools = pytest.mark.skipif(
    not all(map(shutil.which, ("bash", "perl", "truncate", "gzip"))), reason="the toolbox's own tools"
)


def run_in(folder: Path, script: str) -> str:
    """A script of the toolbox, here, over another folder than a node's."""
    moved = script.replace(DATA_DIR, str(folder))
    command = ["bash", "-euo", "pipefail", "-c", moved]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_an_offset_checkpoint_is_read() -> None:
    assert parse_checkpoint("0\n2\nr1 0 100\nmy-topic.x 12 7\n") == {"r1-0": 100, "my-topic.x-12": 7}
    assert parse_checkpoint("0\n0\n") == {}


def test_an_empty_checkpoint_file_holds_nothing() -> None:
    assert parse_checkpoint("") == {}


@pytest.mark.parametrize("text", ["1\n0\n", "0\n2\nr1 0 100\n", "0\n1\nr1 0\n", "x"])
def test_a_damaged_checkpoint_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"checkpoint|invalid literal"):
        parse_checkpoint(text)


def test_folders_that_kafka_is_about_to_delete_or_move_are_no_partitions() -> None:
    sizes = {f"{folder}/{0:020d}.log": 1 for folder in ("a-0", "b.c-12", "x-0.0a1b-delete", "y-1.2c-future")}
    found = LogDir({}, {}, sizes | {"meta.properties": 9, "z-0/partition.metadata": 43})
    assert found.folders() == ("a-0", "b.c-12", "z-0")
    assert found.segments("z-0") == ()


def test_segments_come_in_order_and_are_those_of_that_folder_only() -> None:
    sizes = {f"a-1/{base:020d}.log": base + 1 for base in (20, 0, 100)}
    sizes |= {f"a-1/{0:020d}.index": 5, f"a-11/{7:020d}.log": 3, f"a-1/{3:020d}.log.deleted": 3}
    assert LogDir({}, {}, sizes).segments("a-1") == (Segment(0, 1), Segment(20, 21), Segment(100, 101))


@needs_tools
def test_a_log_dir_is_listed(tmp_path: Path) -> None:
    (tmp_path / "t-0").mkdir()
    (tmp_path / "t-0" / f"{0:020d}.log").write_bytes(b"12345")
    (tmp_path / "recovery-point-offset-checkpoint").write_text("0\n1\nt 0 3\n")
    found = parse_listing(run_in(tmp_path, list_script()))
    assert found.recovery_points == {"t-0": 3}
    assert found.log_starts == {}
    assert found.segments("t-0") == (Segment(0, 5),)


def test_a_listing_that_broke_off_is_refused() -> None:
    with pytest.raises(ValueError, match="incomplete"):
        parse_listing("== recovery-point-offset-checkpoint\n0\n0\n")
    with pytest.raises(ValueError, match="could not be read"):
        parse_walk("H4sIAAAA")


@needs_tools
def test_whole_batches_are_walked_and_a_torn_one_ends_the_walk(tmp_path: Path) -> None:
    (tmp_path / "t-0").mkdir()
    whole = batch(5, 3) + batch(8, 1, 7, control=True) + batch(2**40, 2)
    (tmp_path / "t-0" / "1.log").write_bytes(whole + batch(2**40 + 2, 1)[:-1])
    (tmp_path / "t-0" / "2.log").write_bytes(b"\0" * 500)
    walked = parse_walk(run_in(tmp_path, walk_script(["t-0/1.log", "t-0/2.log"])))
    assert walked["t-0/2.log"] == ()
    assert [(one.base, one.last, one.control) for one in walked["t-0/1.log"]] == [
        (5, 7, False),
        (8, 8, True),
        (2**40, 2**40 + 1, False),
    ]
    assert walked["t-0/1.log"][-1].end == len(whole)


@needs_tools
def test_messages_of_an_old_format_are_batches_of_one(tmp_path: Path) -> None:
    whole = old_message(5, b"value") + old_message(6, b"", magic=0)
    (tmp_path / "1.log").write_bytes(whole + old_message(7, b"torn")[:-1])
    (walked,) = parse_walk(run_in(tmp_path, walk_script(["1.log"]))).values()
    assert [(one.base, one.last, one.control) for one in walked] == [(5, 5, False), (6, 6, False)]
    assert walked[-1].end == len(whole)


@needs_tools
@pytest.mark.parametrize(
    ("data", "words"),
    [
        (old_message(0, b"wrapped", attributes=1), "compressed, in message format 1"),
        (batch(0, 1)[:16] + b"\3" + batch(0, 1)[17:], "message format 3"),
    ],
)
def test_what_is_not_understood_is_refused(tmp_path: Path, data: bytes, words: str) -> None:
    (tmp_path / "1.log").write_bytes(data)
    with pytest.raises(subprocess.CalledProcessError) as caught:
        run_in(tmp_path, walk_script(["1.log"]))
    assert words in caught.value.stderr


def batches_of(data: bytes) -> tuple[BatchHeader, ...]:
    """What a walk finds in batches of `segment`."""
    found, at = [], 0
    while at < len(data):
        size = 12 + int.from_bytes(data[at + 8 : at + 12], "big")
        base = int.from_bytes(data[at : at + 8], "big")
        found.append(BatchHeader(at, size, base, base + 9, 0))
        at += size
    return tuple(found)


def cut(
    files: dict[int, bytes], recovery_point: int, keep: KeptUpTo, start: int = 0, seed: str = ""
) -> PartitionCutOff:
    segments = [Segment(base, len(data)) for base, data in sorted(files.items())]
    walked = {
        one.base: batches_of(files[one.base]) for one in segments_to_read(segments, recovery_point, keep)
    }
    return cut_partition("t-0", segments, walked, recovery_point, start, keep, random.Random(seed))


FILES = {0: segment(0, 40, 40), 20: segment(20, 40, 40, 40)}
ONE = len(batch(0, 10))


@pytest.mark.parametrize(
    ("recovery_point", "keep", "expected"),
    [
        # Rolled, so flushed, though the checkpoint does not say so yet.
        (0, "recovery_point", (20, 0, (), 50, 20)),
        (30, "recovery_point", (20, ONE, (), 50, 30)),
        (50, "recovery_point", (20, 3 * ONE, (), 50, 50)),
        (0, "checkpoint", (0, 0, (20,), 50, 0)),
        (10, "checkpoint", (0, ONE, (20,), 50, 10)),
        (20, "checkpoint", (20, 0, (), 50, 20)),
        (40, AllBut(all_but_bytes=1), (20, 3 * ONE - 1, (), 50, 40)),
        (50, AllBut(all_but_bytes=ONE), (20, 2 * ONE, (), 50, 40)),
        (0, AllBut(all_but_bytes=10**9), (20, 0, (), 50, 20)),
    ],
)
def test_where_a_log_is_cut(
    recovery_point: int, keep: KeptUpTo, expected: tuple[int, int, tuple[int, ...], int, int]
) -> None:
    found = cut(FILES, recovery_point, keep)
    assert (found.segment, found.size, found.gone, found.before, found.after) == expected


def test_where_everything_was_flushed_nothing_is_cut() -> None:
    keeps: tuple[KeptUpTo, ...] = ("recovery_point", "checkpoint", AtRandom(random=True))
    for keep in keeps:
        found = cut(FILES, 50, keep)
        assert (found.cut_bytes, found.before, found.after) == (0, 50, 50)


def test_an_empty_active_segment_ends_where_it_begins() -> None:
    found = cut({0: segment(0, 9), 10: b""}, 0, "recovery_point")
    assert (found.cut_bytes, found.before, found.after) == (0, 10, 10)


def test_a_log_does_not_end_before_its_start() -> None:
    assert cut(FILES, 0, "checkpoint", start=35).after == 35


SIZES = st.lists(st.lists(st.integers(0, 60), max_size=6), min_size=1, max_size=4)
KEEPS: st.SearchStrategy[KeptUpTo] = st.one_of(
    st.sampled_from(["recovery_point", "checkpoint"]),
    st.builds(AllBut, all_but_bytes=st.integers(1, 900)),
    st.just(AtRandom(random=True)),
)


@given(SIZES, KEEPS, st.integers(0, 24), st.text(max_size=3))
def test_kafka_finds_the_end_that_was_computed(
    sizes: list[list[int]], keep: KeptUpTo, tens: int, seed: str
) -> None:
    files: dict[int, bytes] = {}
    base = 0
    for payloads in sizes:
        files[base] = segment(base, *payloads)
        base += 10 * len(payloads)
    point = min(10 * tens, base)
    found = cut(files, point, keep, seed=seed)
    left = {
        log_path("t-0", start): data[: found.size] if start == found.segment else data
        for start, data in files.items()
        if start not in found.gone
    }
    assert log_end_offset(left) == found.after
    assert found.before == base
    assert found.cut_bytes == sum(map(len, files.values())) - sum(map(len, left.values()))
    if not isinstance(keep, AllBut):
        assert found.after >= point, "what was flushed stays"
    if keep == "checkpoint":
        assert found.after == point
    if isinstance(keep, AtRandom) and point < base and files[max(files)]:
        assert found.after < found.before


@needs_tools
def test_cutting_again_changes_nothing(tmp_path: Path) -> None:
    (tmp_path / "t-0").mkdir()
    for base, data in FILES.items():
        for ending in (".log", ".index", ".timeindex"):
            path = tmp_path / log_path("t-0", base).replace(".log", ending)
            path.write_bytes(data)
            path.chmod(0o640)
    (tmp_path / ".kafka_cleanshutdown").touch()
    found = cut(FILES, 10, "checkpoint")
    assert "cleanshutdown" in str(describe_uncut([found], parse_listing(run_in(tmp_path, list_script()))))
    for _ in range(2):
        run_in(tmp_path, cut_script([found]))
        after = parse_listing(run_in(tmp_path, list_script()))
        assert describe_uncut([found], after) is None
        assert after.segments("t-0") == (Segment(0, ONE),)
    assert after.sizes[f"t-0/{0:020d}.index"] == 2 * ONE, (
        "the index of what is left stays as a crash leaves it"
    )
    assert f"t-0/{20:020d}.index" not in after.sizes
    assert (tmp_path / log_path("t-0", 0)).stat().st_mode & 0o777 == 0o640


def test_what_is_not_as_cut_is_named() -> None:
    found = cut(FILES, 10, "checkpoint")
    short = {log_path("t-0", 0): ONE}
    assert describe_uncut([found], LogDir({}, {}, short)) is None
    assert "is still there" in str(describe_uncut([found], LogDir({}, {}, short | {log_path("t-0", 20): 0})))
    assert "has 9 bytes" in str(describe_uncut([found], LogDir({}, {}, {log_path("t-0", 0): 9})))


INVALID = (
    "[2026-01-01 14:48:16,245] WARN Found invalid messages in log segment "
    "/var/lib/kafka/data/t1-0/00000000000000000000.log at byte offset 4604. "
    "(org.apache.kafka.storage.internals.log.LogSegment)\n"
    "org.apache.kafka.common.errors.CorruptRecordException: Record is corrupt "
    "(stored crc = 1279223203, computed crc = 3871821630)\n"
)
LOADED = (
    "[2026-01-01 14:48:16,272] INFO Completed load of Log(dir=/var/lib/kafka/data/t1-0, "
    "topicId=CvzUFI7rTYup4smr1dhCwg, topic=t1, partition=0, highWatermark=0, lastStableOffset=0, "
    "logStartOffset=0, logEndOffset={end}) with 1 segments, local-log-start-offset 0 and log-end-offset "
    "{end} in 57ms (2/3 completed in /var/lib/kafka/data) (kafka.log.LogManager)\n"
)
"""Lines of Kafka 4.3.1."""
LOG = INVALID + LOADED.format(end=40) + LOADED.format(end=100)


def test_the_first_load_of_a_log_counts() -> None:
    assert loaded_end_offsets(LOG) == {"t1-0": 40}
    assert loaded_end_offsets("") == {}


def test_what_a_broker_found_damaged_is_read_off_its_log() -> None:
    assert invalid_batches(LOG) == {("t1-0/00000000000000000000.log", 4604)}
