"""A saved experiment is checked again: what becomes of its result.json."""

from __future__ import annotations

from concurrent.futures import Future
from pathlib import Path

import pytest

from harness.check_jobs import recheck
from harness.model.errors import CheckError, JournalError
from harness.model.result import ArmResult, ExperimentResult, Judgement, VerdictWord
from harness.model.storage import UrlPath, storage_path
from tests.support.builders.summaries import summary_with
from tests.support.history import run_meta

pytestmark = pytest.mark.pure


def arm(name: str, verdict: VerdictWord) -> ArmResult:
    return ArmResult(
        folder=name,
        meta=run_meta(arm=name),
        summary=summary_with(),
        judgement=Judgement(verdict=verdict, reasons=("a reason",), as_promised=True),
    )


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An experiment with the arms a and b; a check of either comes to `valid`."""

    def start(_parent: Path, name: str, _how: object) -> Future[ArmResult]:
        done: Future[ArmResult] = Future()
        done.set_result(arm(name, VerdictWord.VALID))
        return done

    monkeypatch.setattr(recheck, "start_checking", start)
    arms = tuple(arm(name, VerdictWord.UNKNOWN) for name in ("b", "a"))
    for one in arms:
        (tmp_path / one.folder).mkdir()
        one.meta.save(tmp_path / one.folder)
    saved = ExperimentResult(
        experiment="e", title="t", description="", arms=arms, started_ns=1, seconds=2.0, command="c"
    )
    (tmp_path / recheck.RESULT_FILE).write_text(saved.model_dump_json())
    return tmp_path


def test_verdicts_are_made_anew_in_the_order_of_the_saved_result(folder: Path) -> None:
    again = recheck.recheck(folder)
    assert [(one.folder, one.judgement.verdict) for one in again.arms] == [("b", "valid"), ("a", "valid")]
    assert again.title == "t"
    assert ExperimentResult.model_validate_json((folder / recheck.RESULT_FILE).read_text()) == again


def test_an_arm_whose_folder_is_gone_keeps_what_was_found(folder: Path) -> None:
    (folder / "b" / "run.json").unlink()
    again = recheck.recheck(folder)
    assert [(one.folder, one.judgement.verdict) for one in again.arms] == [("b", "unknown"), ("a", "valid")]
    [told] = recheck.not_checked(folder, again)
    assert "b was not checked again" in told
    assert str(folder / "b" / "run.json") in told


def test_all_arms_that_are_there_were_checked(folder: Path) -> None:
    assert recheck.not_checked(folder, recheck.recheck(folder)) == []


def test_an_arm_that_the_result_does_not_know_comes_last(folder: Path) -> None:
    (folder / "0").mkdir()
    run_meta(arm="0").save(folder / "0")
    assert [one.folder for one in recheck.recheck(folder).arms] == ["b", "a", "0"]


@pytest.mark.parametrize("spoilt", [b"", b'{"arms": [', b"\xff\xfe", b"{}", b"[]"])
def test_a_half_written_result_is_refused_before_spark_starts(
    folder: Path, spoilt: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    saved = folder / recheck.RESULT_FILE
    saved.write_bytes(spoilt)
    monkeypatch.setattr(recheck, "start_checking", None)
    with pytest.raises(JournalError, match="the result of the experiment cannot be read") as refused:
        recheck.recheck(folder)
    assert str(saved) in str(refused.value)
    assert "move the file away" in str(refused.value)
    assert "validation error" not in str(refused.value)
    assert saved.read_bytes() == spoilt


def test_a_result_that_cannot_be_written_is_told_and_the_saved_one_stays(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    saved = (folder / recheck.RESULT_FILE).read_bytes()
    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(CheckError, match="the result of the experiment cannot be written") as caught:
        recheck.recheck(folder)
    assert caught.value.found == "No space left on device"
    assert caught.value.exit_code == 3
    assert (folder / recheck.RESULT_FILE).read_bytes() == saved
    assert not list(folder.glob("*.tmp"))


def test_without_a_result_the_runs_are_checked_and_none_is_written(folder: Path) -> None:
    (folder / recheck.RESULT_FILE).unlink()
    assert [one.folder for one in recheck.recheck(folder).arms] == ["a", "b"]
    assert not (folder / recheck.RESULT_FILE).exists()


@pytest.mark.parametrize("named", ["s3://bucket/run", "results/run", Path("results/run")])
def test_from_python_a_folder_may_be_a_url(monkeypatch: pytest.MonkeyPatch, named: str | Path) -> None:
    seen: list[object] = []
    monkeypatch.setattr(recheck, "recheck", seen.append)
    recheck.check_results(named)
    assert seen == [storage_path(named)]
    assert isinstance(seen[0], UrlPath) == (named == "s3://bucket/run")
