"""Programs of a user's own that the run starts, under a cut and a kill of the leader.

The arm with acks=1 is the control of the first: the leader acknowledges what its followers never get, and
dies. The others do what a program can do wrong, beside them: each is `unknown`, and disturbs nobody.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from harness.cluster.containers import docker_engine
from harness.model.journal import RUN_FILE
from harness.model.polling import poll_within
from harness.model.result import VerdictWord
from harness.report.run_page import write_report
from harness.run.executor import Options, run_on
from harness.spec.experiment import Experiment
from harness.spec.experiment_files import load
from tests.chaos.support.processes import applications_of, checked, owned_by
from tests.chaos.support.processes import started as command_under_way
from tests.chaos.support.suite import Started
from tests.support.paths import ROOT

pytestmark = [pytest.mark.chaos, pytest.mark.soak]

SHOP = (sys.executable, str(ROOT / "tests" / "support" / "shop_program.py"))
CLOSED = (sys.executable, "-c", "import sys; sys.exit('no configuration for the shop')")
WRONG = {
    "at-once": (CLOSED, "0 opened a journal; the program ended by itself with code 1 after"),
    "killed": (
        (*SHOP, "killed"),
        "shop.jsonl does not end with `end`: what was sent last is not known; the program ended by itself "
        "with code 137",
    ),
    "elsewhere": (
        (*SHOP, "elsewhere"),
        "in no sample did a broker have a record of it: the program wrote to another topic",
    ),
    "another-identity": ((*SHOP, "another-identity"), "it holds records of another identity"),
}


def _arm(name: str, command: tuple[str, ...], acks: str = "all", **promise: str) -> dict[str, Any]:
    """An arm whose program the run starts; without a command, one whose program the user starts."""
    own = {"command": command, "env": {"PYTHONPATH": str(ROOT)}} if command else {}
    workload = {"client": "own", "own": own}
    return {"name": name, "producer": {"acks": acks}, "promise": promise, "workload": workload}


SPEC = {
    "name": "started",
    "title": "The leader of programs that the run starts is cut off and dies",
    "topic": {"assignment": [[1, 2, 3]], "config": {"min.insync.replicas": 2}},
    "together": True,
    "steps": [
        {"write": {"name": "together", "seconds": 1}},
        {"inject": {"partition": {"from": {"leader": 0}, "to": {"followers": 0}}}},
        {"write": {"name": "alone", "seconds": 0.8}},
        # If the followers had left the ISR by now, none of them could be elected.
        {"wait": {"isr": 3, "within": 10}},
        {"inject": {"kill": {"target": {"leader": 0}}}},
        {"write": {"name": "after", "seconds": 2}},
        {"heal": None},
    ],
    "arms": [
        _arm("careful", (*SHOP, "well"), duplicate="any"),
        _arm("careless", (*SHOP, "events", "1"), "1", lost=">= 1", duplicate="any"),
        *(_arm(name, command) for name, (command, _) in WRONG.items()),
    ],
}


def test_programs_that_the_run_starts_are_accounted_for(started: Started, results: Path) -> None:
    """On the cluster of cut-then-kill, whose followers stay in the ISR from the cut to the kill."""
    cluster = started(load("cut-then-kill").cluster)
    folder, result = run_on(cluster, Experiment.model_validate(SPEC), Options(results=results, seed=5))
    arms = {arm.meta.arm: arm for arm in result.arms}
    for name in ("careful", "careless"):
        judgement = arms[name].judgement
        assert judgement.as_promised, (name, judgement, arms[name].meta.problems)
    assert arms["careful"].judgement.verdict is VerdictWord.VALID
    assert arms["careless"].judgement.verdict is VerdictWord.INVALID
    assert "gone after kill" in " ".join(arms["careless"].summary.blame)  # type: ignore[union-attr]
    for name, (_, words) in WRONG.items():
        judgement = arms[name].judgement
        assert judgement.verdict is VerdictWord.UNKNOWN, (name, judgement)
        assert any(words in reason for reason in judgement.reasons), (name, judgement.reasons)
        assert list((folder / name / "producers").glob("*.jsonl")) or name == "at-once", "journals are kept"
    for name, arm in arms.items():
        (told,) = arm.meta.programs
        assert told.stopped is False, (name, told)
        assert (folder / name / told.output).is_file()
    # Lines of the client about a broker that dies follow, on a busy machine more than the report shows.
    (careful,) = arms["careful"].meta.programs
    assert (folder / "careful" / careful.output).read_text().startswith("the shop opens: well")
    assert applications_of(os.getpid()) == [], "no program is left"
    page = write_report(result, folder).read_text()
    assert "no configuration for the shop" in page


BY_HAND = {
    "name": "by-hand",
    "title": "a program that the user starts, then one that the run starts",
    "cluster": {"brokers": 1, "combined": True},
    "topic": {"replication_factor": 1},
    "steps": [{"write": {"name": "load", "seconds": 300}}],
    "arms": [
        _arm("mine", ()),
        _arm("yours", (*SHOP, "well")),
    ],
}
EXPORT = re.compile(r"^export (\w+)=(\S+)$")


class Output:
    """The lines of a command under way, which a thread reads."""

    def __init__(self, command: subprocess.Popen[str]) -> None:
        self.lines: list[str] = []
        self._stream = command.stdout
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        assert self._stream is not None
        for line in self._stream:
            self.lines.append(line.rstrip("\n"))

    def exports(self) -> dict[str, str]:
        return dict(found.groups() for line in self.lines if (found := EXPORT.match(line)))  # type: ignore[misc]

    def whole(self) -> str:
        """All of it, once the command has ended."""
        self._thread.join(60)
        return "\n".join(self.lines)


@pytest.fixture
def harness(tmp_path: Path, results: Path) -> Iterator[subprocess.Popen[str]]:
    path, state = tmp_path / "by-hand.yaml", tmp_path / "state"
    path.write_text(json.dumps(BY_HAND))
    child = command_under_way(state, "run", str(path), "--quiet", "--results", str(results))
    try:
        yield child
    finally:
        if child.poll() is None:
            child.kill()
            child.wait()
        for cluster in state.glob("*/"):
            docker_engine.sweep(docker_engine.connect(), cluster=cluster.name)


def test_a_block_to_copy_starts_a_program_and_ctrl_c_leaves_none(
    harness: subprocess.Popen[str], results: Path
) -> None:
    output = Output(harness)

    def waiting() -> str | None:
        assert harness.poll() is None, output.whole()
        return None if len(output.exports()) == 4 else "no block yet"

    assert poll_within(300, waiting, every=0.2) is None, output.lines
    # The first arm: a program that ends its journal by itself ends the write step.
    begin = "print(json.dumps({'event': 'begin', 'producer': 0, 'run': int(os.environ['KAFKA_CHAOS_RUN']), "
    begin += "'topic': os.environ['KAFKA_CHAOS_TOPIC']}), file=journal)"
    program = (
        f"import json, os; journal = open(os.environ['KAFKA_CHAOS_JOURNAL'] + '/0.jsonl', 'w'); {begin}; "
        "print(json.dumps({'event': 'end'}), file=journal)"
    )
    subprocess.run([sys.executable, "-c", program], env={**os.environ, **output.exports()}, check=True)

    def written() -> str | None:
        assert harness.poll() is None, output.whole()
        files = list(results.glob("*/yours/producers/0.jsonl"))
        return None if files and '"acked"' in files[0].read_text() else "nothing is acknowledged yet"

    assert poll_within(300, written, every=0.2) is None, output.lines
    assert len(applications_of(harness.pid)) == 1
    harness.send_signal(signal.SIGINT)
    assert harness.wait(300) == 130, output.whole()
    assert "Traceback" not in output.whole()
    assert applications_of(harness.pid) == []
    assert owned_by(harness.pid) == []
    (run,) = results.glob("*/yours")
    assert "interrupted" in str(checked(run)["judgement"])
    (told,) = json.loads((run / RUN_FILE).read_text())["programs"]
    assert told["last_lines"] == "the shop opens: well"
    (run,) = results.glob("*/mine")
    assert "nothing was sent" in str(checked(run)["judgement"])
