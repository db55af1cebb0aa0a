"""The folder of an exploration: its result (`result.json`), and each run's `runs/NNNN/outcome.json`."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from pydantic import ValidationError

from harness.lab.explore.menu import ExploreMenu
from harness.lab.explore.phases import ClusterPhase, ObservedFault
from harness.lab.explore.trial import Trial
from harness.many.run_store import RunOutcome, RunStore, outcome_file
from harness.model.finding_class import FindingClass
from harness.model.frozen import Frozen
from harness.model.result import ShareCount, VerdictWord
from harness.model.versioned_json import Refusal, VersionedFile

RESULT_FILE = "result.json"
EXPLORE_VERSION = 1
"""Of `result.json`. What both files mean is described in docs/how-to/explore.md."""


class TrialRun(RunOutcome):
    """One run. `number` counts all runs from 1; `violation` is the number of the violation that it was made
    to shrink (None: it explored), `known` how many runs had been kept when it was chosen (None: all before
    it). `aims` are the phases that its faults were aimed at, `seen` those that they hit. `promised` are the
    classes of findings that this run could have shown and its settings forbid, `broken` those that it showed;
    if the verdict is unknown, they prove nothing by themselves. `shares` says what its share groups
    were given, `reset` what was verified about the cluster before it; `seconds` includes reset and check."""

    number: int
    violation: int | None
    known: int | None = None
    trial: Trial
    aims: tuple[ClusterPhase, ...] = ()
    seen: tuple[ObservedFault, ...] = ()
    promised: tuple[FindingClass, ...] = ()
    broken: tuple[FindingClass, ...] = ()
    acked: int = 0
    shares: tuple[ShareCount, ...] = ()
    reset: str = ""

    @property
    def fails(self) -> bool:
        return self.verdict is VerdictWord.INVALID

    @property
    def doubtful(self) -> bool:
        """Whether it has findings that its settings rule out, while its verdict is unknown."""
        return self.verdict is VerdictWord.UNKNOWN and bool(self.broken)


ShrinkState = Literal["shrunk", "budget spent", "not confirmed", "under way"]


class Violation(Frozen):
    """A promise that was broken. `found_in` is the run that showed it, `classes` are the findings that its
    settings rule out.

    `state`: `shrunk`, to a schedule of which no smaller one fails; `budget spent` before that; `not
    confirmed`: it did not fail `k` of `n` times again; `under way`. `minimal` is the smallest schedule that
    fails, `tried` the number of smaller ones that were tried, `runs` and `seconds` what that took. `failed`
    of `minimal_runs` runs of the minimal schedule failed. `again` are later runs that include it and fail
    likewise. `experiment` and `test` are files beside result.json."""

    number: int
    found_in: int
    classes: tuple[FindingClass, ...]
    state: ShrinkState
    original: Trial
    minimal: Trial
    failed: int
    minimal_runs: int
    seed: int
    tried: int
    runs: int
    seconds: float
    again: tuple[int, ...] = ()
    experiment: str = ""
    test: str = ""


class Covered(Frozen):
    """How often a fault hit a phase, or was under a level; or two faults were in one run."""

    what: tuple[str, ...]
    times: int


class CoverageResult(Frozen):
    """What was covered, and what was not (times 0)."""

    phases: tuple[Covered, ...] = ()
    pairs: tuple[Covered, ...] = ()
    levels: tuple[Covered, ...] = ()


class ExploreResult(Frozen):
    """`result.json`. `menu` is the menu as it was used, `left_out` faults that are impossible here, and why.
    `seconds` adds up what its parts took, where it was resumed; `clusters` counts starts, and `side_by_side`
    is how many ran at once in its last part."""

    schema_version: int = EXPLORE_VERSION
    menu: dict[str, Any]
    seed: int
    confirm: str
    budget_seconds: float | None
    budget_runs: int | None
    shrink_share: float
    command: str
    started_ns: int
    seconds: float
    clusters: int
    side_by_side: int = 1
    ended: Literal["budget spent", "under way"]
    left_out: dict[str, str] = {}
    coverage: CoverageResult = CoverageResult()
    violations: tuple[Violation, ...] = ()
    runs: tuple[TrialRun, ...] = ()

    def exit_code(self) -> int:
        """1 a violation was found; 3 none was, and no run is valid; 0 none was."""
        if self.violations:
            return 1
        return 0 if any(run.verdict is VerdictWord.VALID for run in self.runs) else 3

    def parsed_menu(self) -> ExploreMenu:
        return ExploreMenu.model_validate(self.menu)


def load_result(folder: Path) -> ExploreResult:
    """Read an exploration's result.

    Raises:
        JournalError: no such file, not an exploration's result, or written by another version.
    """
    path = folder / RESULT_FILE
    result = _FILE.read(path)
    try:
        result.parsed_menu()
    except ValidationError as error:
        raise _FILE.misfit(path, error) from error
    return result


_FILE = VersionedFile(
    ExploreResult,
    EXPLORE_VERSION,
    absent=Refusal(
        "there is no exploration here",
        expected=f"a folder holding {RESULT_FILE}, as `kafka-chaos explore` leaves below results/",
        next_step="name such a folder",
    ),
    damaged=Refusal(
        "the result of the exploration cannot be read",
        expected="JSON as docs/how-to/explore.md describes it",
        next_step="restore the file; the runs below it can still be read with `kafka-chaos check`",
    ),
    another=Refusal(
        "this is no result of an exploration, or one of another version of kafka-chaos",
        expected=f"schema version {EXPLORE_VERSION}, with a menu",
        next_step="name the folder of an exploration, or use the version that wrote it",
    ),
    key="menu",
)


class ExploreStore(RunStore[TrialRun]):
    """The folder of one exploration."""

    file = outcome_file(
        TrialRun, "exploration", "move this and all later runs away, then resume: they are made again"
    )

    def run_folder(self, number: int) -> Path:
        return self.run_path(f"{number:04d}")
