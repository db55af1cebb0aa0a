"""The report of an experiment: a page, or one per `MOST_ARMS` arms."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from harness.model.errors import KafkaChaosError
from harness.model.result import ArmResult, ExperimentResult
from harness.report import arm_tables, arms_table
from harness.report.arm_section import arm_section, cell_evidence
from harness.report.page.blocks import (
    Block,
    Cell,
    Code,
    Lines,
    Page,
    Section,
    Status,
    Table,
    Text,
    grid,
    section,
    status_of,
)
from harness.report.page.html import REPORT_FILE, render, save_pages
from harness.spec.cluster import PROFILES, Profile

MOST_ARMS = 40
"""The most arms on one page; arms that did not do as promised go first."""
MOST_EXPECTED = 4
"""The most arms whose expected findings the headline names."""
MOST_SEEDS = 8
_VERSION_NAMES = {"kafka": "Kafka", "python": "Python"}
_READ = (
    "Complete means: all brokers agreed, the high watermark was every replica's log end offset, two reads "
    "were equal, and every offset is accounted for."
)
_COLUMNS_EXPLAINED = (
    "Each number of the table opens its evidence. `valid`: no finding that the arm's settings exclude. "
    "`invalid`: there is such a finding. `unknown`: the run proves nothing, for the reasons given. An arm "
    "can be invalid and yet as promised: an experiment may promise a loss, to show that a loss would be "
    "detected. `unavailable s`: the longest time that a partition had no success report. In brackets: "
    "unconfirmed sends of acks=0, which no broker acknowledged."
)
_OUTPUTS_EXPLAINED = (
    " `processed`: inputs of the application with the outputs that they should have, or more; `unprocessed`: "
    "with fewer; `reprocessed`: with more."
)
_IDS_EXPLAINED = (
    " `lost_id`: ids of the records' own that were acknowledged and are in no record; `duplicate_id`: those "
    "that are in the log more often than meant."
)


def write_report(result: ExperimentResult, folder: Path) -> Path:
    """Write `folder`/report.html, and report-2.html and so on if there are many arms; returns the first's
    path.

    Journals are read from `folder`/<arm.folder>; the report names those that are missing or damaged.

    Raises:
        KafkaChaosError: a file cannot be written, or a page of an earlier report cannot be removed.
    """
    count = len(pages_of(result))
    first = save_pages(
        ((page_name(n), render(run_page(result, folder, n), folder)) for n in range(1, count + 1)),
        folder,
        what="the report",
        next_step="free space or correct its permissions, then run `kafka-chaos check` on the folder",
    )
    # An earlier report of this folder may have had more pages.
    while (stale := folder / page_name(count + 1)).is_file():
        with KafkaChaosError.for_os_errors(
            "a page of an earlier report cannot be removed",
            where=stale,
            expected="a writable folder",
            next_step="remove it; the new report is complete",
        ):
            stale.unlink()
        count += 1
    return first


def page_name(number: int) -> str:
    """The file name of a page; the first is 1."""
    return REPORT_FILE if number == 1 else f"report-{number}.html"


def pages_of(result: ExperimentResult) -> list[list[ArmResult]]:
    """The arms of each page, at least one page: on the first those that did not do as promised, as far as
    there is room, then the others in their order."""
    worst_first = sorted(
        range(len(result.arms)), key=lambda n: (result.arms[n].judgement.as_promised is True, n)
    )
    numbers = [sorted(worst_first[:MOST_ARMS])]
    rest = sorted(worst_first[MOST_ARMS:])
    numbers += [rest[first : first + MOST_ARMS] for first in range(0, len(rest), MOST_ARMS)]
    return [[result.arms[n] for n in page] for page in numbers]


def run_page(result: ExperimentResult, folder: Path, number: int = 1) -> Page:
    """The page of this `number`; the journals of its arms are read from `folder`."""
    pages = pages_of(result)
    arms = pages[number - 1]
    names = arms_table.columns(arms)
    hidden = len(result.arms) - len(arms)
    first = " Arms that did not do as promised are on this page first." if number == 1 else ""
    left_out = f"{hidden} more arms have no section on this page, but on the others.{first}"
    links = [
        Cell(f"{page}", link=page_name(page), here=page == number)
        for page in range(1, len(pages) + 1)
        if hidden
    ]
    skipped = result.arms[0].meta.skipped if result.arms else ()
    return Page(
        kind="run",
        name=result.experiment if number == 1 else f"{result.experiment}, page {number}",
        title=result.title,
        started_ns=result.started_ns,
        headline=headline(result),
        status=_overall(result),
        listed=number == 1,
        blocks=(
            Text(left_out if hidden else ""),
            Lines(links, label="Pages", look="pages"),
            Lines([Cell(sentence(arm), arms_table.arm_status(arm)) for arm in arms], look="outcomes"),
            *(
                section(f"Failed test {failed.test}", Code(failed.message), id=f"failed-test-{line}")
                for line, failed in enumerate(result.failed_tests, 1)
            ),
            *(Text(f"Not possible on the machine of this run: {line}") for line in skipped),
            Text(result.description),
            section(
                "Arms side by side",
                Text(arms_table.ARM_AND_PROMISE, note=True),
                Table(
                    names,
                    [arms_table.row(arm, names, cell_evidence(arm)) for arm in arms],
                    right=names[1:-2],
                    note=_COLUMNS_EXPLAINED
                    + _OUTPUTS_EXPLAINED * (arms_table.OF_APPLICATIONS[0] in names)
                    + _IDS_EXPLAINED * (arms_table.OF_IDS[0] in names),
                    look="arms",
                    cards=True,
                ),
                id="arms",
            ),
            Lines(links, label="Pages below the table", look="pages"),
            *(arm_section(arm, folder, line) for line, arm in enumerate(arms, 1)),
            section("How it was measured", *_how(result, arms), id="how"),
        ),
    )


def _how(result: ExperimentResult, arms: Sequence[ArmResult]) -> Iterator[Block]:
    if result.arms:
        yield _facts(result)
        yield Table(*grid(map(_read, arms)), title="Final read of each run", note=_READ)
        yield _properties(result.arms[0])
    again = ""
    if result.arms and "--seed" not in result.command:
        again = f"With `--seed {_seeds(result)[0]}` it makes the same choices again."
    yield section("Run it again", Code(result.command), Text(again, note=True))


def _facts(result: ExperimentResult) -> Lines:
    first, seeds = result.arms[0].meta, _seeds(result)
    cluster, image = first.cluster, first.cluster.image
    also = "each a controller too" if cluster.combined else _number(cluster.controllers, "controller")
    versions = (f"{_VERSION_NAMES.get(name, name)} {version}" for name, version in first.versions.items())
    return Lines(
        (
            f"Cluster: {cluster.brokers} brokers, {also}; up in {cluster.start_seconds:.1f} s; "
            f"timing profile {cluster.profile}",
            f"Image: {image.reference} ({image.origin}), Kafka {image.kafka_version}, `{image.digest}`",
            f"Topic: {_number(first.partitions, 'partition')}, replication factor {first.replication_factor}"
            "; a topic of its own for every run",
            f"Versions: {', '.join(versions)}",
            f"Seed: {', '.join(map(str, seeds[:MOST_SEEDS]))}{', ...' * (len(seeds) > MOST_SEEDS)}",
            f"Took: {result.seconds:.0f} s from the first arm's start to the last one's end, without "
            "the checks",
        )
    )


def _number(count: int, what: str) -> str:
    return f"{count} {what}{'s' * (count != 1)}"


def _seeds(result: ExperimentResult) -> list[int]:
    return sorted({arm.meta.seed for arm in result.arms})


def _read(arm: ArmResult) -> dict[str, str]:
    meta, read, summary = arm.meta, arm.meta.final_read, arm.summary
    complete, records, settled, inspected = "none", "-", "-", ""
    if meta.application is not None and meta.application.source != "topic":
        complete = f"none: the input is the application's {meta.application.source}"
    elif read is not None:
        complete = "complete" if read.complete else f"not complete: {'; '.join(read.reasons)}"
    if read is not None:
        records, inspected = f"{read.records:,}", ", ".join(map(str, read.replicas_inspected))
        settled = f"{read.settled_seconds:.1f} s" if read.settled_seconds is not None else "-"
    memory = meta.cluster.memory_mib
    return {
        "run": arm.folder,
        "run id": str(meta.run_id),
        "seed": str(meta.seed),
        "final read": complete,
        "records read": records,
        "settled after": settled,
        "replicas' files read": f"broker {inspected}" if inspected else "not needed",
        "memory after the run": f"{memory:.0f} MiB" if memory is not None else "-",
        "checked in": f"{summary.check_seconds:.1f} s {summary.engine or ''}".strip() if summary else "-",
    }


def _properties(arm: ArmResult) -> Section:
    """The settings of the timing profile, overridden by the experiment's own."""
    cluster = arm.meta.cluster
    known = PROFILES[Profile(cluster.profile)] if cluster.profile in tuple(Profile) else {}
    table = arm_tables.settings({**known, **cluster.properties})
    title = "Broker and controller settings of the profile and the experiment"
    return section(title, table, folded=True)


def headline(result: ExperimentResult) -> str:
    """The outcome in one line; a failed test is named first."""
    arms = _arms_headline(result)
    if not result.failed_tests:
        return arms
    count, first = len(result.failed_tests), result.failed_tests[0]
    tests = f"The test {first.test} failed" if count == 1 else f"{count} tests failed"
    return f"{tests}; {arms[0].lower()}{arms[1:]}"


def _arms_headline(result: ExperimentResult) -> str:
    broken = [arm.folder for arm in result.arms if arm.judgement.as_promised is False]
    unclear = [arm.folder for arm in result.arms if arm.judgement.as_promised is None]
    total = len(result.arms)
    if not total:
        return "No arm was run"
    if not broken and not unclear:
        kept = "The only arm did as promised" if total == 1 else f"All {total} arms did as promised"
        expected = arms_table.expected_lines(result)
        more = f"; and {len(expected) - MOST_EXPECTED} more" if len(expected) > MOST_EXPECTED else ""
        return "; ".join([kept, *expected[:MOST_EXPECTED]]) + more
    kinds = ((broken, "did not do as promised"), (unclear, "are undecided"))
    return "; ".join(f"{len(arms)} of {total} arms {what}: {_some(arms)}" for arms, what in kinds if arms)


def sentence(arm: ArmResult) -> str:
    """The outcome of one arm and its reasons, as a sentence."""
    judgement = arm.judgement
    expected = arms_table.expected_findings(arm)
    start = (
        f"{arm.folder}: {arms_table.PROMISED[judgement.as_promised]}{f' ({expected})' if expected else ''}"
    )
    reasons = [*judgement.promise_reasons, *judgement.reasons]
    if not reasons:
        return f"{start}."
    more = f" (and {len(reasons) - 2} more)" if len(reasons) > 2 else ""
    why = "; ".join(" ".join(reason.split()) for reason in reasons[:2])
    return f"{start}. {why[0].upper()}{why[1:]}{more}."


def _overall(result: ExperimentResult) -> Status:
    if result.failed_tests:
        return "bad"
    status = status_of(result.exit_code())
    return "unclear" if status == "good" and arms_table.expected_lines(result) else status


def _some(names: Sequence[str], most: int = 8) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
