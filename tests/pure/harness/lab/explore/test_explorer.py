"""Explorations on paper: what is found and shrunk, budgets, resume, clean resets, what is written."""

from __future__ import annotations

import ast
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from faults.processes import Stop
from harness.lab.explore import explorer, trial_runner
from harness.lab.explore.explorer import Exploration
from harness.lab.explore.menu import MENU, experiment_of
from harness.lab.explore.page import (
    explore_page,
    headline,
    lines,
    pair_rows,
    phase_rows,
    share_line,
    write_pages,
)
from harness.lab.explore.phases import ClusterPhase, ObservedFault
from harness.lab.explore.plan import ExploreOptions, parse_seconds, plan_exploration
from harness.lab.explore.result import ExploreResult, ExploreStore, load_result
from harness.lab.explore.trial import Trial
from harness.many.docker_backend import Feasibility
from harness.model import secrets
from harness.model.defaults import DEFAULT_VERSION
from harness.model.errors import BadInput, ClusterError, JournalError
from harness.model.finding_class import FindingClass
from harness.model.result import ShareCount
from harness.report.page import markdown
from harness.report.page.blocks import Section, Table, grid
from harness.spec import experiment_files
from harness.spec.experiment import Experiment
from harness.spec.fault_index import located_faults, with_faults
from harness.spec.overrides import ClusterOptions
from tests.support.builders.explorations import run_exploration, small_options
from tests.support.command_line import call
from tests.support.fake_explore_backend import SMALL, FakeExploreBackend, menu_of

pytestmark = pytest.mark.pure


@pytest.fixture(autouse=True)
def _every_fault_hits_a_steady_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    hit = ObservedFault(place=0, phases=(ClusterPhase.STEADY,), verified=True)
    monkeypatch.setattr(trial_runner, "observed_faults", lambda *_: (hit,))


def resumed(store: ExploreStore, backend: FakeExploreBackend, **options: Any) -> ExploreResult:
    return Exploration(
        plan_exploration(ExploreOptions(**options), store.folder, 0), store, "", backend
    ).execute()


def test_what_is_planted_is_found_and_shrunk_to_it(tmp_path: Path) -> None:
    backend = FakeExploreBackend(tmp_path / "log")
    store, result = run_exploration(tmp_path, backend, 60)
    assert result.ended == "budget spent"
    assert result.exit_code() == 1
    assert load_result(store.folder) == result
    assert len(result.runs) == len(backend.lines()) == 60
    (violation,) = result.violations
    assert violation.state == "shrunk"
    assert violation.minimal.settings == {"acks": "1"}
    assert [one.name for one in violation.minimal.faults] == ["kill-leader"]
    assert violation.original.holds(violation.minimal)
    assert (violation.failed, violation.minimal_runs) == (1, 1)
    assert violation.again, "it was drawn again, and not shrunk again"
    shrinking = [run for run in result.runs if run.violation == 1]
    assert len(shrinking) == violation.runs <= 36, "no more than its share"
    assert (len(backend.starts), backend.resets, backend.up) == (1, 59, 0), (
        "one cluster, made as good as new between runs"
    )
    assert result.runs[1].reset == "reused: nothing left"


def test_nothing_breaks_nothing_is_found(tmp_path: Path) -> None:
    _, result = run_exploration(tmp_path, FakeExploreBackend(tmp_path / "log", fails=lambda _: False), 12)
    assert result.violations == ()
    assert result.exit_code() == 0
    assert headline(result).startswith("no violations in 12 schedules")
    assert sum(row.times for row in result.coverage.phases) == 12


def test_what_share_groups_were_given_is_added_up(tmp_path: Path) -> None:
    _, result = run_exploration(tmp_path, FakeExploreBackend(tmp_path / "log", fails=lambda _: False), 2)
    assert share_line(result) == ""
    one = ShareCount(
        group="q",
        records=900,
        deliveries=1000,
        accepted=700,
        released=190,
        rejected=60,
        failed=40,
        unanswered=3,
    )
    runs = tuple(run.model_copy(update={"shares": (one,)}) for run in result.runs)
    given = result.model_copy(update={"runs": runs})
    line = (
        "share groups: 1,800 records in 2,000 deliveries, of which 1,400 accepted, 380 released, "
        "120 rejected, 80 failed, 6 unanswered"
    )
    assert line in lines(given)
    assert line in markdown.render(explore_page(given))


def test_what_does_not_fail_again_is_told_and_not_shrunk(tmp_path: Path) -> None:
    _, result = run_exploration(tmp_path, FakeExploreBackend(tmp_path / "log", flaky=0.9), 40, confirm="2/3")
    states = {one.state for one in result.violations}
    assert "not confirmed" in states
    for one in result.violations:
        assert one.failed < 2 or one.state != "not confirmed"
        if one.state == "not confirmed":
            assert one.minimal == one.original
    assert result.exit_code() == 1, "seen once is seen"


def test_runs_of_which_nothing_can_be_said_count_for_nothing(tmp_path: Path) -> None:
    backend = FakeExploreBackend(tmp_path / "log", unknown_at=range(100), fails=lambda _: False)
    _, result = run_exploration(tmp_path, backend, 5)
    assert result.exit_code() == 3
    assert "5 with unknown verdict" in headline(result)
    assert "ruled out" not in headline(result)


def test_findings_of_a_run_whose_verdict_is_unknown_are_told(tmp_path: Path) -> None:
    backend = FakeExploreBackend(tmp_path / "log", unknown_at=[2], unread_at=[1], fails=lambda _: True)
    options = small_options(tmp_path, 3, settings={"acks": {"all": {"producer": {"acks": "all"}}}})
    store = ExploreStore.created(tmp_path / "results", "small")
    result = Exploration(plan_exploration(options, None, 0), store, "", backend).execute()
    assert [run.fails for run in result.runs] == [True, False, False]
    # Where nothing was read back, nothing is known to be absent.
    assert [run.broken for run in result.runs[1:]] == [(), (FindingClass.LOST,)]
    assert "2 with unknown verdict, 1 of these with findings that are ruled out" in headline(result)
    assert "run 3 is unknown, and has findings that its settings rule out: lost 7" in lines(result)


def test_the_same_seed_gives_the_same_exploration(tmp_path: Path) -> None:
    backends = [FakeExploreBackend(tmp_path / f"log{number}") for number in range(2)]
    for backend in backends:
        run_exploration(tmp_path, backend, 20)
    assert backends[0].lines() == backends[1].lines()


@pytest.mark.parametrize("at", [1, 4, 9, 15])
def test_an_interrupted_exploration_goes_on_as_if_it_had_not_been(tmp_path: Path, at: int) -> None:
    whole = FakeExploreBackend(tmp_path / "whole")
    _, expected = run_exploration(tmp_path, whole, 24)
    backend = FakeExploreBackend(tmp_path / "log", interrupt_at=at)
    store = ExploreStore.created(tmp_path / "results", "small")
    with pytest.raises(KeyboardInterrupt):
        Exploration(plan_exploration(small_options(tmp_path, 24), None, 0), store, "", backend).execute()
    assert backend.up == 0
    kept = load_result(store.folder)
    assert (kept.ended, len(kept.runs)) == ("under way", at)
    result = resumed(store, backend)
    assert backend.lines() == whole.lines(), "no run twice, and none else"
    assert len(list(store.folder.glob("runs/cut-short-*"))) == 1
    plain = [one.model_dump(exclude={"seconds"}) for one in result.violations]
    assert plain == [one.model_dump(exclude={"seconds"}) for one in expected.violations]
    assert result.coverage == expected.coverage


def test_what_was_found_before_ctrl_c_is_kept(tmp_path: Path) -> None:
    first = FakeExploreBackend(tmp_path / "whole")
    _, whole = run_exploration(tmp_path, first, 30)
    in_the_middle = next(run.number for run in whole.runs if run.violation == 1) + 6
    backend = FakeExploreBackend(tmp_path / "log", interrupt_at=in_the_middle)
    store = ExploreStore.created(tmp_path / "results", "small")
    with pytest.raises(KeyboardInterrupt):
        Exploration(plan_exploration(small_options(tmp_path, 30), None, 0), store, "", backend).execute()
    (violation,) = load_result(store.folder).violations
    assert violation.state == "under way"
    assert len(violation.minimal.faults) <= len(violation.original.faults)
    assert experiment_files.load(str(store.folder / violation.experiment)).arms[0].name == "found"
    # A later default is not what these runs had.
    assert load_result(store.folder).menu["cluster"]["version"] == DEFAULT_VERSION
    written = yaml.safe_load((store.folder / violation.experiment).read_text())
    assert written["cluster"]["version"] == DEFAULT_VERSION


def test_a_larger_budget_goes_on_with_shrinking(tmp_path: Path) -> None:
    backend = FakeExploreBackend(tmp_path / "log")
    store, result = run_exploration(tmp_path, backend, 16)
    (violation,) = result.violations
    assert violation.state == "budget spent"
    again = resumed(store, backend, runs=60)
    assert len(backend.lines()) == 60
    assert again.violations[0].state == "shrunk" or again.violations[0].runs >= violation.runs
    assert again.runs[:16] == result.runs
    # Once more there is nothing to do.
    resumed(store, backend)
    assert len(backend.lines()) == 60


def test_resume_refuses_another_exploration(tmp_path: Path) -> None:
    store, _ = run_exploration(tmp_path, FakeExploreBackend(tmp_path / "log"), 3)
    for options, says in (
        ({"seed": 9}, "--seed 3"),
        ({"confirm": "2/3"}, "--confirm 1/1"),
        ({"menu": tmp_path / "small.yaml"}, "leave --menu out"),
        ({"cluster": ClusterOptions("3.9.2")}, "cannot change"),
    ):
        with pytest.raises(BadInput, match=says):
            plan_exploration(ExploreOptions(**options), store.folder, 0)
    (store.folder / "result.json").write_text("{}")
    with pytest.raises(JournalError, match="no result of an exploration"):
        plan_exploration(ExploreOptions(), store.folder, 0)
    with pytest.raises(JournalError, match="there is no exploration here"):
        plan_exploration(ExploreOptions(), tmp_path / "nowhere", 0)


def test_a_secret_of_the_menu_is_in_nothing_that_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(secrets, "_KNOWN", set())
    cluster = SMALL.get("cluster", {}) | {"properties": {"ssl.keystore.password": "correct-horse-battery"}}
    store, result = run_exploration(tmp_path, FakeExploreBackend(tmp_path / "log"), 60, cluster=cluster)
    assert result.violations
    write_pages(result, store.folder)
    left = [path.read_text() for path in store.folder.rglob("*") if path.is_file()]
    assert len(left) > 4
    assert not any("correct-horse" in text for text in left)
    with pytest.raises(BadInput, match="secrets of this menu are not in its folder"):
        plan_exploration(ExploreOptions(), store.folder, 0)


def test_another_run_in_the_folder_is_not_taken_for_the_next_one(tmp_path: Path) -> None:
    backend = FakeExploreBackend(tmp_path / "log")
    store, _ = run_exploration(tmp_path, backend, 3)
    path = store.run_folder(2) / "outcome.json"
    row = json.loads(path.read_text())
    row["trial"]["faults"][0]["lasting"] = 99.0
    path.write_text(json.dumps(row))
    with pytest.raises(JournalError, match="not the one that comes next"):
        resumed(store, backend, runs=5)
    row["schema_version"] = 0
    path.write_text(json.dumps(row))
    with pytest.raises(JournalError, match="another version"):
        resumed(store, backend, runs=5)


def test_a_cluster_that_is_not_as_good_as_new_is_not_used_again(tmp_path: Path) -> None:
    backend = FakeExploreBackend(tmp_path / "log", dirty=2)
    _, result = run_exploration(tmp_path, backend, 6)
    assert (len(backend.starts), result.clusters) == (3, 3)
    assert [run.reset for run in result.runs[:3]] == ["a new cluster"] * 3


def test_broken_runs_are_told_and_several_in_a_row_end_it(tmp_path: Path) -> None:
    backend = FakeExploreBackend(tmp_path / "log", break_at=[2])
    _, result = run_exploration(tmp_path, backend, 6)
    assert "a broker did not start" in result.runs[2].reasons[0]
    assert len(backend.starts) == 2
    backend = FakeExploreBackend(tmp_path / "log2", break_at=range(9))
    with pytest.raises(ClusterError, match="3 runs in a row broke") as caught:
        run_exploration(tmp_path, backend, 6)
    assert "--resume" in str(caught.value)


def test_refused_schedules_are_told_and_several_in_a_row_are_bad_input(tmp_path: Path) -> None:
    backend = FakeExploreBackend(tmp_path / "log", refuse_at=[1])
    _, result = run_exploration(tmp_path, backend, 4)
    assert "no such property" in result.runs[1].reasons
    assert len(backend.starts) == 1, "the cluster is none the worse for it"
    with pytest.raises(BadInput, match="the client refuses"):
        run_exploration(tmp_path, FakeExploreBackend(tmp_path / "log2", refuse_at=range(9)), 6)


def test_faults_that_the_machine_cannot_have_are_left_out(tmp_path: Path) -> None:
    backend = FakeExploreBackend(tmp_path / "log", impossible_=["pause-leader"])
    _, result = run_exploration(tmp_path, backend, 8)
    assert result.left_out == {"pause-leader": "no cgroup freezer"}
    assert not any("pause" in line for line in backend.lines())
    assert any(line.startswith("left out: pause-leader") for line in lines(result))
    assert "pause-leader" not in {row.what[0] for row in result.coverage.phases}
    faults = [{**fault, "if_impossible": "refuse"} for fault in SMALL["faults"]]
    with pytest.raises(BadInput, match="'pause-leader' is not possible"):
        run_exploration(tmp_path, backend, 8, faults=faults)
    with pytest.raises(BadInput, match="no fault of the menu"):
        run_exploration(
            tmp_path,
            FakeExploreBackend(tmp_path / "l", impossible_=[one["name"] for one in SMALL["faults"]]),
            8,
        )


def test_faults_that_the_options_rule_out_are_left_out(tmp_path: Path) -> None:
    upgrade = {"name": "upgrade", "fault": {"restart": {"version": "4.4.0"}}, "for": [1, 2]}
    backend = FakeExploreBackend(tmp_path / "log")
    options = small_options(tmp_path, 6, faults=[*SMALL["faults"], upgrade])
    image = ClusterOptions(image="ours/kafka:4.3.1")
    plan = plan_exploration(replace(options, cluster=image), None, 0)
    store = ExploreStore.created(tmp_path / "results", "small")
    result = Exploration(plan, store, "", backend).execute()
    assert "an `image` of your own" in result.left_out["upgrade"]
    assert "not possible here" in " ".join(lines(result))
    assert not any("upgrade" in line for line in backend.lines())
    options = small_options(tmp_path, 6, faults=[upgrade])
    alone = plan_exploration(replace(options, cluster=image), None, 0)
    with pytest.raises(BadInput, match="no fault of the menu is possible here") as caught:
        Exploration(alone, store, "", backend).execute()
    assert "an `image` of your own" in str(caught.value)


def stops(experiment: Experiment) -> bool:
    return any(one.fault.name() == "stop" for one in located_faults(experiment))


def test_a_fault_that_is_caused_in_another_way_here_is_run_and_kept_in_that_way(tmp_path: Path) -> None:
    class ByOtherMeans(FakeExploreBackend):
        def feasibility(self, experiments: Sequence[Experiment]) -> Feasibility:
            found = super().feasibility(experiments)
            experiment, skipped = found.possible["pause-leader"]
            (one,) = located_faults(experiment)
            stopped = with_faults(experiment, {one.where: Stop(target=one.fault.target)})
            found.possible["pause-leader"] = (stopped, skipped)
            return found

    _, result = run_exploration(tmp_path, ByOtherMeans(tmp_path / "log", fails=stops), 8)
    paused = [run for run in result.runs if any(one.name == "pause-leader" for one in run.trial.faults)]
    assert paused
    assert all(run.fails for run in paused)
    assert result.parsed_menu().fault("pause-leader").fault.name() == "stop"


def test_a_schedule_with_an_upgrade_begins_with_an_older_version() -> None:
    faults = [
        *SMALL["faults"],
        {"name": "up", "from": "4.1.1", "fault": {"restart": {"version": "4.3.1"}}, "for": [1, 2]},
        {"name": "newer", "from": "4.3.1", "fault": {"restart": {"version": "4.4.0"}}, "for": [1, 2]},
    ]
    menu = menu_of(faults=faults, cluster={"version": "4.4.0"})
    up, newer, kill = (menu.fault(name).alone() for name in ("up", "newer", "kill-leader"))
    both = Trial(faults=(*up.faults, *kill.faults))
    versions = [experiment_of(menu, one).cluster.version for one in (up, newer, kill, both)]
    assert versions == ["4.1.1", "4.3.1", "4.4.0", "4.1.1"]
    why = menu.why_impossible(Trial(faults=(*up.faults, *newer.faults)))
    assert why == "its faults begin with different versions: 4.1.1, 4.3.1"


def test_the_files_of_a_violation(tmp_path: Path) -> None:
    store, result = run_exploration(tmp_path, FakeExploreBackend(tmp_path / "log"), 60)
    (violation,) = result.violations
    experiment = experiment_files.load(str(store.folder / violation.experiment))
    alone = experiment_of(menu_of(), violation.minimal, name=experiment.name)
    assert experiment.arms[0] == alone.arms[0]
    assert experiment.steps == alone.steps
    assert [arm.name for arm in experiment.arms] == ["found", "defaults"]
    assert [arm.producer.acks for arm in experiment.arms] == ["1", "all"]
    test = (store.folder / violation.test).read_text()
    names = [one.name for one in ast.parse(test).body if isinstance(one, ast.FunctionDef)]
    assert names == [
        "test_no_lost_under_kill_leader_with_acks_1",
        "test_the_default_settings_keep_their_promise",
    ]
    assert f'"{violation.experiment}", arms=["found"], seed={violation.seed}' in test
    assert "repeat=1).assert_valid()" in test


def test_tables_and_report(tmp_path: Path) -> None:
    store, result = run_exploration(tmp_path, FakeExploreBackend(tmp_path / "log"), 30)
    sections = [one for one in explore_page(result).blocks if isinstance(one, Section)]
    (coverage,) = (one for one in sections if one.id == "coverage")
    assert [len(one.rows) for one in coverage.blocks if isinstance(one, Table)] == [3, 3, 3]
    header, rows = grid(phase_rows(result.parsed_menu(), result.coverage))
    assert header == ["fault", "target", "steady", "isr shrunk", "electing", "recovering"]
    assert rows[0][:2] == ("kill-leader", "leader: 0")
    assert rows[0][2] != "-"
    assert rows[0][3] == "-"
    header, rows = grid(pair_rows(result.coverage))
    assert [len(row) for row in rows] == [len(header)] * 3
    assert rows[0][2] == "", "each pair once"
    write_pages(result, store.folder)
    text = (store.folder / "report.md").read_text()
    assert "| violation | run | what |" in text
    assert text.count("\n| ") > len(result.runs)
    hostile = result.model_copy(update={"menu": {**result.menu, "title": "a|b <script>"}})
    assert "<script>" not in markdown.render(explore_page(hostile))
    assert "a\\|b &lt;script&gt;" in markdown.render(explore_page(hostile))


def test_progress_says_what_goes_on_and_how_much_is_left(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    store = ExploreStore.created(tmp_path / "results", "small")
    Exploration(
        plan_exploration(small_options(tmp_path, 20), None, 0),
        store,
        "",
        FakeExploreBackend(tmp_path / "log"),
    ).execute()
    heads = [line for line in caplog.messages if "left" in line]
    assert heads[0].startswith("run 1, 19 runs left, 0 violation(s) · exploring · ")
    assert any(" · shrinking violation 1 · " in line for line in heads)


def test_a_budget_of_time_ends_before_the_run_that_would_exceed_it(tmp_path: Path) -> None:
    store = ExploreStore.created(tmp_path / "results", "small")
    plan = plan_exploration(ExploreOptions(menu=small_options(tmp_path).menu, budget="1s", seed=3), None, 0)
    backend = FakeExploreBackend(tmp_path / "log")
    result = Exploration(plan, store, "", backend).execute()
    assert backend.lines() == []
    assert result.exit_code() == 3


@pytest.mark.parametrize(("text", "seconds"), [("20m", 1200), ("90s", 90), ("1.5h", 5400), (" 2 m", 120)])
def test_budgets(text: str, seconds: float) -> None:
    assert parse_seconds(text) == seconds


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--budget", "soon"), "a time like 20m"),
        (("--budget", "0m"), "a time like 20m"),
        (("--budget", "20m", "--runs", "3"), "given twice"),
        (("--confirm", "4/3"), "K/N"),
        (("--confirm", "often"), "K/N"),
        (("--menu", "none.yaml"), "none.yaml"),
        (("--profile", "slow"), "no timing profile"),
        (("--kafka-version", "3.2.0"), "cannot have this version"),
        (("--resume", "nowhere"), "there is no exploration here"),
    ],
)
def test_bad_options_are_refused(
    arguments: tuple[str, ...], says: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(explorer, "Exploration", lambda *_: pytest.fail("it was run"))
    code = call(monkeypatch, "explore", *arguments)
    assert says in capsys.readouterr().err
    assert code in (2, 3)
    assert (code == 3) == ("--resume" in arguments)


def test_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(monkeypatch, "explore", "--dry-run", "--seed", "1") == 0
    assert "to cover: 60 of fault and phase" in capsys.readouterr().out
    assert call(monkeypatch, "explore", "--show") == 0
    shown = capsys.readouterr().out
    jsonschema.validate(yaml.safe_load(shown.replace("1:", "'1':").replace("2:", "'2':")), MENU.json_schema())
    backend = FakeExploreBackend(tmp_path / "log", interrupt_at=20)
    monkeypatch.setattr(explorer, "DockerBackend", lambda: backend)
    menu = str(small_options(tmp_path).menu)
    options = ("--seed", "3", "--results", str(tmp_path / "results"))
    assert call(monkeypatch, "explore", "--menu", menu, "--runs", "30", "--confirm", "1/1", *options) == 130
    told = capsys.readouterr().err
    assert "interrupted; go on: kafka-chaos explore --resume" in told
    (folder,) = (tmp_path / "results").iterdir()
    assert (folder / "report.md").exists()
    assert call(monkeypatch, "explore", "--resume", str(folder), "--quiet") == 1
    out = capsys.readouterr().out
    assert "violation 1" in out
    assert "fault by phase" in out
    assert call(monkeypatch, "explore", "--resume", str(folder), "--quiet", "--json") == 1
    assert json.loads(capsys.readouterr().out) == json.loads((folder / "result.json").read_text())
