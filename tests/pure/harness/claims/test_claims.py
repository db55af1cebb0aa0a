"""What makes the verdict of a claim, and that every claim is whole: arms, controls, words."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Self

import pytest
from typer.testing import CliRunner

from harness.campaign.work_queue import next_for
from harness.campaign.worker import RequestFinished, RunRequest, WorkerMessage
from harness.campaign.worker_processes import WorkerPool, WorkerProcess
from harness.claims.catalog.registry import CLAIMS
from harness.claims.model import CLAIM_SUITE, Claim, ClaimResult
from harness.cli.app import app
from harness.model.errors import BadInput, ClusterError
from harness.run.executor import Options
from harness.spec.cluster import ClusterSpec
from harness.spec.experiment import Experiment
from harness.suite import runner, table
from harness.suite.expectations import Observation
from harness.suite.model import Role, SuiteArmResult, SuiteResult, SuiteVerdict, choose, exit_code, judge
from harness.suite.runner import on_version
from harness.suite.scheduled_experiments import experiments_of

pytestmark = pytest.mark.pure

ROLES = CLAIM_SUITE.roles
GOOD = Observation(what="lost", expected="500", seen="500", ok=True)
BAD = Observation(what="lost", expected="500", seen="499", ok=False)
UNTOLD = Observation(what="lost", expected="500", seen="not checked", ok=None)
NOT_GIVEN = Observation(what="acked", expected="500", seen="12", ok=False, given=True)
GIVEN = Observation(what="acked", expected="500", seen="500", ok=True, given=True)


def arm_result(role: Role, *rows: Observation, doubts: tuple[str, ...] = ()) -> SuiteArmResult:
    return SuiteArmResult(role=role, experiment="x", arm=f"{role}-arm", folder="f", doubts=doubts, rows=rows)


def claim_and_control(claim: Observation, control: Observation) -> list[SuiteArmResult]:
    return [arm_result(Role.CLAIM, GIVEN, claim), arm_result(Role.CONTROL, GIVEN, control)]


def test_yes_when_both_behave() -> None:
    assert judge(CLAIM_SUITE, claim_and_control(GOOD, GOOD)) == (SuiteVerdict.YES, ())


def test_no_when_the_claim_comes_out_otherwise() -> None:
    verdict, reasons = judge(CLAIM_SUITE, claim_and_control(BAD, GOOD))
    assert verdict is SuiteVerdict.NO
    assert reasons == ("claim-arm: lost: expected 500, seen 499",)


def test_a_control_that_does_not_behave_is_unknown() -> None:
    verdict, reasons = judge(CLAIM_SUITE, claim_and_control(GOOD, BAD))
    assert verdict is SuiteVerdict.UNKNOWN
    assert reasons == (
        "the control arm control-arm does not come out as expected: lost: expected 500, seen 499",
    )


def test_a_control_that_does_not_behave_hides_a_no() -> None:
    assert judge(CLAIM_SUITE, claim_and_control(BAD, BAD))[0] is SuiteVerdict.UNKNOWN


@pytest.mark.parametrize("role", ROLES)
def test_a_run_that_proves_nothing_is_unknown(role: Role) -> None:
    arms = [arm_result(one, GOOD, doubts=("the run did not finish",) if one is role else ()) for one in ROLES]
    verdict, reasons = judge(CLAIM_SUITE, arms)
    assert verdict is SuiteVerdict.UNKNOWN
    assert reasons == (f"{role}-arm: the run did not finish",)


@pytest.mark.parametrize("role", ROLES)
def test_something_given_that_is_not_so_is_unknown(role: Role) -> None:
    arms = [arm_result(one, NOT_GIVEN if one is role else GIVEN, GOOD) for one in ROLES]
    verdict, reasons = judge(CLAIM_SUITE, arms)
    assert verdict is SuiteVerdict.UNKNOWN
    assert reasons == (f"{role}-arm: acked: expected 500, seen 12",)


def test_something_given_that_is_not_so_hides_a_no() -> None:
    assert (
        judge(CLAIM_SUITE, [arm_result(Role.CLAIM, NOT_GIVEN, BAD), arm_result(Role.CONTROL, GOOD)])[0]
        is SuiteVerdict.UNKNOWN
    )


@pytest.mark.parametrize("role", ROLES)
def test_what_cannot_be_told_is_unknown(role: Role) -> None:
    arms = [arm_result(one, UNTOLD if one is role else GOOD) for one in ROLES]
    assert judge(CLAIM_SUITE, arms)[0] is SuiteVerdict.UNKNOWN


@pytest.mark.parametrize("role", ROLES)
def test_a_claim_without_one_of_its_sides_is_unknown(role: Role) -> None:
    assert judge(CLAIM_SUITE, [arm_result(role, GOOD)])[0] is SuiteVerdict.UNKNOWN
    # What was only given shows nothing of a side either.
    assert judge(
        CLAIM_SUITE, [arm_result(role, GOOD), *(arm_result(one, GIVEN) for one in ROLES if one is not role)]
    )[0] is (SuiteVerdict.UNKNOWN)


def result(answer: SuiteVerdict) -> ClaimResult:
    return ClaimResult(
        id="R1",
        title="a claim",
        verdict=answer,
        reasons=() if answer is SuiteVerdict.YES else ("why",),
        arms=tuple(claim_and_control(GOOD, GOOD)),
        seconds=12.4,
        kafka="4.3.1",
    )


def test_exit_codes_are_those_of_run() -> None:
    yes, no, unknown = (
        result(answer) for answer in (SuiteVerdict.YES, SuiteVerdict.NO, SuiteVerdict.UNKNOWN)
    )
    assert exit_code([yes, yes]) == 0
    assert exit_code([yes, unknown]) == 3
    assert exit_code([no, unknown, yes]) == 1
    assert exit_code([]) == 3


def test_a_row_says_what_was_expected_and_seen_of_both_sides() -> None:
    assert table.cells(CLAIM_SUITE, [result(SuiteVerdict.YES)]) == (
        "R1 a claim",
        "claim-arm: lost: 500",
        "500",
        "control-arm: lost: 500",
        "500",
        "yes",
        "12",
    )
    assert table.reasons([result(SuiteVerdict.YES)]) == []
    assert table.reasons([result(SuiteVerdict.NO)]) == ["R1: no", "  - why", "  see f"]


def test_a_row_shows_what_is_not_as_expected() -> None:
    assert arm_result(Role.CLAIM, GIVEN, GOOD, BAD).headline == BAD
    assert arm_result(Role.CLAIM, GIVEN, GOOD, UNTOLD).headline == UNTOLD
    assert arm_result(Role.CLAIM, GIVEN, GOOD).headline == GOOD
    assert arm_result(Role.CLAIM, NOT_GIVEN).headline is None


IDS = [claim.id for claim in CLAIMS]


def test_every_claim_of_the_list_is_there() -> None:
    assert [f"R{number}" for number in range(1, 27)] == IDS


@pytest.mark.parametrize("claim", CLAIMS, ids=IDS)
def test_a_claim_is_whole(claim: Claim) -> None:
    assert {trial.role for trial in claim.arms} == set(ROLES), "a claim needs a control"
    for trial in claim.arms:
        assert trial.arm in {arm.name for arm in trial.experiment.arms}
        assert any(not one.given for one in trial.expects), "an arm of which nothing is expected"
    names = {trial.experiment.name: trial.experiment for trial in claim.arms}
    own = {trial.experiment.name for trial in claim.arms if trial.role is Role.CLAIM}
    assert all(one.startswith(f"r{int(claim.id[1:]):02d}-") for one in own)
    assert all(trial.experiment == names[trial.experiment.name] for trial in claim.arms)
    for text in (claim.words, claim.set_up, *([claim.today] if claim.today else [])):
        assert text.endswith(".")


def test_a_version_that_cannot_show_a_claim_is_named() -> None:
    claim = choose(CLAIMS, ["R24"])[0]
    assert claim.too_old() is None
    assert on_version(claim, "4.1.0", None).too_old() is None
    assert on_version(claim, "3.9.2", None).too_old() == ("it needs Kafka 4.1 or later, and this is 3.9.2")
    assert on_version(choose(CLAIMS, ["R12"])[0], "3.9.2", None).too_old() is None


def test_a_claim_that_names_its_versions_stays_on_them() -> None:
    (claim,) = choose(CLAIMS, ["R21"])
    assert claim.kafka == "3.9.2, 4.3.1"
    assert on_version(claim, "4.1.0", "some/image") is claim


def test_one_name_is_one_experiment() -> None:
    """What claims share is run once and in one folder."""
    known: dict[str, Experiment] = {}
    for claim in CLAIMS:
        for experiment, _ in claim.experiments():
            assert known.setdefault(experiment.name, experiment) == experiment


def test_an_experiment_that_two_claims_have_is_run_once_with_the_arms_of_both() -> None:
    (first, both) = choose(CLAIMS, ["R16", "R21"])
    runs = experiments_of([both, first])
    assert len({one.experiment.name for one in runs}) == len(runs)
    (shared,) = (one for one in runs if one.experiment.name == "r16-last-in-sync")
    assert shared.item is both
    assert shared.arms == ("unclean=false", "unclean=true")


def test_claims_are_chosen_by_number_in_any_case() -> None:
    assert [one.id for one in choose(CLAIMS, ["r12", "R1", "R12"])] == ["R12", "R1"]
    assert choose(CLAIMS, []) == CLAIMS


@pytest.mark.parametrize(("number", "word"), [("R99", "there is no claim"), ("x", "R1")])
def test_a_claim_that_is_not_there_is_refused_with_the_reason(number: str, word: str) -> None:
    with pytest.raises(BadInput) as raised:
        choose(CLAIMS, [number])
    assert word in str(raised.value)


def test_the_list_needs_no_cluster() -> None:
    shown = CliRunner().invoke(app, ["claims", "--list"])
    assert shown.exit_code == 0
    told = json.loads(CliRunner().invoke(app, ["claims", "--list", "--json"]).stdout)
    assert [one["id"] for one in told] == IDS
    (one,) = json.loads(CliRunner().invoke(app, ["claims", "R12", "--list", "--json"]).stdout)
    assert {trial["role"] for trial in one["trials"]} == {"claim", "control"}


class Paper(WorkerProcess):
    """A worker without a process: its experiments break, or are over at once without a run."""

    def __init__(self, log: list[str], answers: dict[str, RequestFinished]) -> None:
        self.log, self.answers = log, answers
        self.spec: ClusterSpec | None = None
        self.busy = self.replace = False
        self.orders: list[RunRequest] = []
        self.stopped = False

    def give(self, order: RunRequest) -> None:
        self.spec, self.busy = order.experiment.cluster, True
        self.orders.append(order)
        self.log.append(order.experiment.name)

    def stop(self, *, at_once: bool) -> None:
        assert not at_once
        assert not self.busy
        self.stopped = True

    @property
    def alive(self) -> bool:
        return not self.stopped


class PaperCrew(WorkerPool):
    def __init__(self, workers: list[Paper]) -> None:
        self.workers = list(workers)
        self.papers = workers

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        assert not any(worker.busy for worker in self.workers)

    def messages(self, seconds: float) -> Iterator[tuple[WorkerProcess, WorkerMessage]]:  # noqa: ARG002
        for worker in self.papers:
            if worker.busy:
                worker.busy = False
                name = worker.orders[-1].experiment.name
                yield worker, worker.answers.pop(name, RequestFinished())


RunPaper = Callable[..., tuple[list[SuiteResult], list[str], list[Paper]]]


@pytest.fixture
def run_paper(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> RunPaper:
    """Runs claims on workers of paper: the results, what was run and told in which order, the workers."""
    monkeypatch.setattr(runner, "java_of_spark", lambda _: 17)
    monkeypatch.setattr(runner.engine, "connect", lambda: None)
    monkeypatch.setattr(runner.images, "resolve", lambda *_: None)
    monkeypatch.setattr(runner.feasibility, "probe_for", lambda *_: ())

    def run(
        ids: list[str], size: int = 1, **answers: RequestFinished
    ) -> tuple[list[SuiteResult], list[str], list[Paper]]:
        log: list[str] = []
        named = {name.replace("_", "-"): answer for name, answer in answers.items()}
        workers = [Paper(log, named) for _ in range(size)]
        results = runner.run_items(
            [choose(CLAIMS, [one])[0] for one in ids],
            Options(results=tmp_path, seed=1),
            lambda one: log.append(one.id),
            parallel=size,
            workers=lambda *_: PaperCrew(workers),
        )
        return results, log, workers

    return run


def test_a_result_is_given_as_soon_as_its_experiments_are_over(run_paper: RunPaper) -> None:
    results, told, _ = run_paper(["R21", "R9", "R16"])
    assert [one.id for one in results] == ["R21", "R9", "R16"]
    assert all(one.verdict is SuiteVerdict.UNKNOWN for one in results), "nothing was run"
    assert told[:3] == ["r21-r12-cut", "r21-r13-answers", "r21-r16-last-in-sync"]
    assert told[3:6] == ["r12-cut", "r13-answers", "r16-last-in-sync"]
    assert told[6:8] == ["R21", "R16"], "what R16 needs R21 has had run"
    assert told[-1] == "R9", "it measures times, and comes last"


def test_workers_have_clusters_of_different_specs_as_long_as_there_are(run_paper: RunPaper) -> None:
    _, _, (one, other) = run_paper(["R16", "R3", "R12", "R20", "R2", "R5"], size=2)
    assert [order.experiment.name for order in other.orders[:4]] == [
        "r03-long",
        "r03-short",
        "r20-slow",
        "r20-fast",
    ]
    assert all(order.experiment.cluster == one.orders[0].experiment.cluster for order in one.orders)
    # No other cluster is wanted any more: what waits for the first one is shared.
    assert other.orders[4].experiment.cluster == one.orders[0].experiment.cluster
    new = [one.orders[0], other.orders[0], other.orders[4]]
    assert [order.logs.name for order in new] == ["logs-1", "logs-2", "logs-3"]


def test_whoever_has_nothing_left_to_do_ends(run_paper: RunPaper) -> None:
    _, told, (one, other) = run_paper(["R16", "R2", "R9"], size=2)
    assert told[0] == "r16-last-in-sync"
    measured = [order.experiment.name for order in one.orders[1:]]
    assert len(measured) == 4
    assert all(name.startswith("r09-") for name in measured)
    assert not any(order.experiment.name.startswith("r09-") for order in other.orders)
    assert other.stopped


def test_what_measures_times_runs_while_the_others_rest() -> None:
    common, lag = ClusterSpec(brokers=3), ClusterSpec(brokers=4)
    idle = {"alone": False, "others_busy": False}
    assert next_for(None, [], [(common, True), (lag, False)], **idle) == 1
    assert next_for(lag, [], [(common, True)], alone=False, others_busy=True) is None
    assert next_for(lag, [], [(common, True)], **idle) == 0
    assert next_for(lag, [common], [(common, True)], **idle) is None, "another has the cluster up"
    assert next_for(common, [], [(common, False)], alone=True, others_busy=True) is None


def test_what_broke_on_a_used_cluster_is_run_again_on_a_new_one(run_paper: RunPaper) -> None:
    broken = RequestFinished(error=ClusterError("the broker ended"), fresh=False)
    results, told, (worker,) = run_paper(
        ["R12", "R16"], r12_cut=broken, r16_last_in_sync=replace(broken, fresh=True)
    )
    assert told == ["r12-cut", "r12-cut", "r12-no-cut", "R12", "r16-last-in-sync", "R16"]
    assert [order.reuse for order in worker.orders] == [True, False, True, True]
    assert worker.orders[0].runs != worker.orders[1].runs
    assert any("the broker ended" in reason for reason in results[1].reasons)
    assert not any("the broker ended" in reason for reason in results[0].reasons)


def test_a_cluster_that_does_not_come_up_is_started_once(run_paper: RunPaper) -> None:
    answer = RequestFinished(error=ClusterError("it did not come up"), began=False)
    results, told, _ = run_paper(["R12", "R16", "R3"], r12_cut=answer)
    assert told[:1] == ["r12-cut"]
    assert "r16-last-in-sync" not in told
    for result in results[:2]:
        assert any("it did not come up" in reason for reason in result.reasons)
    assert not any("it did not come up" in reason for reason in results[2].reasons)
