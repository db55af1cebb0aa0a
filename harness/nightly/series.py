"""What runs every night: experiments on several Kafka versions, told as Markdown and JUnit XML, and held
against the last time.

    python -m harness.nightly.series kill-leader cut-then-kill --kafka-version 4.3.1 --kafka-version 3.9.2

Exit codes are those of `kafka-chaos run`; 1 also when an arm is worse than it was the last time.
"""

from __future__ import annotations

import argparse
import os
import shlex
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import FrameType
from typing import Any

from pydantic import ValidationError

from harness.check.recheck import RESULT_FILE
from harness.matrix.files import MATRIX
from harness.model.defaults import DEFAULT_VERSION
from harness.model.errors import BadInput, KafkaChaosError
from harness.model.journal import SCHEMA_VERSION
from harness.model.progress import progress_on_stdout, report_progress
from harness.model.result import ArmResult, Breaks, ExperimentResult, FindingClass, VerdictWord
from harness.model.storage import write_whole
from harness.nightly import matrices
from harness.report.html import write_report
from harness.report.job_summary import headline, summary_text
from harness.report.junit import SeriesOutcome, junit_text
from harness.run import executor
from harness.spec import files
from harness.spec.overrides import overridden

SUMMARY_FILE = "summary.md"
JUNIT_FILE = "junit.xml"
_WORSE = {VerdictWord.VALID: 0, VerdictWord.UNKNOWN: 1, VerdictWord.INVALID: 2}
Key = tuple[str, str, str]
"""Kafka version, experiment, arm."""


def run_all(
    names: Sequence[str],
    versions: Sequence[str],
    *,
    results: Path,
    seed: int,
    repeat: int = 1,
) -> list[SeriesOutcome]:
    """Run every experiment on every version. What cannot be run does not keep the rest from running.

    Raises:
        BadInput: no such experiment: before anything is started.
    """
    experiments = [(name, files.load(name)) for name in names]
    outcomes = []
    for version in versions:
        for name, experiment in experiments:
            command = ["kafka-chaos", "run", name, "--seed", str(seed), "--kafka-version", version]
            options = executor.Options(
                results=results / version, seed=seed, repeat=repeat, command=shlex.join(command)
            )
            try:
                one = overridden(experiment, version, None, None)
                ((folder, result),) = executor.execute([one], options)
                write_report(result, folder)
            except (KafkaChaosError, ValidationError) as error:
                report_progress(f"{name} on Kafka {version}: {error}")
                outcomes.append(SeriesOutcome(version, experiment.name, error=str(error)))
                continue
            outcomes.append(SeriesOutcome(version, experiment.name, folder, result))
    return outcomes


def last_results(folder: Path) -> tuple[dict[Key, ArmResult], tuple[str, ...]]:
    """The newest result of every arm below a folder of an earlier night, and what could not be used of it."""
    found: dict[Key, tuple[int, ArmResult]] = {}
    left_out = []
    for path in sorted(folder.rglob(RESULT_FILE)):
        try:
            result = ExperimentResult.model_validate_json(path.read_text())
        except (OSError, ValueError) as error:
            left_out.append(f"{path}: {str(error).splitlines()[0]}")
            continue
        if result.schema_version != SCHEMA_VERSION:
            left_out.append(f"{path}: schema version {result.schema_version}, not {SCHEMA_VERSION}")
            continue
        for key, arm in _arms(result):
            if key not in found or found[key][0] < result.started_ns:
                found[key] = (result.started_ns, arm)
    return {key: arm for key, (_, arm) in found.items()}, tuple(left_out)


def worse(last: dict[Key, ArmResult], outcomes: Sequence[SeriesOutcome]) -> list[str]:
    """Arms that are worse than the last time, a sentence each: as promised then and not now; or neither time,
    and now with a worse verdict or with classes of findings that were not there.

    What a promise allows may come and go from run to run and is never worse. Rates are not compared: one run
    says nothing of them.
    """
    found = []
    for outcome in outcomes:
        for key, arm in _arms(outcome.result) if outcome.result is not None else ():
            before = last.get(key)
            if before is None or arm.judgement.as_promised is True:
                continue
            name = f"{key[1]} / {arm.folder} on Kafka {key[0]}"
            old, new = before.judgement, arm.judgement
            if old.as_promised is True:
                found.append(f"{name}: was as promised, and is not now ({new.verdict})")
            elif _WORSE[new.verdict] > _WORSE[old.verdict]:
                found.append(f"{name}: was {old.verdict}, is {new.verdict}")
            elif fresh := _classes(arm) - _classes(before):
                found.append(f"{name}: {', '.join(sorted(fresh))} was not found the last time")
    return found


def _classes(arm: ArmResult) -> set[FindingClass]:
    if arm.summary is None or arm.judgement.verdict is not VerdictWord.INVALID:
        return set()
    found = arm.summary.findings.items()
    return {finding for finding, count in found if count and finding.breaks is not Breaks.NEVER}


def _arms(result: ExperimentResult) -> Iterator[tuple[Key, ArmResult]]:
    for arm in result.arms:
        yield (arm.meta.cluster.image.kafka_version, result.experiment, arm.folder), arm


def exit_code(
    outcomes: Sequence[SeriesOutcome], regressions: Sequence[str], others: Sequence[int] = ()
) -> int:
    """1 a promise broken or a regression, 3 something could not be run or told, 0 neither."""
    codes = [*others, *(3 if one.result is None else one.result.exit_code() for one in outcomes)]
    if regressions or 1 in codes:
        return 1
    return max(codes, default=3)


def main(arguments: Sequence[str] | None = None) -> int:
    """Entry of `python -m harness.nightly.series`; returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m harness.nightly.series",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("experiments", nargs="*", help="built-in experiments or YAML files")
    parser.add_argument(
        "--matrix",
        action="append",
        default=[],
        metavar="NAME",
        help="a built-in matrix or a YAML file, held against the last night run by run; may be given again",
    )
    parser.add_argument("--matrix-repeat", type=int, help="runs of each arm of a matrix, whatever it says")
    parser.add_argument(
        "--kafka-version", action="append", metavar="VERSION", help=f"may be given again; {DEFAULT_VERSION}"
    )
    parser.add_argument("--results", type=Path, default=Path("results/nightly"), help="default: %(default)s")
    parser.add_argument("--last", type=Path, help="results of the last good night; replaced by a good one")
    parser.add_argument("--seed", type=int, help="seed of all choices; default: by the clock")
    parser.add_argument("--repeat", type=int, default=1, help="run every arm this often")
    options = parser.parse_args(arguments)
    if not options.experiments and not options.matrix:
        parser.error("name an experiment, or a matrix with --matrix")
    signal.signal(signal.SIGTERM, _terminate)
    try:
        with progress_on_stdout():
            return _night(options)
    except KafkaChaosError as error:
        print(f"kafka-chaos: {error}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print("kafka-chaos: interrupted; journals are kept", file=sys.stderr)
        return 130


def _terminate(number: int, frame: FrameType | None) -> None:  # noqa: ARG001
    raise KeyboardInterrupt


def _night(options: Any) -> int:
    def say(line: str) -> None:
        print(line, flush=True)

    last: dict[Key, ArmResult] = {}
    if options.last is not None and options.last.is_dir():
        # Before the run: its own results may go below the same folder.
        last, left_out = last_results(options.last)
        for line in left_out:
            say(f"not compared: {line}")
    versions = options.kafka_version or [DEFAULT_VERSION]
    seed = int(time.time()) if options.seed is None else options.seed
    for name in options.matrix:
        MATRIX.load(name)
    outcomes = run_all(
        options.experiments,
        versions,
        results=options.results,
        seed=seed,
        repeat=options.repeat,
    )
    nights = matrices.run_matrices(
        options.matrix,
        versions,
        results=options.results,
        last=options.last,
        seed=seed,
        repeat=options.matrix_repeat,
    )
    regressions = [*worse(last, outcomes), *matrices.regressions(nights)]
    beside = matrices.counted(nights)
    try:
        options.results.mkdir(parents=True, exist_ok=True)
        text = summary_text(outcomes, regressions, beside=beside, more=matrices.parts(nights))
        (options.results / SUMMARY_FILE).write_text(text, errors="replace")
        cases = junit_text(outcomes, regressions, matrices.suites(nights))
        (options.results / JUNIT_FILE).write_text(cases, errors="replace")
        if "GITHUB_STEP_SUMMARY" in os.environ:
            with Path(os.environ["GITHUB_STEP_SUMMARY"]).open("a", errors="replace") as file:
                file.write(text)
    except OSError as error:
        raise BadInput(
            "the summary cannot be written", where=str(options.results), found=error.strerror or str(error)
        ) from error
    for line in regressions:
        say(f"worse than the last time: {line}")
    code = exit_code(outcomes, regressions, [one.exit_code() for one in nights])
    if code == 0 and options.last is not None:
        _keep(outcomes, options.last)
        matrices.keep(nights, options.last)
    say(f"{headline(outcomes, regressions, beside)}; see {options.results / SUMMARY_FILE}")
    return code


def _keep(outcomes: Sequence[SeriesOutcome], last: Path) -> None:
    """Make these the results that the next night is held against: only good ones, so that what is worse stays
    worse until it is mended."""
    for outcome in outcomes:
        if outcome.folder is None or outcome.result is None:
            continue
        target = last / outcome.version / outcome.experiment / RESULT_FILE
        target.parent.mkdir(parents=True, exist_ok=True)
        write_whole(target, (outcome.folder / RESULT_FILE).read_text())


if __name__ == "__main__":
    sys.exit(main())
