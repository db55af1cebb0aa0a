"""Matrices of a night: run on each Kafka version, and compared with the last good night arm by arm."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.many.docker_backend import DockerBackend
from harness.many.matrix.compare import breaches, compare
from harness.many.matrix.page import matrix_page, write_pages
from harness.many.matrix.plan import MatrixOptions, plan_matrix
from harness.many.matrix.result import MATRIX_FILE, MatrixResult, MatrixStore, load_result
from harness.many.matrix.runner import MatrixRun
from harness.many.matrix.spec import MATRIX, MatrixSpec
from harness.many.workers import clusters_at_once
from harness.model.errors import KafkaChaosError
from harness.model.progress import report_progress
from harness.model.storage import write_whole
from harness.report.arms_table import PROMISED
from harness.report.ci import NOT_RUN
from harness.report.page.blocks import Section, Text, section
from harness.spec.overrides import ClusterOptions

OWN_VERSIONS = "its own versions"
"""The entry instead of a version for a matrix that has versions as an axis."""


@dataclass(frozen=True, slots=True)
class MatrixNight:
    """One matrix on one version. `result` is None where it could not be run, and `error` says why; `worse`
    says which arms are worse than the last time or break a bound, `uncompared` which were not compared."""

    version: str
    name: str
    folder: Path | None = None
    result: MatrixResult | None = None
    error: str = ""
    worse: tuple[str, ...] = ()
    uncompared: tuple[str, ...] = ()

    def exit_code(self) -> int:
        """1 a promise was broken, or an arm is worse; 3 the matrix or an arm has no result; else 0."""
        if self.result is None:
            return 3
        return 1 if self.worse else self.result.exit_code()


def run_matrices(
    names: Sequence[str],
    versions: Sequence[str],
    *,
    results: Path,
    last: Path | None,
    seed: int,
    repeat: int | None = None,
    backend: DockerBackend,
) -> list[MatrixNight]:
    """Run every matrix on every version; one that has an axis of versions only once. A matrix that
    cannot be run does not stop the others.

    Raises:
        BadInput: no such matrix: before anything is started.
    """
    chosen = [
        (name, version)
        for name in names
        for version in ([None] if MATRIX.load(name)[0].names_versions else versions)
    ]
    nights = []
    for name, version in chosen:
        shown = version or OWN_VERSIONS
        try:
            changes = MatrixOptions(repeat=repeat, cluster=ClusterOptions(version))
            plan = plan_matrix(name, None, changes, seed)
            plan.refuse_days(yes=False)
            store = MatrixStore.created(results / shown.replace(" ", "-"), plan.spec.name)
            command = f"kafka-chaos matrix {name} --seed {seed}"
            command += f" --kafka-version {version}" if version is not None else ""
            with store.locked():
                result = MatrixRun(plan, store, command, backend, clusters_at_once()).execute()
            write_pages(result, store.folder)
        except KafkaChaosError as error:
            report_progress(f"{name} on Kafka {shown}: {error}")
            nights.append(MatrixNight(shown, name, error=str(error)))
            continue
        base = None if last is None else _folder_in(last, shown, result.name)
        worse, uncompared = _compared_with(result, base)
        nights.append(MatrixNight(shown, result.name, store.folder, result, "", worse, uncompared))
    return nights


def _folder_in(last: Path, version: str, name: str) -> Path:
    return last / "matrices" / version.replace(" ", "-") / name


def _compared_with(result: MatrixResult, base: Path | None) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Sentences about arms that are worse than in `base` or break a bound of the spec; and the arms that
    could not be compared. Bounds apply in the first night too."""
    worse = [
        f"{breach.arm}: {breach.bound}: allowed {breach.allowed:g}, found {breach.found:g}"
        for breach in breaches(MatrixSpec.model_validate(result.spec), result.arms)
    ]
    if base is None or not (base / MATRIX_FILE).exists():
        return tuple(worse), ()
    try:
        comparison = compare(load_result(base), result, names=("the last night", "this night"))
    except KafkaChaosError as error:
        return tuple(worse), (str(error),)
    worse += [
        f"{test.arm}: {test.measure}: {test.base:g} then, {test.new:g} now (p = {test.p:.2g})"
        for test in comparison.worse
    ]
    return tuple(worse), comparison.missing


def regressions(nights: Sequence[MatrixNight]) -> list[str]:
    """A sentence about everything that is worse."""
    return [f"{night.name} on Kafka {night.version}: {line}" for night in nights for line in night.worse]


def night_section(one: MatrixNight) -> Section:
    """The part of the night's summary about a matrix."""
    if one.result is None:
        return section(f"{one.name} on Kafka {one.version}", Text(f"Could not be run: {one.error}"))
    page = matrix_page(one.result)
    missing = f"Not compared with the last night: {'; '.join(one.uncompared)}" if one.uncompared else ""
    title = f"{page.heading} on Kafka {one.version}"
    return section(title, Text(f"{page.headline}."), *page.blocks, Text(missing))


def arm_outcomes(nights: Sequence[MatrixNight]) -> Iterator[str]:
    """The outcome of each arm, and that of each matrix that could not be run, for the headline."""
    for night in nights:
        if night.result is None:
            yield NOT_RUN
            continue
        ran = (arm for arm in night.result.arms if arm.state not in ("refused", "impossible"))
        yield from (PROMISED[arm.as_promised] for arm in ran)


def keep(nights: Sequence[MatrixNight], last: Path) -> None:
    """Make these the results that the next night is compared with."""
    for night in nights:
        if night.folder is not None:
            target = _folder_in(last, night.version, night.name)
            target.mkdir(parents=True, exist_ok=True)
            write_whole(target / MATRIX_FILE, (night.folder / MATRIX_FILE).read_text())
