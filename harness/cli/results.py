"""How results of experiments are printed, the one command worth typing next, and the page of all results."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from harness.cli.options import ERRORS, print_text, working
from harness.model.errors import KafkaChaosError
from harness.model.result import ExperimentResult
from harness.report.arms_table import explanation, table
from harness.report.index import write_index
from harness.report.page.html import INDEX_FILE
from harness.report.page.terminal import print_blocks, print_table
from harness.report.run_page import write_report
from harness.report.versions import by_version
from harness.tools.audit.audit_result import Audit
from harness.tools.audit.remedies import remedies
from harness.tools.audit.rule import Severity

if TYPE_CHECKING:
    from harness.run.executor import Options
    from harness.spec.experiment import Experiment

_MATRICES = {
    "cut-then-kill": "acks-idempotence",
    "kill-leader": "acks-idempotence",
    "last-replica": "durability-recipes",
    "standard": "acks-idempotence",
    "storm": "acks-idempotence",
    "unclean-election": "unclean-elr",
}
"""The built-in matrix that repeats what a built-in experiment shows once."""


@contextmanager
def indexed(results: Path) -> Iterator[None]:
    """Write the page of all results anew after reports were written; the reports link to it.

    A page that cannot be written is a warning: it must not change the outcome of a run.
    """
    if not (results / INDEX_FILE).exists():
        refresh_index(results)
    yield
    refresh_index(results)


def refresh_index(results: Path) -> None:
    """Write the page of all results anew, or print a warning."""
    try:
        write_index(results)
    except KafkaChaosError as problem:
        print_text(ERRORS, f"kafka-chaos: warning: {problem}")


def run_and_report(
    experiments: Sequence[Experiment], options: Options, quiet: bool
) -> list[tuple[Path, ExperimentResult]]:
    """Run experiments, with progress unless `quiet`, and write a report into the folder of each."""
    from harness.run import executor

    with working(quiet):
        done = executor.execute(experiments, options)
    with indexed(options.results):
        for folder, result in done:
            write_report(result, folder)
    return done


def print_result(out: Console, result: ExperimentResult) -> None:
    """Print the table of an experiment, and why each arm got its verdict; remedies if it is `invalid`."""
    print_table(out, table(result))
    print_blocks(out, map(by_version, result.arms))
    for arm in result.arms:
        print_text(out, explanation(arm))
        for remedy in remedies(arm):
            print_text(out, f"  remedy {remedy}")


def after_run(
    done: Sequence[tuple[Path, ExperimentResult]],
    command: str,
    *,
    repeat: int = 1,
    replayed: bool = False,
    own: bool = False,
) -> str:
    """What to type after runs in these folders: about the first broken promise, else about the first run
    without an answer, else how often it goes well.

    `command` is what was typed. `own`: the runs used the user's own settings or cluster, which no built-in
    matrix has.
    """
    for answer in (False, None):
        for folder, result in done:
            for arm in result.arms:
                if arm.judgement.as_promised is not answer:
                    continue
                if answer is None:
                    return f"next: {command}  # again, for an answer"
                if replayed:
                    return f"next: open {folder / 'report.html'}"
                again = command if len(done) == 1 else f"kafka-chaos run {result.experiment}"
                arm_folder = shlex.quote(str(folder / arm.folder))
                return f"next: {again} --replay {arm_folder}  # the same faults again"
    folder, result = done[0]
    if repeat > 1:
        return f"next: kafka-chaos rates {shlex.quote(str(folder))} --by arm  # how often, with intervals"
    matrix = None if own or len(done) > 1 else _MATRICES.get(result.experiment)
    if matrix is None:
        return f"next: {command} --repeat 10  # one run shows little"
    return f"next: kafka-chaos matrix {matrix} --dry-run  # one run shows little: compare many"


def after_audit(found: Audit, command: str, *, proved: bool) -> str | None:
    """What to do after an audit: the remedy of its worst finding, or how its risks are shown; None."""
    worst = next(iter(found.findings), None)
    if worst is not None and worst.severity is not Severity.RISK:
        return f"next: {worst.do}; then: {command}"
    if found.proofs() and not proved:
        return f"next: {command} --prove  # shows the risks on real brokers"
    return None
