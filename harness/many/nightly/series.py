"""What runs every night: experiments and matrices on several Kafka versions, reported as Markdown and JUnit
XML, and compared with the last good night (`kafka-chaos nightly`)."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import ValidationError

from checkers import EngineChoice
from harness.check_jobs.recheck import RESULT_FILE
from harness.cluster.containers import docker_engine
from harness.many.docker_backend import DockerBackend
from harness.many.matrix.page import junit_text as suite_text
from harness.many.matrix.spec import MATRIX
from harness.many.nightly import matrices
from harness.model.errors import BadInput, KafkaChaosError, first_line
from harness.model.finding_class import Breaks, FindingClass
from harness.model.journal import SCHEMA_VERSION
from harness.model.progress import report_progress
from harness.model.result import ArmResult, ExperimentResult, VerdictWord
from harness.model.storage import write_whole
from harness.report.ci import SeriesOutcome, headline, junit_text, summary_text
from harness.report.run_page import write_report
from harness.run import executor
from harness.spec import experiment_files
from harness.spec.overrides import ClusterOptions, overridden

SUMMARY_FILE = "summary.md"
JUNIT_FILE = "junit.xml"
_WORSE = {VerdictWord.VALID: 0, VerdictWord.UNKNOWN: 1, VerdictWord.INVALID: 2}
NightlyEngine = Literal["both", "spark", "sail"]
"""What checks the runs of a night."""
Key = tuple[str, str, str]
"""Kafka version, experiment, arm."""


@dataclass(frozen=True, slots=True)
class NightlyOptions:
    """What a night runs. `last` is the folder with the results of the last good night; `matrix_repeat` is the
    number of runs of each arm of a matrix (None: as the matrix says); `engine` checks the runs, or "both"."""

    experiments: Sequence[str]
    matrices: Sequence[str]
    versions: Sequence[str]
    results: Path
    seed: int
    last: Path | None = None
    repeat: int = 1
    matrix_repeat: int | None = None
    engine: NightlyEngine = "both"

    @property
    def checks(self) -> EngineChoice:
        """The engine that counts first."""
        return EngineChoice() if self.engine == "both" else EngineChoice(self.engine)

    @property
    def both_engines(self) -> bool:
        return self.engine == "both"


def run_experiments(options: NightlyOptions) -> list[SeriesOutcome]:
    """Run every experiment on every version. One that cannot be run does not stop the others.

    Raises:
        BadInput: no such experiment: before anything is started.
    """
    experiments = [(name, experiment_files.load(name)) for name in options.experiments]
    outcomes = []
    for version in options.versions:
        for name, experiment in experiments:
            command = ["kafka-chaos", "run", name, "--seed", str(options.seed), "--kafka-version", version]
            run = executor.Options(
                results=options.results / version,
                seed=options.seed,
                repeat=options.repeat,
                command=shlex.join(command),
                engine=options.checks,
                both_engines=options.both_engines,
            )
            try:
                one = overridden(experiment, ClusterOptions(version))
                ((folder, result),) = executor.execute([one], run)
                write_report(result, folder)
            except (KafkaChaosError, ValidationError) as error:
                report_progress(f"{name} on Kafka {version}: {error}")
                outcomes.append(SeriesOutcome(version, experiment.name, error=str(error)))
                continue
            outcomes.append(SeriesOutcome(version, experiment.name, folder, result))
    return outcomes


def last_results(folder: Path) -> tuple[dict[Key, ArmResult], tuple[str, ...]]:
    """The newest result of every arm below an earlier night's folder, and why files could not be used."""
    newest: dict[Key, tuple[int, ArmResult]] = {}
    left_out = []
    for path in sorted(folder.rglob(RESULT_FILE)):
        try:
            result = ExperimentResult.model_validate_json(path.read_text())
        except (OSError, ValueError) as error:
            left_out.append(f"{path}: {first_line(error)}")
            continue
        if result.schema_version != SCHEMA_VERSION:
            left_out.append(f"{path}: schema version {result.schema_version}, not {SCHEMA_VERSION}")
            continue
        for key, arm in _arms(result):
            if key not in newest or newest[key][0] < result.started_ns:
                newest[key] = (result.started_ns, arm)
    return {key: arm for key, (_, arm) in newest.items()}, tuple(left_out)


def worse(last: dict[Key, ArmResult], outcomes: Sequence[SeriesOutcome]) -> list[str]:
    """A sentence about each arm that is worse than the last time: it was as promised then and is not now;
    or it never was, and now has a worse verdict or new classes of findings.

    What a promise allows may come and go from run to run and is never worse. Rates are not compared: one run
    proves nothing about them.
    """
    sentences = []
    for outcome in outcomes:
        for key, arm in _arms(outcome.result) if outcome.result is not None else ():
            before = last.get(key)
            if before is None or arm.judgement.as_promised is True:
                continue
            name = f"{key[1]} / {arm.folder} on Kafka {key[0]}"
            old, new = before.judgement, arm.judgement
            if old.as_promised is True:
                sentences.append(f"{name}: was as promised, and is not now ({new.verdict})")
            elif _WORSE[new.verdict] > _WORSE[old.verdict]:
                sentences.append(f"{name}: was {old.verdict}, is {new.verdict}")
            elif fresh := _classes(arm) - _classes(before):
                sentences.append(f"{name}: {', '.join(sorted(fresh))} was not found the last time")
    return sentences


def _classes(arm: ArmResult) -> set[FindingClass]:
    if arm.summary is None or arm.judgement.verdict is not VerdictWord.INVALID:
        return set()
    findings = arm.summary.findings.items()
    return {finding for finding, count in findings if count and finding.breaks is not Breaks.NEVER}


def _arms(result: ExperimentResult) -> Iterator[tuple[Key, ArmResult]]:
    for arm in result.arms:
        yield (arm.meta.cluster.image.kafka_version, result.experiment, arm.folder), arm


def exit_code(
    outcomes: Sequence[SeriesOutcome], regressions: Sequence[str], others: Sequence[int] = ()
) -> int:
    """1 a promise was broken or an arm is worse, 3 a run or verdict is missing, 0 neither."""
    codes = [*others, *(3 if outcome.result is None else outcome.result.exit_code() for outcome in outcomes)]
    if regressions or 1 in codes:
        return 1
    return max(codes, default=3)


def run_night(options: NightlyOptions) -> tuple[int, list[str]]:
    """Run everything, write the summary and JUnit XML, and keep the results if they are good.

    Returns the exit code and lines for people: what could not be compared, what is worse, the headline.

    Raises:
        BadInput: no such experiment or matrix: before anything is started. Or nothing is named, or the
            summary cannot be written.
        PrerequisiteMissing: clusters are to be started, and no Docker engine answers.
    """
    if not options.experiments and not options.matrices:
        raise BadInput(
            "nothing to run is named",
            expected="experiments, matrices, or both",
            next_step="kafka-chaos nightly kill-leader --matrix acks-idempotence",
        )
    for name in options.matrices:
        MATRIX.load(name)
    clusters = [experiment_files.load(name).cluster for name in options.experiments]
    if options.matrices or any(cluster.existing is None for cluster in clusters):
        # Without an engine each experiment would fail for the same reason, on each version.
        docker_engine.connect().close()
    # Before the run: its own results may go below the same folder.
    last, left_out = last_results(options.last) if options.last is not None else ({}, ())
    outcomes = run_experiments(options)
    nights = matrices.run_matrices(
        options.matrices,
        options.versions,
        results=options.results,
        last=options.last,
        seed=options.seed,
        repeat=options.matrix_repeat,
        backend=DockerBackend(options.checks, both_engines=options.both_engines),
    )
    regressions = [*worse(last, outcomes), *matrices.regressions(nights)]
    beside = list(matrices.arm_outcomes(nights))
    _write(
        options.results,
        summary_text(outcomes, regressions, beside=beside, more=[*map(matrices.night_section, nights)]),
        junit_text(
            outcomes, regressions, [suite_text(night.result) for night in nights if night.result is not None]
        ),
    )
    code = exit_code(outcomes, regressions, [night.exit_code() for night in nights])
    if code == 0 and options.last is not None:
        _keep(outcomes, options.last)
        matrices.keep(nights, options.last)
    return code, [
        *(f"not compared: {line}" for line in left_out),
        *(f"worse than the last time: {line}" for line in regressions),
        f"{headline(outcomes, regressions, beside)}; see {options.results / SUMMARY_FILE}",
    ]


def _write(results: Path, summary: str, junit: str) -> None:
    with BadInput.for_os_errors("the summary cannot be written", where=results):
        results.mkdir(parents=True, exist_ok=True)
        (results / SUMMARY_FILE).write_text(summary, errors="replace")
        (results / JUNIT_FILE).write_text(junit, errors="replace")
        if "GITHUB_STEP_SUMMARY" in os.environ:
            with Path(os.environ["GITHUB_STEP_SUMMARY"]).open("a", errors="replace") as file:
                file.write(summary)


def _keep(outcomes: Sequence[SeriesOutcome], last: Path) -> None:
    """Make these the results that the next night is compared with. Only good nights are kept, so that what is
    worse stays worse until it is fixed."""
    for outcome in outcomes:
        if outcome.folder is not None:
            target = last / outcome.version / outcome.experiment / RESULT_FILE
            target.parent.mkdir(parents=True, exist_ok=True)
            write_whole(target, (outcome.folder / RESULT_FILE).read_text())
