"""The pytest plugin, by pytester: what it loads, takes, refuses and says. Brokers are stood in for."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import pytest

from harness.pytest_plugin import messages
from harness.pytest_plugin.cluster_pool import worker_ports
from harness.pytest_plugin.settings import ChaosBudget, ChaosSpent, parse_budget
from tests.support.builders.experiments import StandIns, install
from tests.support.paths import ROOT

pytestmark = pytest.mark.pure
pytest_plugins = ["pytester"]

IMAGE_LINE = messages.image_line

INSTALLED = any(one.value == "harness.pytest_plugin" for one in entry_points(group="pytest11"))
LOADED = () if INSTALLED else ("-p", "harness.pytest_plugin")
"""A checkout that was installed before it had the entry point is told of the plugin by hand."""
QUIET = ("-p", "no:cacheprovider", "-W", "ignore::pytest.PytestAssertRewriteWarning")


@pytest.fixture
def brokers(monkeypatch: pytest.MonkeyPatch) -> StandIns:
    return install(monkeypatch)


def run(pytester: pytest.Pytester, text: str, *arguments: str) -> pytest.RunResult:
    pytester.makepyfile(test_it=text)
    return pytester.runpytest_inprocess(*LOADED, *QUIET, *arguments)


def kept(pytester: pytest.Pytester) -> list[str]:
    folder = pytester.path / "chaos-results"
    return sorted(one.name for one in folder.iterdir() if one.name != "logs") if folder.exists() else []


def test_nothing_heavy_is_loaded_until_a_test_asks(tmp_path: Path) -> None:
    (tmp_path / "test_quick.py").write_text(
        "import sys\n"
        "import pytest\n"
        "@pytest.mark.chaos\n"
        "def test_quick():\n"
        "    heavy = {'pyspark', 'docker', 'testcontainers', 'confluent_kafka', 'pyarrow', 'pydantic'}\n"
        "    assert not heavy & set(sys.modules)\n"
        "    assert 'harness.pytest_plugin' in sys.modules\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "--strict-markers", *LOADED, str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_header_tells_version_seed_and_results(pytester: pytest.Pytester) -> None:
    done = run(pytester, "def test_quick(): pass", "--chaos-seed", "17", "--chaos-kafka-version", "3.9.2")
    done.stdout.fnmatch_lines(["kafka-chaos: Kafka 3.9.2, seed 17, results in chaos-results"])
    assert "sha256" not in done.stdout.str()


def test_the_digest_is_told_where_tests_will_use_the_image(
    pytester: pytest.Pytester, brokers: StandIns, monkeypatch: pytest.MonkeyPatch
) -> None:
    from harness.cluster.containers import docker_engine, images
    from tests.support.builders.experiments import IMAGE

    monkeypatch.setattr(messages, "image_line", IMAGE_LINE)
    monkeypatch.setattr(docker_engine, "connect", lambda: None)
    monkeypatch.setattr(images, "local", lambda _client, _version: IMAGE)
    done = run(pytester, "def test_it(chaos): pass")
    done.stdout.fnmatch_lines(["kafka-chaos: image apache/kafka:4.3.1 (local), sha256:12ab"])
    assert not brokers.clusters


def test_ini_settings_and_the_command_line_over_them(pytester: pytest.Pytester, brokers: StandIns) -> None:
    pytester.makeini(
        "[pytest]\nchaos_seed = 5\nchaos_kafka_version = 3.9.2\nchaos_profile = kafka\nchaos_results = left"
    )
    done = run(pytester, "def test_it(chaos): chaos('kill-leader', arms=['acks=all'])", "--chaos-seed", "6")
    done.assert_outcomes(passed=1)
    experiment, options = brokers.runs[0]
    assert (experiment.cluster.version, experiment.cluster.profile) == ("3.9.2", "kafka")
    assert (options.seed, options.arms) == (6, ("acks=all",))
    assert (pytester.path / "left").exists()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--chaos-budget", "much"), "--chaos-budget (ini: chaos_budget) is 'much'"),
        (("--chaos-seed", "x"), "a whole number"),
        (("--chaos-cluster-scope", "day"), "one of session, package, module, class, function"),
        (("--chaos-reuse", "maybe"), "one of yes, no"),
        (("--chaos-profile", "slow"), "one of kafka, fast"),
        (("--chaos-keep", "none"), "one of failed, all"),
    ],
)
def test_options_that_cannot_be_used_are_refused(
    arguments: tuple[str, ...], says: str, pytester: pytest.Pytester
) -> None:
    done = run(pytester, "def test_it(): pass", *arguments)
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    assert says in done.stderr.str()


def test_a_failure_shows_verdict_evidence_replay_and_report(
    pytester: pytest.Pytester, brokers: StandIns
) -> None:
    brokers.losses = {"acks=1": 380}
    done = run(
        pytester,
        "def test_it(chaos):\n    chaos('kill-leader', arms=['acks=1', 'acks=all'], seed=9).assert_lost(0)\n",
    )
    done.assert_outcomes(failed=1)
    done.stdout.fnmatch_lines(
        [
            "E*AssertionError: expected 0 lost in arm acks=1, found 380",
            "*- kafka-chaos -*",
            "acks=1: invalid",
            "*380 acknowledged records are lost*",
            "*lost: producer 0, seq 3, partition 1: acknowledged at offset 4711*during kill-1",
            "acks=all: valid",
            "image: apache/kafka:4.3.1, sha256:12ab",
            "seed: 9",
            "replay:",
            "*pytest test_it.py::test_it --chaos-replay *acks=1",
            "*kafka-chaos run *experiment.json --arm acks=1 --replay *acks=1",
            "report: *report.html",
        ]
    )
    report = next(line for line in done.outlines if line.startswith("report: ")).removeprefix("report: ")
    assert Path(report).is_file()
    assert "harness/pytest_plugin" not in done.stdout.str()


def test_the_verdict_follows_the_failure_and_progress_comes_after_it(
    pytester: pytest.Pytester, brokers: StandIns
) -> None:
    from harness.model.progress import LOGGER, report_progress

    def written() -> None:
        for seconds in range(94):
            report_progress(f"kill-leader · acks=1 · write steady · {seconds} s")
        report_progress("kill-leader · acks=1 · final read")

    brokers.losses, brokers.during = {"acks=1": 380}, written
    done = run(pytester, "def test_it(chaos): chaos('kill-leader', arms=['acks=1']).assert_lost(0)\n")
    done.stdout.fnmatch_lines(
        ["E*AssertionError: expected 0 lost*", "*- kafka-chaos -*", "acks=1: invalid", "*Captured log call*"]
    )
    assert done.stdout.str().count("write steady") == 1
    assert "final read" in done.stdout.str()
    assert not LOGGER.filters


def test_what_runs_leave_is_kept_of_failed_tests_only(pytester: pytest.Pytester, brokers: StandIns) -> None:
    text = (
        "def test_good(chaos): chaos('kill-leader', arms=['acks=all']).assert_lost()\n"
        "def test_bad(chaos): chaos('kill-leader', arms=['acks=1']).assert_lost()\n"
    )
    brokers.losses = {"acks=1": 1}
    run(pytester, text).assert_outcomes(passed=1, failed=1)
    assert [name.rpartition("-")[0] for name in kept(pytester)] == ["test_it.py-test_bad"]
    run(pytester, text, "--chaos-keep", "all")
    assert len(kept(pytester)) == 3


def test_what_cannot_be_told_is_no_success(pytester: pytest.Pytester, brokers: StandIns) -> None:
    brokers.losses = {"acks=all": None}
    text = (
        "def test_lost(chaos): chaos('kill-leader', arms=['acks=all']).assert_lost(0)\n"
        "def test_promise(chaos): chaos('kill-leader', arms=['acks=all']).assert_as_promised()\n"
        "def test_valid(chaos): chaos('kill-leader', arms=['acks=all']).assert_valid()\n"
        "def test_word(chaos):\n"
        "    result = chaos('kill-leader', arms=['acks=all'])\n"
        "    assert (result.verdict, result.as_promised) == ('unknown', False)\n"
    )
    done = run(pytester, text)
    done.assert_outcomes(failed=3, passed=1)
    done.stdout.fnmatch_lines(["*proves nothing: its verdict is unknown", "*the final read is not complete*"])


def test_the_marker_names_what_runs(pytester: pytest.Pytester, brokers: StandIns) -> None:
    text = (
        "import pytest\n"
        "pytestmark = pytest.mark.chaos\n"
        "@pytest.mark.chaos('kill-leader', arms='acks=1', seed=3, version='3.9.2')\n"
        "def test_marked(chaos):\n"
        "    result = chaos()\n"
        "    assert [arm.folder for arm in result.arms] == ['acks=1']\n"
        "def test_bare(): pass\n"
    )
    run(pytester, text, "--strict-markers").assert_outcomes(passed=2)
    experiment, options = brokers.runs[0]
    assert (experiment.cluster.version, options.seed) == ("3.9.2", 3)
    run(pytester, text, "-m", "chaos").assert_outcomes(passed=2)


def test_chaos_arm_is_each_arm(pytester: pytest.Pytester, brokers: StandIns) -> None:
    text = (
        "import pytest\n"
        "@pytest.mark.chaos('cut-then-kill')\n"
        "def test_it(chaos, chaos_arm): chaos(arms=[chaos_arm]).assert_as_promised()\n"
    )
    brokers.losses = {"acks=1": 500}
    done = run(pytester, text, "-v")
    done.assert_outcomes(passed=2)
    done.stdout.fnmatch_lines(["*test_it[[]acks=1[]] PASSED*", "*test_it[[]acks=all[]] PASSED*"])
    assert len(brokers.clusters) == 1


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("@pytest.mark.chaos('kill-leader')\ndef test_it(): pass", "does not take the fixture `chaos`"),
        ("@pytest.mark.chaos('kill-leader', arm='x')\ndef test_it(chaos): pass", "unexpected keyword"),
        ("@pytest.mark.chaos('a', 'b')\ndef test_it(chaos): pass", "too many positional"),
    ],
)
def test_a_marker_of_which_nothing_would_come_is_refused(
    text: str, says: str, pytester: pytest.Pytester
) -> None:
    done = run(pytester, f"import pytest\n{text}\n")
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    assert says in done.stderr.str()


@pytest.mark.parametrize(
    ("call", "says"),
    [
        ("chaos('kill-leadr')", "did you mean 'kill-leader'"),
        ("chaos('kill-leader', arms=['acks=2'])", "no arm is called 'acks=2'"),
        ("chaos('kill-leader', arms=['acks=al'])", "next:     did you mean 'acks=all'?"),
        ("chaos('kill-leader', arms=['x'])", "next:     name one of these, or no arm to run all"),
        ("chaos()", "no experiment is named"),
        ("chaos({'name': 'x', 'titel': 'y'})", "did you mean 'title'"),
        ("chaos({'name': object()})", "as in an experiment file"),
        ("chaos('none.yaml')", "cannot be read"),
    ],
)
def test_what_cannot_be_run_ends_the_test_without_a_traceback(
    call: str, says: str, pytester: pytest.Pytester, brokers: StandIns
) -> None:
    done = run(pytester, f"def test_it(chaos):\n    {call}\n")
    done.assert_outcomes(failed=1)
    assert says in done.stdout.str()
    assert "Traceback" not in done.stdout.str()
    assert "pytest_plugin" not in done.stdout.str()
    assert not brokers.clusters


def test_experiments_as_file_beside_the_test_dict_and_object(
    pytester: pytest.Pytester, brokers: StandIns
) -> None:
    from harness.spec.experiment_files import EXPERIMENT

    folder = pytester.mkpydir("inner")
    (folder / "mine.yaml").write_text(EXPERIMENT.builtin_text("cut-then-kill"))
    (folder / "test_inner.py").write_text(
        "from harness.spec.experiment_files import load\n"
        "def test_file(chaos): chaos('mine.yaml', arms=['acks=all'])\n"
        "def test_dict(chaos):\n"
        "    steps = [{'write': {'name': 'w', 'seconds': 1}}]\n"
        "    chaos({'name': 'x', 'title': 'y', 'steps': steps, 'arms': [{'name': 'a'}]})\n"
        "def test_object(chaos): chaos(load('storm'))\n"
    )
    done = pytester.runpytest_inprocess(*LOADED, "-p", "no:cacheprovider")
    done.assert_outcomes(passed=3)
    assert [experiment.name for experiment, _ in brokers.runs] == ["cut-then-kill", "x", "storm"]


def test_a_run_is_replayed_with_its_seed_and_arm(pytester: pytest.Pytester, brokers: StandIns) -> None:
    brokers.losses = {"acks=1": 7}
    text = "def test_it(chaos): chaos('kill-leader', arms=['acks=1', 'acks=all'], seed=41).assert_lost()\n"
    first = run(pytester, text)
    told = next(line for line in first.outlines if "--chaos-replay" in line).split()
    done = pytester.runpytest_inprocess(*LOADED, *told[1:])
    done.assert_outcomes(failed=1)
    experiment, options = brokers.runs[-1]
    assert (options.seed, options.arms) == (41, ("acks=1",))
    # The stand-in journaled no fault, so the replay has none: it is the journal that says.
    (step,) = [step for step in experiment.steps if step.write is not None]
    assert step.write is not None
    assert step.write.faults == ()


def test_a_run_of_something_else_is_not_replayed(pytester: pytest.Pytester, brokers: StandIns) -> None:
    brokers.losses = {"acks=1": 7}
    first = run(pytester, "def test_it(chaos): chaos('kill-leader', arms=['acks=1']).assert_lost()\n")
    folder = next(line for line in first.outlines if "--chaos-replay" in line).split()[-1]
    done = run(pytester, "def test_it(chaos): chaos('storm')\n", "--chaos-replay", folder)
    done.assert_outcomes(failed=1)
    assert "not one of this experiment" in done.stdout.str()
    done = run(pytester, "def test_it(chaos): chaos('storm')\n", "--chaos-replay", "nowhere")
    assert "not a run folder" in done.stdout.str()


def test_a_spent_budget_skips_the_rest(pytester: pytest.Pytester, brokers: StandIns) -> None:
    text = (
        "def test_a(chaos): chaos('kill-leader', arms=['acks=all'])\n"
        "def test_b(chaos): chaos('kill-leader', arms=['acks=all'])\n"
        "def test_c(chaos): chaos('kill-leader', arms=['acks=all'])\n"
    )
    done = run(pytester, text, "--chaos-budget", "2 faults", "-rs")
    assert len(brokers.runs) == 2
    done.assert_outcomes(passed=2, skipped=1)
    done.stdout.fnmatch_lines(["SKIPPED*chaos budget is spent: 2 of 2 faults were injected"])
    run(pytester, text, "--chaos-budget", "1h").assert_outcomes(passed=3)


def test_budgets_are_read() -> None:
    assert parse_budget("10m, 20 faults") == ChaosBudget(600, 20)
    assert parse_budget("90s") == ChaosBudget(90)
    assert parse_budget(None) == ChaosBudget()
    assert ChaosBudget(600, 20).exceeded(ChaosSpent(599, 19)) is None
    assert ChaosBudget(600).exceeded(ChaosSpent(600, 0)) is not None


def test_one_cluster_serves_all_that_want_an_equal_one(pytester: pytest.Pytester, brokers: StandIns) -> None:
    text = (
        "def test_a(kafka_cluster, chaos):\n"
        "    assert kafka_cluster.bootstrap\n"
        "    chaos('kill-leader', arms=['acks=all'])\n"
        "def test_b(chaos): chaos('storm', arms=['acks=1'])\n"
    )
    run(pytester, text).assert_outcomes(passed=2)
    assert [cluster.stopped for cluster in brokers.clusters] == [True]
    run(pytester, text, "--chaos-reuse", "no", "--chaos-cluster-scope", "function")
    assert [cluster.stopped for cluster in brokers.clusters[1:]] == [True, True, True]


def test_what_others_held_is_healed_and_what_nobody_holds_makes_room(
    pytester: pytest.Pytester, brokers: StandIns
) -> None:
    text = (
        "def test_a(kafka_cluster): pass\n"
        "def test_b(kafka_cluster): pass\n"
        "def test_c(chaos): chaos('kill-leader', arms=['acks=all'])\n"
    )
    run(pytester, text, "--chaos-cluster-scope", "function").assert_outcomes(passed=3)
    assert (len(brokers.clusters), brokers.healed) == (1, 2)
    other = "def kafka_cluster_spec(): return {'brokers': 1}"
    pytester.makeconftest(f"import pytest\n@pytest.fixture(scope='session')\n{other}\n")
    run(pytester, text, "--chaos-cluster-scope", "function").assert_outcomes(passed=3)
    assert [cluster.spec.brokers for cluster in brokers.clusters[1:]] == [1, 3]
    brokers.clean = False
    run(pytester, text, "--chaos-cluster-scope", "function").assert_outcomes(passed=3)
    assert [cluster.spec.brokers for cluster in brokers.clusters[3:]] == [1, 1, 3]


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ({"broker": 1}, "did you mean 'brokers'?"),
        (
            {"metadata": "zookeeper", "features": {"share.version": 1}, "version": "3.9.2"},
            "found:    only KRaft clusters have `features`",
        ),
    ],
)
def test_a_cluster_that_cannot_be_described_ends_in_words(
    pytester: pytest.Pytester, brokers: StandIns, spec: dict[str, Any], said: str
) -> None:
    pytester.makeconftest(
        f"import pytest\n@pytest.fixture(scope='session')\ndef kafka_cluster_spec(): return {spec}\n"
    )
    done = run(pytester, "def test_it(kafka_cluster): pass\n")
    done.assert_outcomes(errors=1)
    assert "where:    kafka_cluster_spec" in done.stdout.str()
    assert said in done.stdout.str()
    assert not brokers.clusters


def test_a_machine_without_docker_fails_or_skips(
    pytester: pytest.Pytester, brokers: StandIns, monkeypatch: pytest.MonkeyPatch
) -> None:
    from harness.model.errors import PrerequisiteMissing
    from harness.pytest_plugin import cluster_pool

    def missing(*_: object, **__: object) -> None:
        raise PrerequisiteMissing("there is no Docker engine", next_step="start Docker")

    monkeypatch.setattr(cluster_pool, "ManagedCluster", missing)
    text = "def test_a(chaos): chaos('storm')\ndef test_b(kafka_cluster): pass\n"
    done = run(pytester, text)
    done.assert_outcomes(failed=1, errors=1)
    assert "start Docker" in done.stdout.str()
    run(pytester, text, "--chaos-missing", "skip").assert_outcomes(skipped=2)
    assert not brokers.runs


FOLLOWING = """
def test_it(chaos):
    with chaos.started('kill-leader', arm='acks=all') as run:
        assert run.topic == 't'
        assert run.bootstrap
        result = run.wait()
    result.assert_delivered({seen}, exactly_once={once})
"""


@pytest.mark.parametrize(
    ("seen", "once", "says"),
    [
        ("[(0, 0), (1, 1), (0, 2), (1, 3)]", True, None),
        ("[(0, 0), (1, 1), (0, 2), (1, 3), (1, 3)]", False, None),
        ("[(0, 0), (1, 1), (0, 2), (1, 3), (1, 3)]", True, "1 record(s) were processed more than once*1:3"),
        ("[(0, 0), (1, 1), (0, 2)]", False, "1 record(s) were never processed, of 4 in the topic*1:3"),
        ("[(0, 0), (1, 1), (0, 2), (1, 3), (1, 9)]", False, "1 record(s) are not in the topic*1:9"),
    ],
)
def test_an_application_is_held_against_the_final_read(
    seen: str, once: bool, says: str | None, pytester: pytest.Pytester, brokers: StandIns
) -> None:
    done = run(pytester, FOLLOWING.format(seen=seen, once=once))
    done.assert_outcomes(passed=1 if says is None else 0, failed=0 if says is None else 1)
    if says is not None:
        done.stdout.fnmatch_lines([f"E*{says}*", "E*kill-1 (broker 1)*"])
    assert len(brokers.runs) == 1


JOURNALED = """
from kafka_chaos import ConsumerJournal

def test_it(chaos):
    with chaos.started('kill-leader', arm='acks=all') as run:
        journal = ConsumerJournal('g', 'a')
        journal.assigned([0, 1])
        {early}
        journal.processed([(0, 0), (1, 1), (0, 2), (1, 3)])
        result = run.wait()
    result.assert_delivered(lambda: [journal], exactly_once=True)
"""


@pytest.fixture
def protobuf() -> None:
    """Imports what an engine's session needs, since the pytest within this one forgets its imports."""
    import pyspark.sql.connect.session  # noqa: F401


@pytest.mark.usefixtures("protobuf")
@pytest.mark.parametrize(
    ("early", "says"),
    [
        ("", None),
        ("journal.committed([(0, 3)], asked_ns=1)", "commit_ahead: a of group g committed offset 3"),
    ],
)
def test_the_journals_of_an_application_are_held_against_its_commits(
    early: str,
    says: str | None,
    pytester: pytest.Pytester,
    brokers: StandIns,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from harness.pytest_plugin import own_group

    monkeypatch.setattr(own_group, "_AGAIN_SECONDS", 0.0)
    done = run(pytester, JOURNALED.format(early=early))
    done.assert_outcomes(passed=1 if says is None else 0, failed=0 if says is None else 1)
    if says is not None:
        done.stdout.fnmatch_lines(["E*every record was processed, but progress was not kept*", f"E*{says}*"])
    assert len(brokers.runs) == 1


NOTHING = """
import threading

def order(producer, seq):
    return None, "{{}}", None

def consume():
    raise ValueError("Expecting value: line 1 column 1")

def test_it(chaos):
    with chaos.started('kill-leader', arm='acks=all'{payload}) as run:
        consumer = threading.Thread(target=consume)
        consumer.start()
        consumer.join()
        result = run.wait()
    result.assert_delivered([]{error})
"""


@pytest.mark.parametrize(
    ("payload", "error", "says", "parseable"),
    [
        ("", "", "ValueError: Expecting value: line 1 column 1", False),
        ("", ", last_error=KeyError('amount')", "KeyError: 'amount'", False),
        ("", ", last_error=lambda: 'the log of the consumer'", "the log of the consumer", False),
        (", payload={'json': {'order': '$seq'}}", "", "ValueError: Expecting value", True),
        (", payload=order", "", "ValueError: Expecting value", True),
    ],
)
def test_an_application_that_processed_nothing_is_told_why(
    payload: str, error: str, says: str, parseable: bool, pytester: pytest.Pytester, brokers: StandIns
) -> None:
    done = run(
        pytester,
        NOTHING.format(payload=payload, error=error),
        "-W",
        "ignore::pytest.PytestUnhandledThreadExceptionWarning",
    )
    done.assert_outcomes(failed=1)
    text = done.stdout.str()
    assert f"nothing at all was processed. Its last error: {says}" in text
    assert ("Without `payload` in the workload" in text) is not parseable
    assert len(brokers.runs) == 1


def test_a_payload_that_cannot_be_ends_the_test(pytester: pytest.Pytester, brokers: StandIns) -> None:
    done = run(pytester, "def test_it(chaos):\n    chaos('kill-leader', payload={'xml': 1})\n")
    done.assert_outcomes(failed=1)
    assert "the records of this experiment cannot hold this payload" in done.stdout.str()
    assert not brokers.runs


def test_a_run_that_breaks_in_the_background_ends_the_test(
    pytester: pytest.Pytester, brokers: StandIns
) -> None:
    from harness.model.errors import ClusterError

    def broken() -> None:
        raise ClusterError("a node ended")

    brokers.during = broken
    text = (
        "def test_it(chaos):\n"
        "    with chaos.started('kill-leader', arm='acks=all') as run:\n"
        "        run.wait()\n"
        "def test_unwaited(chaos):\n"
        "    with chaos.started('kill-leader', arm='acks=all'): pass\n"
        "def test_two_arms(chaos):\n"
        "    with chaos.started('kill-leader'): pass\n"
    )
    done = run(pytester, text)
    done.assert_outcomes(failed=3)
    assert done.stdout.str().count("a node ended") >= 2
    assert "an application can follow one arm only" in done.stdout.str()
    done.stdout.fnmatch_lines(["no experiment of this test was finished; its files: *"])


def test_an_application_has_time_to_catch_up(pytester: pytest.Pytester, brokers: StandIns) -> None:
    text = (
        "def test_it(chaos):\n"
        "    seen = []\n"
        "    places = iter([(0, 0), (1, 1), (0, 2), (1, 3)])\n"
        "    def look():\n"
        "        seen.append(next(places))\n"
        "        return seen\n"
        "    result = chaos('kill-leader', arms=['acks=all'])\n"
        "    result.assert_delivered(look, within=60, exactly_once=True)\n"
    )
    run(pytester, text).assert_outcomes(passed=1)
    assert len(brokers.runs) == 1


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        ("{'kil': {'target': {'leader': 0}}}", "did you mean 'kill'?"),
        ("{'kill': {'target': {'leader': -1}}}", "greater than or equal to 0"),
    ],
)
def test_a_fault_that_cannot_be_used_ends_the_test(
    fault: str, says: str, pytester: pytest.Pytester, brokers: StandIns
) -> None:
    text = (
        "def test_it(kafka_cluster, chaos):\n"
        f"    with chaos.fault({fault}, on=kafka_cluster, topic='t'): assert False\n"
    )
    done = run(pytester, text)
    done.assert_outcomes(failed=1)
    done.stdout.fnmatch_lines(["kafka-chaos: *", "*where: *the fault of the test*", f"*{says}*"])
    assert "Traceback" not in done.stdout.str()
    assert not brokers.runs


def test_junit_xml_holds_verdict_image_and_seed(pytester: pytest.Pytester, brokers: StandIns) -> None:
    text = "def test_it(chaos): chaos('kill-leader', arms=['acks=all'], seed=4)\n"
    run(pytester, text, "--junit-xml", "out.xml")
    xml = (pytester.path / "out.xml").read_text()
    assert '<property name="kafka_chaos_verdict" value="valid"' in xml
    assert 'value="apache/kafka:4.3.1 sha256:12ab"' in xml
    assert '<property name="kafka_chaos_seed" value="4"' in xml
    assert len(brokers.runs) == 1


def test_workers_never_choose_the_same_ports() -> None:
    shares = [set(worker_ports(50, worker, 3)) for worker in range(3)]
    assert all(len(share) == 50 for share in shares)
    assert len(set.union(*shares)) == 150


@pytest.mark.soak  # three processes that import everything
def test_xdist_workers_have_clusters_and_ports_of_their_own(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("xdist")
    # Workers are processes of their own: the stand-ins are installed by their conftest, from this checkout.
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    pytester.makeconftest(
        "import pytest\n"
        "from tests.support.builders.experiments import install\n"
        "install(pytest.MonkeyPatch())\n"
    )
    pytester.makepyfile(
        test_it="import os, pytest\n"
        "@pytest.mark.parametrize('n', range(6))\n"
        "def test_it(kafka_cluster, pytestconfig, n):\n"
        "    from harness.pytest_plugin import _SETTINGS\n"
        "    seed = pytestconfig.stash[_SETTINGS].seed\n"
        "    worker = os.environ['PYTEST_XDIST_WORKER']\n"
        "    with open(f'{worker}.txt', 'a') as file:\n"
        "        print(seed, *kafka_cluster.ports, file=file)\n"
    )
    done = pytester.runpytest_subprocess(*LOADED, "-p", "no:cacheprovider", "-n", "2")
    done.assert_outcomes(passed=6)
    told = {path.stem: set(path.read_text().splitlines()) for path in pytester.path.glob("gw*.txt")}
    assert set(told) == {"gw0", "gw1"}
    assert all(len(lines) == 1 for lines in told.values()), "one cluster a worker"
    (first,), (second,) = (told[worker] for worker in ("gw0", "gw1"))
    assert first.split()[0] == second.split()[0], "one seed for all"
    assert not set(first.split()[1:]) & set(second.split()[1:])


def test_no_module_of_the_plugin_hides_a_fixture() -> None:
    # Importing a submodule sets an attribute of its package, which is where pytest finds the fixtures.
    modules = {path.stem for path in Path(messages.__file__).parent.glob("*.py")}
    assert not modules & {"chaos", "chaos_arm", "kafka_cluster", "kafka_cluster_spec"}


def _reports(done: pytest.RunResult) -> list[str]:
    """The text of each report that the output names."""
    return [
        Path(line.removeprefix("report: ")).read_text()
        for line in done.outlines
        if line.startswith("report: ")
    ]


def test_a_failed_assertion_is_in_the_report_of_its_run_alone(
    pytester: pytest.Pytester, brokers: StandIns
) -> None:
    text = (
        "def test_it(chaos):\n"
        "    first = chaos('kill-leader', arms=['acks=1'])\n"
        "    second = chaos('cut-then-kill', arms=['acks=all'])\n"
        "    second.arm('acks=all').assert_delivered([(0, 0), (1, 1), (0, 2)])\n"
    )
    done = run(pytester, text)
    done.assert_outcomes(failed=1)
    assert len(brokers.runs) == 2
    green, red = _reports(done)
    assert "The only arm did as promised" in green
    assert "failed" not in green.partition("<body>")[2]
    assert "The test test_it.py::test_it failed; the only arm did as promised" in red
    assert '<p class="outcome bad">' in red
    assert "1 record(s) were never processed, of 4 in the topic: partition:offset 1:3" in red
    assert "no consumer group of yours has committed an offset of this topic" in red


def test_another_failure_is_in_the_reports_of_all_runs_of_the_test(
    pytester: pytest.Pytester, brokers: StandIns
) -> None:
    text = (
        "def test_it(chaos):\n"
        "    assert chaos('kill-leader', arms=['acks=1']).lost == 0\n"
        "    chaos('cut-then-kill', arms=['acks=all'], seed=3)\n"
        "    raise ValueError('<b>the ledger is empty</b>' + 'x' * 9000)\n"
    )
    done = run(pytester, text)
    done.assert_outcomes(failed=1)
    found = _reports(done)
    for report in found:
        assert "ValueError: &lt;b&gt;the ledger is empty&lt;/b&gt;xxx" in report
        assert "x ... (9,038 characters)" in report
    assert len(found) == len(brokers.runs) == 2


def test_a_report_that_cannot_be_written_anew_does_not_hide_the_failure(
    pytester: pytest.Pytester, brokers: StandIns
) -> None:
    text = (
        "def test_it(chaos):\n"
        "    result = chaos('kill-leader', arms=['acks=1'])\n"
        "    (result.folder / 'result.json').write_text('{')\n"
        "    result.assert_lost(5)\n"
    )
    done = run(pytester, text)
    done.assert_outcomes(failed=1)
    done.stdout.fnmatch_lines(["E*expected 5 lost in arm acks=1, found 0", "the report does not show this *"])
    assert len(brokers.runs) == 1


def test_an_expected_failure_is_in_no_report(pytester: pytest.Pytester, brokers: StandIns) -> None:
    text = (
        "import pytest\n"
        "def test_it(chaos):\n"
        "    result = chaos('kill-leader', arms=['acks=1'])\n"
        "    with pytest.raises(AssertionError): result.assert_lost(5)\n"
    )
    run(pytester, text, "--chaos-keep", "all").assert_outcomes(passed=1)
    assert len(brokers.runs) == 1
    (report,) = pytester.path.rglob("report.html")
    assert "failed" not in report.read_text().partition("<body>")[2]


def test_groups_of_the_cluster_are_asked(pytester: pytest.Pytester, brokers: StandIns) -> None:
    brokers.during = lambda: brokers.clusters[-1].commits.update({"ledger": {1: 4}})
    done = run(pytester, FOLLOWING.format(seen="[(0, 0), (1, 1), (0, 2)]", once=False))
    done.assert_outcomes(failed=1)
    done.stdout.fnmatch_lines(
        ["E*1:3", "E*group ledger has committed offset 4 of partition 1: 1 of the 1 missing here*"]
    )
