"""The page of known bugs, made from the registry and from what runs of them have shown.

`docs/bugs.md` is the page; what was seen comes from `docs/bugs.json`, which holds whole runs of
`kafka-chaos bugs`.

    python -m harness.docgen.bugs                   tell whether the page has drifted; exit code 1 if so
    python -m harness.docgen.bugs --write           write it anew
    python -m harness.docgen.bugs --take FILE...    these runs' bugs.json, and no others; then write
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from harness.bugs import table
from harness.bugs.catalog import registry
from harness.bugs.model import Bug, BugArm, BugArmResult, BugResult
from harness.docgen import files, saved_runs
from harness.docgen.saved_runs import text_block
from harness.report.markdown import cell
from harness.spec.plan import lines, plan_of

_FOLDER = Path(__file__).resolve().parents[2] / "docs"
_PAGE, _RESULTS = "bugs.md", "bugs.json"
_INTRO = """# Known bugs, reproduced

A harness is believed when it finds bugs that are known to be there. Each of these bugs of Kafka is reproduced
on real brokers, on a version or with a setting that has it, and not on one that has not: the same steps, the
same faults, the same check. The check knows nothing of the bug; it has to call the affected arms `invalid`
and the fixed ones `valid`. In KIP-101-divergence (both replicas die before a flush) and KIP-279 (unclean
elections) records are lost in every arm; there the replicas must differ in the affected arms, and in no fixed
one. An arm in which the dangerous state was not reached, by the brokers' own logs and files, shows nothing.

`kafka-chaos bugs` runs them all, `kafka-chaos bugs KIP-903` one, `--repeat N` all of them N times. This page
is made from the bugs' own definitions (`harness/bugs/`) and from runs of them (`python -m harness.docgen.bugs
--take`).
"""
_OPEN = """## Open, and tried here

**librdkafka [5456](https://github.com/confluentinc/librdkafka/issues/5456)**: `send_offsets_to_transaction`
does not keep to its time-out while the group's coordinator is away. On real brokers
(`tests/chaos/harness/bugs/test_open_bugs.py`, librdkafka 2.16.0): two brokers, one coordinates the
transaction, the other the group, and nobody can take over; the latter is killed, and a call that is given 2
s returns after 32.3 s, 12 s after the coordinator was started again. The transaction before it has to be
over first, its markers too: else the call fails earlier, with CONCURRENT_TRANSACTIONS, and in time. What a
processor of ours does about it: a client that has not come back after 20 s is given up and replaced
(`workloads/producer/shutdown.py`). How long it would wait for a coordinator that never comes back was not
tried.
"""


Runs = saved_runs.Runs[BugResult]


def saved() -> Runs:
    """What runs have shown so far."""
    return Runs.saved(_FOLDER / _RESULTS)


def taken(files: Sequence[Path]) -> Runs:
    """The runs in these files of `kafka-chaos bugs`; of all but the latest of each bug without its story."""
    return Runs.taken(files, _without_story)


def _without_story(result: BugResult) -> BugResult:
    return result.model_copy(update={"arms": saved_runs.without_stories(result.arms)})


def page(runs: Runs) -> str:
    """The whole page."""
    out = [_INTRO]
    if runs.machine:
        out += [f"Seen on {runs.machine}; counts are runs.", ""]
    out += [f"| {' | '.join(table.COLUMNS)} |", "|" + "---|" * len(table.COLUMNS)]
    out += [_row(bug, runs.of(bug.id)) for bug in registry.BUGS]
    for bug in registry.BUGS:
        out += ["", *_section(bug, runs.of(bug.id))]
    return "\n".join([*out, "", _OPEN])


def _row(bug: Bug, results: Sequence[BugResult]) -> str:
    head = f"[{bug.id}](#{_anchor(bug)}) {cell(bug.title)}"
    if not results:
        return f"| {head} | - | - | - | - | not run yet | - |"
    cells = ("<br>".join(map(cell, text.split("\n"))) for text in table.cells(results)[1:])
    return f"| {head} | {' | '.join(cells)} |"


def _anchor(bug: Bug) -> str:
    return bug.id.lower()


def _section(bug: Bug, results: Sequence[BugResult]) -> Iterable[str]:
    yield f"## {bug.id}"
    yield ""
    yield f"[{bug.title}]({bug.link})."
    yield ""
    yield bug.words
    yield ""
    yield f"- **Affected**: {bug.affected}"
    yield f"- **Fixed**: {bug.fixed}"
    yield f"- **Set-up**: {bug.set_up}"
    yield f"- **Proof that it was tried**: {bug.proof}"
    yield ""
    if results:
        for side in BugArm:
            for name, seen in table.arms_of(results, side).items():
                yield from _arm(side, name, seen)
    else:
        yield "Not run yet."
        yield ""
    yield "<details><summary>Step by step</summary>"
    yield ""
    for experiment, arms in bug.claim.experiments():
        yield f"{experiment.name}: {experiment.title}. Arms: {', '.join(arms)}."
        yield ""
        yield from text_block(line for line in lines(plan_of(experiment, 0)) if line)
    yield "</details>"


def _arm(side: BugArm, name: str, seen: Sequence[BugArmResult]) -> Iterable[str]:
    latest = seen[-1]
    counts = table.counted(map(table.said, seen))
    yield f"{side.capitalize()}: `{name}` of {latest.experiment}: {cell(counts)}. The latest run:"
    yield ""
    yield from saved_runs.expected_and_seen(latest)
    if latest.story:
        yield "<details><summary>What happened</summary>"
        yield ""
        yield from text_block(latest.story)
        yield "</details>"
        yield ""


def drifted() -> list[str]:
    """The page's name, if it is missing or differs."""
    return files.drifted({_PAGE: page(saved())}, _FOLDER, ())


def write() -> list[str]:
    """Write the page if it has drifted; returns what was written."""
    return files.write({_PAGE: page(saved())}, _FOLDER, ())


def main(arguments: list[str]) -> int:
    """Write or compare; returns the exit code."""
    if arguments[:1] == ["--take"] and arguments[1:]:
        taken([Path(name) for name in arguments[1:]]).save(_FOLDER / _RESULTS)
    return files.told(write() if arguments else drifted(), written=bool(arguments))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
