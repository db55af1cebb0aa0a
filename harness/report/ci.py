"""Results of a series for CI: Markdown for the job summary of a build, and JUnit XML with one suite per
experiment, one case per arm."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree as Xml

from harness.model.result import ArmResult, ExperimentResult
from harness.report.arms_table import PROMISED, explanation, table
from harness.report.page import markdown
from harness.report.page.blocks import Block, Code, Lines, Page, Section, section

MOST_BYTES = 1024 * 1024
"""GitHub's limit for a job summary."""
NOT_RUN = "could not be run"
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True, slots=True)
class SeriesOutcome:
    """One experiment of a series on one Kafka version. `result` None: `error` says why it was not run."""

    version: str
    experiment: str
    folder: Path | None = None
    result: ExperimentResult | None = None
    error: str = ""


def summary_text(
    outcomes: Sequence[SeriesOutcome],
    regressions: Sequence[str] = (),
    *,
    beside: Sequence[str] = (),
    more: Sequence[Block] = (),
) -> str:
    """The headline, then a table per experiment, then `more`, then each broken promise with its evidence.

    The most important parts come first. Parts that exceed `MOST_BYTES` are left out and counted.
    `regressions` are sentences about arms that are worse than in the previous result; `beside` is that of
    `headline`.
    """
    page = Page(
        kind="nightly",
        title=f"kafka-chaos: {headline(outcomes, regressions, beside)}",
        headline="",
        status="unclear",
        blocks=(
            section("Worse than the last time", Lines(regressions)),
            *map(_experiment, outcomes),
            *more,
            *(
                _evidence(outcome, arm)
                for outcome in outcomes
                for arm in (outcome.result.arms if outcome.result is not None else ())
                if arm.judgement.as_promised is not True
            ),
        ),
    )
    return markdown.render(page, MOST_BYTES)


def _experiment(outcome: SeriesOutcome) -> Section:
    content = Code(outcome.error) if outcome.result is None else table(outcome.result)
    return section(f"{outcome.experiment} on Kafka {outcome.version}", content)


def headline(
    outcomes: Sequence[SeriesOutcome], regressions: Sequence[str], beside: Sequence[str] = ()
) -> str:
    """The outcome of all arms in one line. `beside` has the outcomes of further arms, as `PROMISED` names
    them, and `NOT_RUN` for each matrix that could not be run."""
    counts, worse = Counter(beside), "worse than the last time"
    for outcome in outcomes:
        arms = outcome.result.arms if outcome.result is not None else ()
        counts.update(PROMISED[arm.judgement.as_promised] for arm in arms)
        counts[NOT_RUN] += outcome.result is None
    counts[worse] = len(regressions)
    total = sum(counts[word] for word in PROMISED.values())
    words = (PROMISED[False], worse, PROMISED[None], NOT_RUN)
    bad = ", ".join(f"{counts[word]} {word}" for word in words if counts[word])
    return f"{bad} (of {total} arms)" if bad else f"all {total} arms as promised"


def _evidence(outcome: SeriesOutcome, arm: ArmResult) -> Section:
    title = f"{outcome.experiment} / {arm.folder} on Kafka {outcome.version}"
    image = arm.meta.cluster.image
    again = (
        f"kafka-chaos run {outcome.experiment} --arm {arm.meta.arm} --seed {arm.meta.seed} "
        f"--kafka-version {outcome.version}"
    )
    lines = [explanation(arm, examples=3), f"image: {image.reference} {image.digest}", f"again: {again}"]
    if outcome.folder is not None:
        lines.append(f"report: {outcome.folder / 'report.html'}")
    return section(title, Code("\n".join(lines)))


def junit_text(
    outcomes: Sequence[SeriesOutcome], regressions: Sequence[str] = (), suites: Sequence[str] = ()
) -> str:
    """The XML of a series, with further `suites` as XML. An arm that broke its promise is a failure; one that
    proves nothing, and an experiment that was not run, are errors. Regressions fail a suite of their own."""
    root = Xml.Element("testsuites", name="kafka-chaos")
    for outcome in outcomes:
        name = f"{outcome.experiment} on Kafka {outcome.version}"
        suite = Xml.SubElement(root, "testsuite", name=xml_text(name))
        arms = outcome.result.arms if outcome.result is not None else ()
        for arm in arms:
            _case(suite, name, arm)
        if outcome.result is None:
            case = Xml.SubElement(suite, "testcase", classname=xml_text(name), name="run")
            add_outcome(case, "error", NOT_RUN, outcome.error)
        set_counts(suite)
        suite.set("time", f"{outcome.result.seconds if outcome.result is not None else 0:.1f}")
    root.extend(Xml.fromstring(text) for text in suites)
    if regressions:
        suite = Xml.SubElement(root, "testsuite", name="against the last result")
        for line in regressions:
            case = Xml.SubElement(suite, "testcase", classname="against the last result", name=xml_text(line))
            add_outcome(case, "failure", "worse than the last time", line)
        set_counts(suite)
    Xml.indent(root)
    return Xml.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _case(suite: Xml.Element, name: str, arm: ArmResult) -> None:
    ended = arm.meta.ended_ns or arm.meta.started_ns
    case = Xml.SubElement(
        suite,
        "testcase",
        classname=xml_text(name),
        name=xml_text(arm.folder),
        time=f"{max(0, ended - arm.meta.started_ns) / 1e9:.1f}",
    )
    image = arm.meta.cluster.image
    properties = Xml.SubElement(case, "properties")
    for key, value in (
        ("verdict", str(arm.judgement.verdict)),
        ("image", f"{image.reference} {image.digest}"),
        ("seed", str(arm.meta.seed)),
    ):
        Xml.SubElement(properties, "property", name=key, value=xml_text(value))
    if arm.judgement.as_promised is False:
        add_outcome(case, "failure", "not as promised", explanation(arm))
    elif arm.judgement.as_promised is None:
        add_outcome(case, "error", "undecided: the run proves nothing", explanation(arm))


@dataclass(frozen=True, slots=True)
class JunitCase:
    """A test case: it passed, or it `failed`, or is `undecided`, for reasons in lines of text."""

    suite: str
    name: str
    failed: str = ""
    undecided: str = ""


def junit_of(suite_name: str, cases: Iterable[JunitCase]) -> str:
    """The XML of one suite with these cases."""
    root = Xml.Element("testsuites")
    suite = Xml.SubElement(root, "testsuite", name=suite_name)
    for one in cases:
        case = Xml.SubElement(suite, "testcase", classname=xml_text(one.suite), name=xml_text(one.name))
        if one.failed:
            add_outcome(case, "failure", xml_text(one.failed.split("\n")[0]), one.failed)
        elif one.undecided:
            add_outcome(case, "error", "undecided: the run proves nothing", one.undecided)
    set_counts(suite)
    Xml.indent(root)
    return Xml.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def add_outcome(case: Xml.Element, tag: str, message: str, text: str) -> None:
    """Add the outcome of a case; `tag` is `failure`, `error` or `skipped`."""
    Xml.SubElement(case, tag, message=message).text = xml_text(text)


def set_counts(suite: Xml.Element) -> None:
    """Set a suite's numbers of tests, failures and errors from its cases."""
    suite.set("tests", str(len(suite.findall("testcase"))))
    suite.set("failures", str(len(suite.findall("testcase/failure"))))
    suite.set("errors", str(len(suite.findall("testcase/error"))))


def xml_text(text: str) -> str:
    """The text with characters that XML does not allow replaced."""
    return _NOT_XML.sub("\ufffd", text)
