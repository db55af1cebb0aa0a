"""What came from records, headers, logs or files of others becomes no markup on any page of ours."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, TypeVar

import pytest
import yaml
from pydantic import BaseModel

from harness.cli.docgen.suites import BugRuns, ClaimRuns, bugs_page, claim_page
from harness.lab.bugs.bug import BUGS, BugResult
from harness.lab.claims.claim import CLAIMS, ClaimResult
from harness.lab.suite.expectations import Observation
from harness.lab.suite.model import SuiteItem, SuiteResult, SuiteVerdict
from harness.lab.suite.page import write_page
from harness.many.matrix.page import junit_text, matrix_page, worst_runs
from harness.many.matrix.result import MatrixResult
from harness.model.errors import BadInput
from harness.report.ci import SeriesOutcome, summary_text
from harness.report.page import html, markdown
from harness.report.run_page import write_report
from harness.spec.experiment_files import parse
from tests.support.builders.matrices import run_matrix
from tests.support.builders.results import arm, result
from tests.support.fake_backend import FakeBackend
from tests.support.hostile_text import EVIL, harmless

pytestmark = pytest.mark.pure

KEPT = {"name", "kafka_version", "folder", "arm", "digest", "reference", "acks", "client", "state"}
"""Fields that files, versions or other fields hang on; they are checked by patterns of their own."""

Model = TypeVar("Model", bound=BaseModel)


def spoilt(model: Model) -> Model:
    """The same with `EVIL` behind every free text in it, however deep."""
    changed = {name: _spoilt(name, getattr(model, name)) for name in type(model).model_fields}
    return model.model_copy(update=changed)


def _spoilt(name: str, value: Any) -> Any:
    if isinstance(value, BaseModel):
        return spoilt(value)
    if isinstance(value, tuple):
        return tuple(_spoilt(name, one) for one in value)
    if isinstance(value, dict):
        return {key: _spoilt(str(key), one) for key, one in value.items()}
    return value + EVIL if type(value) is str and name not in KEPT else value


def harmless_markdown(text: str) -> None:
    outside = re.sub(r"^(`{3,})text\n.*?^\1$", "", text, flags=re.DOTALL | re.MULTILINE)
    assert "<script" not in outside.replace("\\<script", "")
    assert "<img" not in outside.replace("\\<img", "")


def test_the_report_of_an_experiment(tmp_path: Path) -> None:
    bad = result(spoilt(arm(promised=False, error=EVIL)))
    write_report(bad.model_copy(update={"title": EVIL, "description": EVIL, "command": EVIL}), tmp_path)
    harmless((tmp_path / "report.html").read_text())


def test_the_summary_of_a_night() -> None:
    bad = result(spoilt(arm(promised=False, error=EVIL))).model_copy(update={"title": EVIL})
    failed = SeriesOutcome(version=EVIL, experiment="x", error=f"```\n{EVIL}")
    told = summary_text([SeriesOutcome(version="4.3.1", experiment=EVIL, result=bad), failed], [EVIL])
    harmless_markdown(told)
    assert "alert" in told


@pytest.fixture(scope="module")
def matrix(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, MatrixResult]:
    folder = tmp_path_factory.mktemp("matrix")
    store, made = run_matrix(folder, FakeBackend(folder / "log", refuse="acks=1_fault=kill"))
    return store.folder, made


def test_the_pages_of_a_matrix(matrix: tuple[Path, MatrixResult]) -> None:
    folder, made = matrix
    arms = tuple(one.model_copy(update={"reason": EVIL, "left_out": (EVIL,)}) for one in made.arms)
    bad = made.model_copy(update={"title": EVIL, "description": EVIL, "command": EVIL, "arms": arms})
    page = matrix_page(bad, worst_runs(bad, folder))
    harmless(html.render(page))
    harmless_markdown(markdown.render(page))
    assert "<script" not in junit_text(bad)


Result = TypeVar("Result", bound=SuiteResult)


def _result(item: SuiteItem, made: type[Result]) -> Result:
    arm = item.suite.arm_result(
        role=item.suite.roles[0],
        experiment="x",
        arm="y",
        folder="f",
        rows=(Observation(what=EVIL, expected=EVIL, seen=EVIL, ok=False),),
        doubts=(EVIL,),
        story=(EVIL, "````", "```", EVIL),
    )
    return made(
        id=item.id,
        title=EVIL,
        verdict=SuiteVerdict.UNKNOWN,
        reasons=(EVIL,),
        arms=(arm,),
        kafka="4.3.1",
        seconds=1.0,
    )


def test_the_pages_of_claims(tmp_path: Path) -> None:
    made = _result(CLAIMS[0], ClaimResult)
    harmless(write_page([CLAIMS[0]], [made], tmp_path).read_text())
    text = claim_page(CLAIMS[0], ClaimRuns(machine="m", runs=((made,),)))
    harmless_markdown(text)
    assert "&lt;script>" in text, "the reasons stand outside of blocks"


def test_the_page_of_known_bugs() -> None:
    made = _result(BUGS[0], BugResult)
    another = made.arms[0].model_copy(update={"arm": "z"})
    both = made.model_copy(update={"arms": (*made.arms, another)})
    text = bugs_page(BugRuns(machine="m", runs=((both,),)))
    harmless_markdown(text)
    assert "&lt;script>" in text
    assert "<br>z: " in text, "an arm a line, in one cell"


@pytest.mark.parametrize(
    "text",
    [
        "name: !!python/object/apply:os.system ['touch {marker}']",
        "!!python/object/new:subprocess.Popen [['touch', '{marker}']]",
        "name: !!python/name:os.system",
        "a: !!python/module:os",
    ],
)
def test_yaml_is_data(text: str, tmp_path: Path) -> None:
    marker = tmp_path / "marker"
    with pytest.raises(BadInput, match="not YAML"):
        parse(text.format(marker=marker), "evil.yaml")
    assert not marker.exists()


def test_the_full_loader_would_have_run_it(tmp_path: Path) -> None:
    marker = tmp_path / "marker"
    yaml.unsafe_load(f"!!python/object/apply:os.system ['touch {marker}']")
    assert marker.exists()
