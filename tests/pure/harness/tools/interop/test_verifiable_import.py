"""`kafka-chaos import`: files in, a run folder out; nothing half, and every doubt file_lines."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from harness.cli.app import app
from harness.model.errors import BadInput, JournalError
from harness.model.run import RunMeta
from harness.tools.interop.import_summary import VerifiableImport
from harness.tools.interop.verifiable_import import Imported, import_run
from tests.support.verifiable_output import LOG, START, STOP, assigned, got, polled, sent, summary

pytestmark = pytest.mark.pure


def file(folder: Path, name: str, *lines: str) -> Path:
    path = folder / name
    path.write_text("\n".join(lines) + "\n")
    return path


def producer(folder: Path, name: str = "producer.log", prefix: str = "1.") -> Path:
    file_lines = [sent(f"{prefix}{seq}", seq, at=10 * seq) for seq in range(3)]
    return file(folder, name, LOG, START, *file_lines, STOP, summary(3))


def consumer(folder: Path, name: str = "consumer.log", *extra: str) -> Path:
    return file(
        folder, name, START, assigned(0), *[got(f"1.{seq}", seq) for seq in range(3)], polled(3), *extra
    )


@pytest.fixture
def imported(tmp_path: Path) -> Any:
    def run(*, files: tuple[Path, ...] | None = None, **options: Any) -> tuple[Path, Imported]:
        target = tmp_path / "run"
        given = {"producers": files or (producer(tmp_path),), "consumers": (consumer(tmp_path),), **options}
        return target, import_run(VerifiableImport(**given), target)

    return run


def rows(folder: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = pq.read_table(folder).to_pylist()
    return found


def test_a_run_folder_comes_of_it(imported: Any) -> None:
    folder, done = imported(complete=True)
    assert RunMeta.load(folder) == done.meta
    assert [(row["producer"], row["seq"], row["outcome"]) for row in rows(folder / "sends")] == [
        (1, 0, "acked"), (1, 1, "acked"), (1, 2, "acked"),
    ]  # fmt: skip
    assert [(row["reader"], row["offset"]) for row in rows(folder / "reads")] == [
        ("final", n) for n in range(3)
    ]
    assert {row["reader"] for row in rows(folder / "live" / "consumer")} == {"consumer"}
    assert rows(folder / "assignments")[0]["reader"] == "consumer"
    final = done.meta.final_read
    assert final is not None
    assert (final.complete, final.attested, final.records) == (True, True, 3)
    assert [(bound.partition, bound.log_start_offset, bound.end_offset) for bound in final.bounds] == [
        (0, 0, 3)
    ]
    assert done.meta.problems == ()
    assert done.meta.client == "java"
    assert any("1 other lines" in line for line in done.file_lines)


def test_without_your_word_nothing_is_complete(imported: Any) -> None:
    _, done = imported()
    assert not done.meta.final_read.complete
    assert "--complete" in done.meta.final_read.reasons[0]


def test_a_damaged_line_of_a_reader_makes_its_read_incomplete(imported: Any, tmp_path: Path) -> None:
    _, done = imported(consumers=(consumer(tmp_path, "c.log", '{"timestamp":17'),), complete=True)
    assert not done.meta.final_read.complete
    assert any("c.log: 1 damaged" in reason for reason in done.meta.final_read.reasons)
    assert any("the first: line 7" in line for line in done.file_lines)


def test_the_final_read_can_be_a_consumer_of_its_own(imported: Any, tmp_path: Path) -> None:
    late = file(tmp_path, "late.log", START, assigned(0), got("1.0", 0), polled(1))
    folder, done = imported(finals=(late,), complete=True)
    assert len(rows(folder / "reads")) == 1
    assert len(rows(folder / "live" / "consumer")) == 3
    assert [reader.name for reader in done.meta.readers] == ["consumer"]
    assert done.meta.final_read.bounds[0].end_offset == 1


def test_readers_of_one_name_have_folders_of_their_own(imported: Any, tmp_path: Path) -> None:
    others = [tmp_path / "a", tmp_path / "b"]
    for other in others:
        other.mkdir()
    folder, _ = imported(consumers=tuple(consumer(other, "final.log") for other in others))
    assert sorted(path.name for path in (folder / "live").iterdir()) == ["final-2", "final-3"]


def test_what_a_killed_producer_did_not_tell_of(imported: Any, tmp_path: Path) -> None:
    killed = file(tmp_path, "killed.log", START, sent("1.0", 0))
    folder, _ = imported(files=(killed,))
    assert [(row["seq"], row["outcome"]) for row in rows(folder / "sends")] == [
        (0, "acked"), (1, "indeterminate"), (2, "indeterminate"),
    ]  # fmt: skip


def test_what_is_in_doubt_is_a_problem(imported: Any, tmp_path: Path) -> None:
    text = [sent("1.0", 0), sent("1.0", 1), sent("no number", 2)]
    odd = file(tmp_path, "odd.log", START, *text)
    silent = file(tmp_path, "silent.log", START)
    _, done = imported(files=(odd, silent))
    assert [problem.partition(":")[0].split(" ")[0] for problem in done.meta.problems] == [
        "odd.log", "odd.log", "silent.log",
    ]  # fmt: skip


@pytest.mark.parametrize("case", ["missing", "nothing", "shared", "quiet", "taken"])
def test_bad_input_is_refused_and_leaves_nothing(case: str, imported: Any, tmp_path: Path) -> None:
    options: dict[str, Any] = {
        "missing": {"files": (tmp_path / "none.log",)},
        "nothing": {"files": (file(tmp_path, "empty.log", LOG),)},
        "shared": {"files": (producer(tmp_path, "a.log"), producer(tmp_path, "b.log"))},
        "quiet": {"consumers": (file(tmp_path, "quiet.log", START, polled(3)),)},
        "taken": {},
    }[case]
    if case == "taken":
        file(tmp_path / "run" if (tmp_path / "run").mkdir() is None else tmp_path, "mine.txt", "x")
    with pytest.raises(BadInput):
        imported(**options)
    left = sorted(path.name for path in tmp_path.iterdir() if path.is_dir() and any(path.iterdir()))
    assert left == (["run"] if case == "taken" else [])


def test_a_place_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(JournalError, match="cannot be written"):
        import_run(VerifiableImport((producer(tmp_path),)), tmp_path / "file" / "run")


def test_the_command(tmp_path: Path) -> None:
    target = tmp_path / "run"
    given = ["--producer", str(producer(tmp_path)), "--consumer", str(consumer(tmp_path)), "--complete"]
    done = CliRunner().invoke(app, ["import", str(target), *given, "--acks", "1", "--idempotent"])
    assert done.exit_code == 0, done.output
    meta = RunMeta.load(target)
    assert (meta.acks, meta.idempotent) == ("1", True)
    assert f"kafka-chaos check {target}" in done.output
