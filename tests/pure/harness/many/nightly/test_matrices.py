"""Matrices of a night: run, told, kept, and held against the last good one; on paper."""

from __future__ import annotations

import json
from concurrent.futures import Future
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree as Xml

import pytest
import yaml

from harness.cluster.containers import docker_engine
from harness.many.matrix.plan import MatrixOptions, plan_matrix
from harness.many.matrix.result import MATRIX_FILE
from harness.many.nightly import matrices, series
from harness.many.nightly.matrices import OWN_VERSIONS, MatrixNight
from harness.model.errors import BadInput
from harness.model.result import ArmResult
from tests.support.builders.matrices import SMALL
from tests.support.command_line import call
from tests.support.fake_backend import FakeBackend

pytestmark = pytest.mark.pure


class Lossy(FakeBackend):
    """Loses in every run whatever the acks, and keeps no promise."""

    def check(self, parent: Path, name: str) -> Any:
        future = super().check(parent, name)
        result = future.result()
        summary = result.summary.model_copy(update={"findings": {"lost": 700}})
        judgement = result.judgement.model_copy(update={"verdict": "invalid"})
        worse = Future[ArmResult]()
        worse.set_result(result.model_copy(update={"summary": summary, "judgement": judgement}))
        return worse


def spec(tmp_path: Path, **changes: Any) -> str:
    path = tmp_path / "small.yaml"
    path.write_text(yaml.safe_dump(SMALL | {"repeats": 6} | changes))
    return str(path)


def night(tmp_path: Path, name: str, backend: FakeBackend, versions: tuple[str, ...] = ("4.3.1",)) -> Any:
    return matrices.run_matrices(
        [name], versions, results=tmp_path / "results", last=tmp_path / "last", seed=5, backend=backend
    )


def test_a_good_night_is_kept_and_the_same_again_is_no_worse(tmp_path: Path) -> None:
    name = spec(tmp_path)
    first = night(tmp_path, name, FakeBackend(tmp_path / "log"))
    assert [one.exit_code() for one in first] == [0]
    matrices.keep(first, tmp_path / "last")
    assert (tmp_path / "last" / "matrices" / "4.3.1" / "small" / MATRIX_FILE).exists()
    second = night(tmp_path, name, FakeBackend(tmp_path / "log"))
    assert [(one.worse, one.uncompared, one.exit_code()) for one in second] == [((), (), 0)]
    assert (second[0].folder or tmp_path).joinpath("report.html").exists()


def test_a_worse_night_is_told_arm_by_arm(tmp_path: Path) -> None:
    name = spec(tmp_path)
    matrices.keep(night(tmp_path, name, FakeBackend(tmp_path / "log")), tmp_path / "last")
    (worse,) = night(tmp_path, name, Lossy(tmp_path / "log"))
    assert worse.exit_code() == 1
    assert any("acks=all" in line and "lost per million: 0 then" in line for line in worse.worse)
    (told,) = {line.split(" on ")[0] for line in matrices.regressions([worse])}
    assert told == "small"


def test_a_bound_holds_in_the_first_night_too(tmp_path: Path) -> None:
    (worse,) = night(tmp_path, spec(tmp_path, slo=[{"lost": 0}]), Lossy(tmp_path / "log"))
    assert any("allowed 0, found 700" in line for line in worse.worse)


def test_a_last_night_that_cannot_be_read_hides_no_broken_bound(tmp_path: Path) -> None:
    name = spec(tmp_path, slo=[{"lost": 0}])
    matrices.keep(night(tmp_path, name, FakeBackend(tmp_path / "log")), tmp_path / "last")
    (kept,) = (tmp_path / "last").rglob(MATRIX_FILE)
    kept.write_text("{")
    (worse,) = night(tmp_path, name, Lossy(tmp_path / "log"))
    assert any("allowed 0, found 700" in line for line in worse.worse)
    assert len(worse.uncompared) == 1
    assert worse.exit_code() == 1


def test_a_matrix_of_versions_is_run_once_and_others_on_each(tmp_path: Path) -> None:
    both = night(tmp_path, spec(tmp_path), FakeBackend(tmp_path / "log"), ("4.3.1", "3.9.2"))
    assert [one.version for one in both] == ["4.3.1", "3.9.2"]
    own = dict(SMALL["axes"]) | {"version": {"version": ["3.9.2", "4.3.1"]}}
    (once,) = night(tmp_path, spec(tmp_path, axes=own), FakeBackend(tmp_path / "log"), ("4.3.1", "3.9.2"))
    assert once.version == OWN_VERSIONS


def test_what_cannot_be_run_is_told_and_a_wrong_name_refused(tmp_path: Path) -> None:
    broken = FakeBackend(tmp_path / "log", break_=["acks=1_fault=kill"] * 3)
    every = [arm.name for arm in plan_matrix(spec(tmp_path), None, MatrixOptions(), 5).arms]
    broken.break_ = every
    (one,) = night(tmp_path, spec(tmp_path), broken)
    assert one.result is None
    assert one.exit_code() == 3
    assert "runs in a row broke" in one.error
    with pytest.raises(BadInput):
        night(tmp_path, "no-such-matrix", broken)


def test_the_night_tells_matrices_beside_experiments(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(series, "DockerBackend", lambda *_, **__: FakeBackend(tmp_path / "log"))
    monkeypatch.setattr(docker_engine, "connect", lambda: SimpleNamespace(close=lambda: None))
    given = [
        "--matrix",
        spec(tmp_path),
        "--matrix-repeat",
        "2",
        "--results",
        str(tmp_path / "r"),
        "--seed",
        "5",
    ]
    assert call(monkeypatch, "nightly", *given, "--last", str(tmp_path / "last")) == 0
    assert "all 4 arms as promised" in capsys.readouterr().out
    text = (tmp_path / "r" / "summary.md").read_text()
    assert "## small: " in text
    suites = Xml.parse(tmp_path / "r" / "junit.xml").getroot()
    assert [suite.get("name") for suite in suites] == ["small"]
    assert suites[0].get("tests") == "4"
    (kept,) = (tmp_path / "last").rglob(MATRIX_FILE)
    assert json.loads(kept.read_text())["arms"][0]["figures"]["runs"] == 2
    assert call(monkeypatch, "nightly", "--results", str(tmp_path)) == 2


def test_a_matrix_that_was_not_run_is_no_good_night() -> None:
    assert series.exit_code([], [], [MatrixNight("4.3.1", "m", error="why").exit_code()]) == 3
