"""Every claim is complete: arms, controls, texts; and how claims are chosen."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import Result
from typer.testing import CliRunner

from harness.cli.app import app
from harness.lab.claims.claim import CLAIM, CLAIM_SUITE, CLAIMS, Claim
from harness.lab.suite.model import Role, choose
from harness.lab.suite.runner import on_cluster
from harness.model.defaults import DEFAULT_VERSION
from harness.model.errors import BadInput
from harness.spec.experiment import Experiment
from harness.spec.overrides import ClusterOptions

pytestmark = pytest.mark.pure

IDS = [claim.id for claim in CLAIMS]


def test_every_claim_of_the_list_is_there() -> None:
    numbers = {kind: [one for one in IDS if one.startswith(kind)] for kind in "RCA"}
    assert [f"R{number}" for number in range(1, 29)] == numbers["R"]
    assert [f"C{number}" for number in range(1, len(numbers["C"]) + 1)] == numbers["C"]
    assert numbers["A"] == [f"A{number}" for number in range(1, 11)]
    assert [*numbers["R"], *numbers["C"], *numbers["A"]] == IDS


@pytest.mark.parametrize("claim", CLAIMS, ids=IDS)
def test_a_claim_is_whole(claim: Claim) -> None:
    assert {arm.role for arm in claim.arms} == set(CLAIM_SUITE.roles), "a claim needs a control"
    for arm in claim.arms:
        assert arm.arm in {one.name for one in arm.experiment.arms}
        assert any(not one.given for one in arm.expects), "an arm of which nothing is expected"
    names = {arm.experiment.name: arm.experiment for arm in claim.arms}
    own = {arm.experiment.name for arm in claim.arms if arm.role is Role.CLAIM}
    assert all(one.startswith(f"{claim.id[0].lower()}{int(claim.id[1:]):02d}-") for one in own)
    assert all(arm.experiment == names[arm.experiment.name] for arm in claim.arms)
    for text in (claim.words, claim.set_up, *([claim.today] if claim.today else [])):
        assert text.endswith(".")


def test_a_version_that_cannot_show_a_claim_is_named() -> None:
    claim = choose(CLAIMS, ["R24"])[0]
    assert claim.too_old() is None
    assert on_cluster(claim, ClusterOptions("4.1.0")).too_old() is None
    old = ClusterOptions("3.9.2")
    assert on_cluster(claim, old).too_old() == "it needs Kafka 4.1 or later, and this is 3.9.2"
    assert on_cluster(choose(CLAIMS, ["R12"])[0], old).too_old() is None


def test_a_claim_that_names_its_versions_stays_on_them() -> None:
    (claim,) = choose(CLAIMS, ["R21"])
    assert claim.kafka == f"3.9.2, {DEFAULT_VERSION}"
    assert on_cluster(claim, ClusterOptions("4.1.0", "some/image")) is claim


def test_one_name_is_one_experiment() -> None:
    """What claims share is run once and in one folder."""
    known: dict[str, Experiment] = {}
    for claim in CLAIMS:
        for experiment, _ in claim.experiments():
            assert known.setdefault(experiment.name, experiment) == experiment


def test_claims_are_chosen_by_number_in_any_case() -> None:
    assert [one.id for one in choose(CLAIMS, ["r12", "R1", "R12"])] == ["R12", "R1"]
    assert choose(CLAIMS, []) == CLAIMS


@pytest.mark.parametrize(("number", "word"), [("R99", "there is no claim"), ("x", "R1")])
def test_a_claim_that_is_not_there_is_refused_with_the_reason(number: str, word: str) -> None:
    with pytest.raises(BadInput) as raised:
        choose(CLAIMS, [number])
    assert word in str(raised.value)


def test_a_claim_of_a_file_is_listed_with_built_in_ones(tmp_path: Path) -> None:
    mine = tmp_path / "claim.yaml"
    assert invoke("--init", str(mine)).exit_code == 0
    listed = json.loads(invoke(str(mine), "R12", "--list", "--json").stdout)
    assert [one["id"] for one in listed] == ["MY-1", "R12"]
    assert [arm["experiment"] for arm in listed[0]["trials"]] == ["my-cut-acks-all", "my-cut-acks-1"]
    refused = invoke("--init", str(mine))
    assert isinstance(refused.exception, BadInput)
    assert "exists already" in str(refused.exception)


@pytest.mark.parametrize(
    ("id_", "names", "said"),
    [
        ("r12", ["claim.yaml"], "another claim has the id 'r12'"),
        ("X", ["claim.yaml", "claim.yaml"], "another claim has the id 'X'"),
        ("X", ["none.yaml"], "the claim file cannot be read"),
        ("X", ["claim.yml", "R99"], "there is no claim 'R99'"),
    ],
)
def test_files_that_cannot_be_used_are_refused(
    id_: str, names: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    invoke("--init", "claim.yaml")
    text = Path("claim.yaml").read_text().replace("id: MY-1", f"id: {id_}")
    for name in ("claim.yaml", "claim.yml"):
        Path(name).write_text(text)
    refused = invoke(*names, "--list").exception
    assert isinstance(refused, BadInput)
    assert said in str(refused)


def test_files_of_built_in_claims_and_their_schema_are_printed() -> None:
    assert invoke("--show", "R12").stdout == CLAIM.builtin_text("r12")
    assert "a file ending" not in str(invoke("--show", "R99").exception)
    assert "claims claim.yaml --list" in str(invoke("--show", "claim.yaml").exception)
    keys = json.loads(invoke("--schema").stdout)["properties"].keys()
    assert {"arms", "experiments", "with", "words"} <= keys


def test_the_claim_of_the_how_to_page_is_valid() -> None:
    page = Path("docs/how-to/own-claims.md").read_text()
    claim = CLAIM.parse(page.partition("```yaml\n")[2].partition("```")[0], "own-claims.md")
    assert [arm.arm for arm in claim.arms] == ["acks=all", "acks=1"]


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["claims", *arguments])


def test_the_list_needs_no_cluster() -> None:
    shown = CliRunner().invoke(app, ["claims", "--list"])
    assert shown.exit_code == 0
    listed = json.loads(CliRunner().invoke(app, ["claims", "--list", "--json"]).stdout)
    assert [one["id"] for one in listed] == IDS
    (one,) = json.loads(CliRunner().invoke(app, ["claims", "R12", "--list", "--json"]).stdout)
    assert {arm["role"] for arm in one["trials"]} == {"claim", "control"}
