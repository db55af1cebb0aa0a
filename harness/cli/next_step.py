"""The one command that is worth typing next."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from harness.audit.audit import Audit
from harness.audit.rule import Severity
from harness.model.result import ExperimentResult

_MATRICES = {
    "cut-then-kill": "acks-idempotence",
    "kill-leader": "acks-idempotence",
    "last-replica": "durability-recipes",
    "standard": "acks-idempotence",
    "storm": "acks-idempotence",
    "unclean-election": "unclean-elr",
}
"""The built-in matrix that repeats what a built-in experiment shows once."""


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
