"""Explores: runs on a few clusters side by side; every violation is shrunk as soon as it is found."""

from __future__ import annotations

import math
import time
from collections import deque
from contextlib import suppress
from typing import Literal

from harness.lab.explore.plan import ExplorationPlan
from harness.lab.explore.possible_faults import possible_faults
from harness.lab.explore.reproducers import write_violation
from harness.lab.explore.result import (
    RESULT_FILE,
    ExploreResult,
    ExploreStore,
    ShrinkState,
    TrialRun,
    Violation,
)
from harness.lab.explore.selection import Coverage, DrawnTrial, choose
from harness.lab.explore.shrinking import Shrinking
from harness.lab.explore.trial import Trial
from harness.lab.explore.trial_runner import DueTrial, TrialRunner
from harness.many.docker_backend import DockerBackend
from harness.many.run_time import format_duration
from harness.model.errors import JournalError, KafkaChaosError
from harness.model.result import VerdictWord


class Exploration:
    """One exploration under way. A run is decided on while those before it still run or are checked: it
    depends only on the seed and on the runs that were kept by then, so that a later process goes on where one
    stopped: runs that are over are taken from the folder."""

    def __init__(
        self, plan: ExplorationPlan, store: ExploreStore, command: str, backend: DockerBackend | None = None
    ) -> None:
        self._plan = plan
        self._store = store
        self._backend = backend or DockerBackend()
        self._menu = plan.menu
        self._kept = {run.number: run for run in store.outcomes()}
        self._replayed: deque[TrialRun] = deque()
        self._runs: list[TrialRun] = []
        self._coverage = Coverage()
        self._violations: list[Violation] = []
        self._left_out: dict[str, str] = {}
        before = plan.before
        self._command = before.command if before is not None else command
        self._started_ns = before.started_ns if before is not None else time.time_ns()
        self._began = time.monotonic() - (before.seconds if before is not None else 0.0)
        self._runner = TrialRunner(plan.menu, store, self._backend, plan.clusters, self._begin)
        self._runner.starts = before.clusters if before is not None else 0

    def execute(self) -> ExploreResult:
        """Explore until the budget is spent; returns what is also written as result.json.

        Raises:
            BadInput: no fault of the menu is possible on this machine, or one that may not be left out is
            not. PrerequisiteMissing: no Java, no engine, no image. ClusterError: several runs in a row broke.
            What was found is kept: `--resume`. KeyboardInterrupt: passed on; the same.
        """
        if self._plan.before is None:
            self._save("under way")
        self._menu, self._left_out = possible_faults(self._menu, self._backend)
        self._runner.menu = self._menu
        names = [fault.name for fault in self._menu.faults if fault.name not in self._left_out]
        try:
            with self._runner:
                self._explore(names)
        finally:
            # What was checked while another run was made is over, too.
            with suppress(KafkaChaosError):
                while (run := self._runner.finished_run()) is not None:
                    self._note(run)
            self._save_progress()
        return self._save("budget spent")

    def _explore(self, names: list[str]) -> None:
        while failing := self._until_one_fails(names):
            for run in failing:
                if not self._seen_before(run):
                    self._shrink(run)

    def _until_one_fails(self, names: list[str]) -> list[TrialRun]:
        """Explore until a run fails that no known violation explains; returns it, and what failed of those
        that had been decided on by then. Nothing: the budget is spent."""
        known = [violation.minimal for violation in self._violations if violation.state != "not confirmed"]
        failing: list[TrialRun] = []
        self._runner.refused = False
        while True:
            while not failing and not self._runner.refused and self._may_decide():
                number = self._decided + 1
                drawn = choose(self._menu, names, self._coverage, known, f"{self._plan.seed}/{number}")
                self._decide(drawn, self._plan.seed + number - 1)
            run = self._next_run()
            if run is None:
                return failing
            if run.fails and (failing or not self._seen_before(run)):
                failing.append(run)

    @property
    def _pending(self) -> int:
        """Runs that were decided on and are not over."""
        return len(self._replayed) + len(self._runner.due)

    @property
    def _decided(self) -> int:
        return len(self._runs) + self._pending

    def _may_decide(self) -> bool:
        """Whether as much is known as is to be when the next schedule is chosen."""
        kept = self._kept.get(self._decided + 1)
        if kept is None:
            return self._pending < self._plan.ahead
        return self._pending == 0 if kept.known is None else kept.known <= len(self._runs)

    def _seen_before(self, run: TrialRun) -> bool:
        """Whether a known violation explains this one; then it is counted there."""
        for index, violation in enumerate(self._violations):
            alike = set(violation.classes) & set(run.broken)
            if violation.state != "not confirmed" and alike and run.trial.holds(violation.minimal):
                again = (*violation.again, run.number)
                self._violations[index] = violation.model_copy(update={"again": again})
                return True
        return False

    def _shrink(self, run: TrialRun) -> None:
        """Shrink the schedule of a run that failed, until its share of the budget is spent."""
        number = len(self._violations) + 1
        budget = self._plan.budget
        limit = budget.for_one(budget.cost(other for other in self._runs if other.violation is not None))
        shrinking = Shrinking(self._menu, run.trial)
        # The run that showed it is one of the n runs of this schedule.
        outcomes = [True]
        self._violations.append(self._violation(run, shrinking, number, outcomes, "under way"))
        answer = self._vote(run.trial, run, number, limit, outcomes)
        state: ShrinkState = "budget spent" if answer is None else "shrunk" if answer else "not confirmed"
        while state == "shrunk" and (candidate := shrinking.candidate()) is not None:
            smaller: list[bool] = []
            answer = self._vote(candidate, run, number, limit, smaller)
            if answer is None:
                state = "budget spent"
                break
            shrinking.record(answer)
            if answer:
                outcomes = smaller
            self._violations[-1] = self._violation(run, shrinking, number, outcomes, "under way")
            self._save_progress()
        self._violations[-1] = self._violation(run, shrinking, number, outcomes, state)
        self._save_progress()

    def _vote(
        self, trial: Trial, run: TrialRun, number: int, limit: float, outcomes: list[bool]
    ) -> bool | None:
        """Whether a schedule fails as `run` did, by as many runs as needed; None: the budget is spent."""
        unclear, confirm = 0, self._plan.confirm
        self._runner.refused = False
        while (answer := confirm.answer(outcomes)) is None:
            if unclear == confirm.n:
                return False
            seed = run.seed + len(outcomes) + unclear
            for offset in range(min(confirm.needed(outcomes), confirm.n - unclear)):
                self._decide(DrawnTrial(trial), seed + offset, number, limit)
            while (repeated := self._next_run()) is not None:
                if repeated.verdict is VerdictWord.UNKNOWN:
                    unclear += 1
                else:
                    outcomes.append(repeated.fails and bool(set(repeated.broken) & set(run.broken)))
            if self._runner.refused:
                return None
        return answer

    def _violation(
        self, run: TrialRun, shrinking: Shrinking, number: int, outcomes: list[bool], state: ShrinkState
    ) -> Violation:
        """As it is known now; `outcomes` are those of the runs of the minimal schedule."""
        mine = [other for other in self._runs if other.violation == number]
        violation = Violation(
            number=number,
            found_in=run.number,
            classes=run.broken,
            state=state,
            original=run.trial,
            minimal=shrinking.minimal,
            failed=sum(outcomes),
            minimal_runs=len(outcomes),
            seed=run.seed,
            tried=shrinking.tried,
            runs=len(mine),
            seconds=round(sum(other.seconds for other in mine), 1),
        )
        return write_violation(self._store.folder, self._menu, violation, self._plan.confirm)

    def _decide(
        self, drawn: DrawnTrial, seed: int, violation: int | None = None, limit: float = math.inf
    ) -> None:
        """Decide on the next run: it is taken from the folder if it is over, else it will be made. `limit`
        holds for all runs to shrink this violation."""
        number, trial = self._decided + 1, drawn.trial
        kept = self._kept.get(number)
        if kept is None:
            self._runner.decide(number, drawn, seed, len(self._runs), violation, limit)
        elif kept.violation != violation:
            # The budget of the earlier process was spent here.
            self._runner.refused = True
        elif kept.trial != trial:
            raise JournalError(
                "a run in the folder is not the one that comes next",
                where=kept.folder,
                expected=str(trial),
                found=str(kept.trial),
                next_step="resume with the version that began the exploration, or begin it anew",
            )
        else:
            self._replayed.append(kept)

    def _next_run(self) -> TrialRun | None:
        """The next of the runs that were decided on, when it is over; None: there is none, or the budget does
        not allow it."""
        run = self._replayed.popleft() if self._replayed else self._runner.next_run()
        if run is not None:
            self._note(run)
        return run

    def _note(self, run: TrialRun) -> None:
        self._runs.append(run)
        self._coverage.add(self._menu, run)
        self._save_progress()

    def _begin(self, due: DueTrial) -> str | None:
        """The head of a run's progress; None: the budget does not allow it."""
        budget = self._plan.budget
        mine = budget.cost(run for run in self._runs if run.violation == due.violation)
        if budget.runs is None:
            spent, expected = self._elapsed(), self._runner.expected(due.drawn.trial)
        else:
            # Runs that are under way count as well; they are for the same.
            spent, expected = due.number - 1.0, 1.0
            mine += spent - len(self._runs)
        if spent + expected > budget.whole or mine + expected > due.limit:
            return None
        return self._progress(due.number, due.drawn.trial, due.violation)

    def _elapsed(self) -> float:
        return time.monotonic() - self._began

    def _progress(self, number: int, trial: Trial, violation: int | None) -> str:
        """What a run is for, and how much is left after it."""
        budget = self._plan.budget
        rest = f"{(budget.runs or 0) - number} runs left"
        if budget.runs is None:
            rest = f"{format_duration(max(0.0, budget.whole - self._elapsed()))} left"
        doing = "exploring" if violation is None else f"shrinking violation {violation}"
        return f"run {number}, {rest}, {len(self._violations)} violation(s) · {doing} · {trial}"

    def _save_progress(self) -> None:
        """Write result.json, unless runs of an earlier process are still being replayed."""
        if len(self._runs) >= len(self._kept):
            self._save("under way")

    def _save(self, ended: Literal["budget spent", "under way"]) -> ExploreResult:
        plan = self._plan
        result = ExploreResult(
            menu=self._menu.model_dump(mode="json", by_alias=True, exclude_unset=True),
            seed=plan.seed,
            confirm=str(plan.confirm),
            budget_seconds=plan.budget.seconds,
            budget_runs=plan.budget.runs,
            shrink_share=plan.budget.share,
            command=self._command,
            started_ns=self._started_ns,
            seconds=round(self._elapsed(), 1),
            clusters=self._runner.starts,
            side_by_side=plan.clusters,
            ended=ended,
            left_out=self._left_out,
            coverage=self._coverage.result(self._menu, self._left_out),
            violations=tuple(self._violations),
            runs=tuple(self._runs),
        )
        self._store.write(RESULT_FILE, result)
        return result
