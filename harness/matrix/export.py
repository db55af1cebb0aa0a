"""The figures of a matrix for other programs: CSV and JUnit XML."""

from __future__ import annotations

import csv
import io
import itertools
from xml.etree import ElementTree as Xml

from harness.matrix.result import MatrixResult
from harness.report.ci import add_outcome, set_counts, xml_text


def csv_text(result: MatrixResult) -> str:
    """One row per arm: its level on each axis, its state, runs that count and not, and each figure with its
    interval."""
    axes, target = result.axes, io.StringIO()
    writer = csv.writer(target, lineterminator="\n")
    figures = ("lost_per_million", "unconfirmed_absent_per_million", "duplicates_per_million")
    ends = ("", "_low", "_high")
    writer.writerow(
        [
            *("arm", *axes, "state", "runs", "left_out", "runs_with_loss", "loss_low", "loss_high"),
            *(f"{name}{end}" for name, end in itertools.product(figures, ends)),
            *("unavailable_seconds_median", "as_promised"),
        ]
    )
    for arm in result.arms:
        found = arm.figures
        row: list[object] = [arm.name, *(arm.labels[axis] for axis in axes), arm.state]
        if found is not None:
            share = found.with_loss
            row += [found.runs, found.left_out, share.k, share.low, share.high]
            for name in figures:
                one = getattr(found, name)
                row += [one.value, one.low, one.high]
            row += [found.unavailable_seconds.median, found.as_promised.k]
        writer.writerow(row)
    return target.getvalue()


def junit_text(result: MatrixResult) -> str:
    """One suite, one case per arm: a failure if any run broke its promise, an error if no run has a known
    verdict, skipped if the client refused it or it is impossible on this machine."""
    suite = Xml.Element("testsuite", name=xml_text(result.name), time=f"{result.seconds:.1f}")
    for arm in result.arms:
        seconds = sum(run.seconds for run in arm.runs)
        case = Xml.SubElement(
            suite, "testcase", classname=xml_text(result.name), name=xml_text(arm.name), time=f"{seconds:.1f}"
        )
        broken = [run for run in arm.runs if run.as_promised is False]
        if broken:
            lines = [f"{run.folder}, seed {run.seed}: {'; '.join(run.reasons)}" for run in broken]
            add_outcome(
                case, "failure", f"{len(broken)} of {len(arm.runs)} runs broke the promise", "\n".join(lines)
            )
        elif arm.state in ("refused", "impossible"):
            add_outcome(case, "skipped", arm.state, arm.reason or "")
        elif not any(run.counts for run in arm.runs):
            add_outcome(case, "error", "no run has a known verdict", "\n".join(arm.left_out))
    set_counts(suite)
    suite.set("skipped", str(len(suite.findall("testcase/skipped"))))
    Xml.indent(suite)
    return Xml.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"
