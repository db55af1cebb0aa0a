"""Programs that a run starts: what is told of each that does not do what it should, and that none stays.

The program is `tests/support/journaling_program.py`; no broker is needed.
"""

from __future__ import annotations

import logging
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from harness.model.host import processes
from harness.model.journal import SENDS_DIR
from harness.model.journal_reader import journal_rows
from harness.model.polling import poll_within
from harness.model.progress import NOTICES
from tests.support.paths import ROOT
from workloads.own.own_producers import OwnProducers
from workloads.own.own_programs import OwnPrograms, own_producers
from workloads.own.producer_folder import PRODUCERS_DIR
from workloads.records.config.own_producer_spec import OwnProducerSpec
from workloads.records.config.producer_settings import ProducerSettings
from workloads.records.config.workload_spec import WorkloadSpec
from workloads.records.producer.send_journal import SendJournal

pytestmark = pytest.mark.pure

PROGRAM = str(ROOT / "tests" / "support" / "journaling_program.py")
LONG = 60.0


class Arm:
    """An arm whose producers are the user's, from the creation of its topic to the end of the run."""

    def __init__(self, folder: Path, own: OwnProducerSpec, producers: int, stack: ExitStack) -> None:
        setting: Any = SimpleNamespace(
            arm=SimpleNamespace(name="ours", producer=ProducerSettings()),
            cluster=SimpleNamespace(name=f"kc-{uuid.uuid4().hex[:8]}", bootstrap="127.0.0.1:1", proxies=None),
            folder=folder,
            run_id=5,
            topic="orders",
            workload_spec=WorkloadSpec(client="own", own=own, producers=producers),
        )
        self._folder = folder
        self.journal = stack.enter_context(SendJournal(folder / SENDS_DIR, "orders"))
        clients: Any = SimpleNamespace(sends=self.journal, transactions=None)
        self.workload = OwnPrograms(setting)
        self.workload.created()
        self.workload.connect(clients, stack)
        self.producers: OwnProducers = own_producers(setting, clients, [self.workload])
        stack.callback(self.producers.close)

    def carry_out(self, *, seconds: float = LONG, close: float = LONG) -> tuple[str, ...]:
        """The whole run with one write step; returns what was wrong."""
        self.producers.ready(seconds)
        self.producers.start(0, seconds=0.5 if self.running else LONG)
        self.producers.finish()
        self.producers.stop()
        self.producers.close(close)
        return self.problems

    @property
    def running(self) -> bool:
        return self.workload.started is not None and not self.workload.started.ended

    @property
    def problems(self) -> tuple[str, ...]:
        return (*self.producers.problems, *self.workload.problems)

    def sends(self) -> int:
        self.journal.close()
        return len(list(journal_rows(self._folder / SENDS_DIR)))


MakeArm = Callable[..., Arm]


@pytest.fixture
def arm(tmp_path: Path) -> Iterator[MakeArm]:
    with ExitStack() as stack:

        def make(*command: str, producers: int = 1, **own: Any) -> Arm:
            spec = OwnProducerSpec(command=command or None, **own)
            return Arm(tmp_path, spec, producers, stack)

        yield make


def program(how: str, *more: str) -> tuple[str, ...]:
    return (sys.executable, PROGRAM, how, *more)


def test_a_program_is_started_told_when_to_end_and_its_output_is_kept(arm: MakeArm, tmp_path: Path) -> None:
    one = arm(*program("well"))
    assert one.carry_out() == ()
    assert one.sends() == 3
    meta = one.workload.meta()
    (told,) = meta["programs"]
    assert (told.name, told.code, told.stopped) == ("program", 0, False)
    assert told.started_ns < told.ended_ns
    assert told.last_lines == "the program runs well"
    assert (tmp_path / told.output).read_text() == "the program runs well\n"
    assert meta["remarks"] == ()


def test_one_process_for_each_producer_if_the_command_names_its_number(arm: MakeArm, tmp_path: Path) -> None:
    one = arm(*program("well", "{producer}"), producers=3)
    assert one.carry_out() == ()
    assert one.sends() == 9
    assert [told.name for told in one.workload.meta()["programs"]] == [
        f"program of producer {number}" for number in range(3)
    ]
    assert sorted(path.name for path in (tmp_path / PRODUCERS_DIR).glob("*.log")) == [
        f"program-{number}.log" for number in range(3)
    ]


@pytest.mark.parametrize(
    ("how", "words"),
    [
        (
            "at-once",
            "1 producer(s) of your own were expected, 0 opened a journal; the program ended by itself with "
            "code 1 after ",
        ),
        ("half", "0.jsonl does not end with `end` and its last line has no line end: the program ended"),
        ("half", "the program ended by itself with code 0 after "),
        (
            "killed",
            "0.jsonl does not end with `end`: what was sent last is not known; the program ended by it",
        ),
        ("killed", "with code 137"),
        (
            "no-end",
            "0.jsonl does not end with `end`: what was sent last is not known; the program ended by it",
        ),
        ("other-run", "the events are of another run"),
        ("other-topic", "the events are of another topic"),
        ("acked-without-sent", "a report is about no open send"),
    ],
)
def test_what_goes_wrong_is_one_problem(how: str, words: str, arm: MakeArm) -> None:
    one = arm(*program(how))
    (problem,) = one.carry_out()
    assert words in problem


def test_the_last_lines_of_a_program_that_ends_at_once_are_told(arm: MakeArm) -> None:
    began = time.monotonic()
    (problem,) = arm(*program("at-once")).carry_out()
    assert problem.endswith(
        "its last lines: the program runs at-once\n            no configuration for the shop"
    )
    assert time.monotonic() - began < LONG, "nobody waits for a program that has ended"


def test_a_program_that_writes_no_journal_is_ended_and_told(arm: MakeArm) -> None:
    one = arm(*program("silent"))
    (problem,) = one.carry_out(seconds=0.5)
    assert "0 opened a journal; the program was ended by the run after" in problem
    assert "the program runs silent" in problem
    assert not one.running


def test_a_journal_that_is_opened_after_the_step_is_a_problem(arm: MakeArm) -> None:
    one = arm(*program("late"))
    one.producers.ready(0.0)
    one.producers.start(0, seconds=0.0)
    one.producers.finish()
    one.producers.stop()
    opened = lambda: None if list((one._folder / PRODUCERS_DIR).glob("*.jsonl")) else "not yet"  # noqa: E731
    assert poll_within(LONG, opened) is None
    one.producers.close(LONG)
    (problem,) = one.problems
    assert problem.startswith(
        "1 producer(s) opened a journal after the write steps had ended, so that no fault"
    )


def test_a_program_that_cannot_be_started_is_a_problem(arm: MakeArm, tmp_path: Path) -> None:
    (tmp_path / "shop").write_text("#!/no/such/interpreter\n")
    (tmp_path / "shop").chmod(0o755)
    one = arm(str(tmp_path / "shop"))
    (problem,) = one.carry_out()
    assert problem.startswith("the program cannot be started")
    (told,) = one.workload.meta()["programs"]
    assert (told.started_ns, told.ended_ns, told.code) == (0, None, None)
    assert told.last_lines.startswith("the program cannot be started")


def test_a_code_of_a_program_with_a_whole_journal_is_a_remark(arm: MakeArm) -> None:
    """What it sent is known, so that records that Kafka lost stay lost."""
    one = arm(*program("fails-after-end"))
    assert one.carry_out() == ()
    (remark,) = one.workload.meta()["remarks"]
    assert remark.startswith("the program ended by itself with code 3 after ")


def test_how_long_the_end_of_a_journal_was_waited_for_is_told(arm: MakeArm) -> None:
    one = arm(*program("deaf"))
    (problem,) = one.carry_out(close=1.0)
    assert (
        "0.jsonl does not end with `end` within 1 s of the write steps (`own: {close_seconds: N}`)" in problem
    )
    assert "the program was ended by the run after" in problem
    (told,) = one.workload.meta()["programs"]
    assert (told.stopped, told.code) == (True, 137)


def test_a_program_may_close_its_journal_when_it_is_asked_to_end(arm: MakeArm) -> None:
    one = arm(*program("on-term"))
    assert one.carry_out(close=1.0) == ()
    (told,) = one.workload.meta()["programs"]
    assert (told.stopped, told.code) == (True, 0)


def test_a_program_is_asked_to_end_once(tmp_path: Path) -> None:
    """A second SIGTERM would end one that has given up its handler, and is about to end by itself."""
    script = (
        "import signal, sys, time; asked = []; signal.signal(signal.SIGTERM, lambda *_: asked.append(1))\n"
        "print('up', flush=True)\nwhile not asked: time.sleep(0.01)\n"
        "time.sleep(1 + int(sys.argv[1])); print(f'asked {len(asked)}', flush=True)"
    )
    with ExitStack() as stack:
        command = (sys.executable, "-c", script, "{producer}")
        one = Arm(tmp_path, OwnProducerSpec(command=command), 2, stack)
        logs = [tmp_path / PRODUCERS_DIR / f"program-{number}.log" for number in range(2)]
        for log in logs:
            assert poll_within(LONG, lambda log=log: None if "up" in log.read_text() else "silent") is None
        assert one.workload.started is not None
        one.workload.started.stop(LONG)
        assert ["asked 1" in log.read_text() for log in logs] == [True, True]


def test_a_program_that_stays_after_its_end_is_ended(arm: MakeArm) -> None:
    one = arm(*program("slow-exit"))
    assert one.carry_out() == ()
    (told,) = one.workload.meta()["programs"]
    assert (told.stopped, told.code) == (True, 143)


@pytest.mark.parametrize("end", ["abort", "leave"])
def test_nothing_is_left_of_a_run_that_breaks(end: str, tmp_path: Path) -> None:
    """A child in a session of its own, too, which a signal to the group does not reach."""
    child = (
        "import subprocess, sys; subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'], "
    )
    child += "start_new_session=True); print('up', flush=True); import time; time.sleep(600)"
    with ExitStack() as stack:
        spec = OwnProducerSpec(command=(sys.executable, "-c", child))
        one = Arm(tmp_path, spec, 1, stack)
        log = tmp_path / PRODUCERS_DIR / "program-0.log"
        assert poll_within(LONG, lambda: None if "up" in log.read_text() else "silent") is None
        mark = one.workload.started._programs[0]._mark  # type: ignore[union-attr]
        if end == "abort":
            one.producers.close(0.5)
            one.workload.abort()
            assert not one.running
    assert processes.end_carrying("KAFKA_CHAOS_APPLICATION", lambda value: value == mark) == 0


def test_without_a_command_the_variables_are_a_block_to_copy(
    arm: MakeArm, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, logger=NOTICES.name):
        arm(producers=2)
    (notice,) = [record.getMessage() for record in caplog.records if record.name == NOTICES.name]
    assert notice.splitlines() == [
        "# arm ours waits for 2 producer(s) of a program started with:",
        f"export KAFKA_CHAOS_JOURNAL={(tmp_path / PRODUCERS_DIR).resolve()}",
        "export KAFKA_CHAOS_TOPIC=orders",
        "export KAFKA_CHAOS_RUN=5",
        "export KAFKA_CHAOS_BOOTSTRAP=127.0.0.1:1",
    ]


def test_with_a_command_there_is_nothing_to_copy(arm: MakeArm, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger=NOTICES.name):
        arm(*program("at-once"))
    assert [record for record in caplog.records if record.name == NOTICES.name] == []
