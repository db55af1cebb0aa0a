"""The documentation of the claims, made from the registry and from what runs of them have shown.

`docs/claims/README.md` has a row a claim, `docs/claims/R12.md` a page. What was seen comes from
`docs/claims/results.json`, which holds whole runs of `kafka-chaos claims`.

    python -m harness.docgen.claims                   tell which files have drifted; exit code 1 if any
    python -m harness.docgen.claims --write           write them anew
    python -m harness.docgen.claims --take FILE...    these runs' claims.json, and no others; then write
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from harness.claims import plots
from harness.claims.catalog import registry
from harness.docgen import files, saved_runs
from harness.docgen.saved_runs import text_block
from harness.report.markdown import cell
from harness.spec.plan import lines, plan_of
from harness.suite.model import Claim, ClaimArmResult, ClaimResult, ClaimVerdict, Role

_FOLDER = Path(__file__).resolve().parents[2] / "docs" / "claims"
_RESULTS = "results.json"
_SIDE_BY_SIDE = frozenset({"R10", "R18"})
_INTRO = """# Claims

What textbooks and study notes say of Kafka's guarantees, put to the test on real brokers. Each claim has a
control arm that differs in one thing and must come out the other way; if it does not, nothing was shown and
the verdict is `unknown`. So it is if a state that the set-up needs was not reached, if a fault was not proved
to have taken effect, or if the final read was not proved complete.

`kafka-chaos claims` runs them all, `kafka-chaos claims R12` one. These pages are made from the claims' own
definitions (`harness/claims/`) and from runs of them (`python -m harness.docgen.claims --take`).

"""


Runs = saved_runs.Runs[ClaimResult]


def pages() -> dict[str, str]:
    """Every generated file's text, by its name below docs/claims."""
    runs = saved()
    found = {f"{claim.id}.md": page(claim, runs) for claim in registry.CLAIMS}
    found["README.md"] = overview(runs)
    found |= pictures(runs)
    return found


def saved() -> Runs:
    """What runs have shown so far."""
    return Runs.saved(_FOLDER / _RESULTS)


def taken(files: Sequence[Path]) -> Runs:
    """The runs in these files of `kafka-chaos claims`; of all but the latest of each claim without its
    story."""
    return Runs.taken(files, _without_story)


def _without_story(result: ClaimResult) -> ClaimResult:
    return result.model_copy(update={"trials": saved_runs.without_stories(result.trials)})


def overview(runs: Runs) -> str:
    """The page with all claims."""
    out = [_INTRO.rstrip("\n"), ""]
    if runs.machine:
        out += [f"Seen on {runs.machine}; the verdict says in how many runs.", ""]
    out += [
        "| claim | expected | seen | control expected | control seen | verdict | seconds |",
        "|---|---|---|---|---|---|---|",
    ]
    out += [_row(claim, runs.of(claim.id)) for claim in registry.CLAIMS]
    return "\n".join([*out, ""])


def _row(claim: Claim, results: Sequence[ClaimResult]) -> str:
    head = f"[{claim.id}]({claim.id}.md) {cell(claim.title)}"
    if not results:
        return f"| {head} | - | - | - | - | not run yet | - |"
    cells = []
    for role in Role:
        trials = [(trial, trial.headline()) for trial in results[-1].of(role)]
        cells.append("<br>".join(cell(f"{t.arm}: {row.what}: {row.expected}") for t, row in trials if row))
        cells.append("<br>".join(cell(row.seen) for _, row in trials if row))
    seconds = [result.seconds for result in results]
    span = f"{min(seconds):.0f}" if len(seconds) == 1 else f"{min(seconds):.0f}-{max(seconds):.0f}"
    return f"| {head} | {' | '.join(cells)} | {verdicts(results)} | {span} |"


def verdicts(results: Sequence[ClaimResult]) -> str:
    """How often a claim came out how: `yes 3/3`, or `yes 2/3, unknown 1/3`."""
    counted = Counter(result.answer for result in results)
    return ", ".join(
        f"{answer} {counted[answer]}/{len(results)}" for answer in ClaimVerdict if counted[answer]
    )


def page(claim: Claim, runs: Runs) -> str:
    """One claim's page."""
    results = runs.of(claim.id)
    out = [f"# {claim.id}: {claim.title}", "", claim.words, ""]
    if claim.today:
        out += [f"**Today.** {claim.today}", ""]
    out += [f"**Set-up.** {claim.set_up}", "", "## Expected and seen", ""]
    if results:
        kafka = ", ".join(sorted({result.kafka for result in results}))
        out += [f"Verdicts: {verdicts(results)}, on Kafka {kafka}. The latest run:", ""]
        for trial in results[-1].trials:
            out += _trial(trial)
        out += [f"- {cell(reason)}" for reason in results[-1].reasons]
    else:
        out += ["Not run yet.", ""]
    if results:
        out += _pictures(claim, runs)
        out += _stories(results[-1])
    out += ["## Step by step", ""]
    for experiment, arms in claim.experiments():
        out += [f"{experiment.name}: {experiment.title}. Arms: {', '.join(arms)}.", ""]
        out += text_block(line for line in lines(plan_of(experiment, 0)) if line)
    out += [
        "## Replay",
        "",
        f"`kafka-chaos claims {claim.id}` runs all of it. Each arm leaves a run folder with its experiment "
        "beside it:",
        "`kafka-chaos run results/claims-.../" + claim.id + "/.../experiment.json --arm ARM` runs one alone,",
        "`kafka-chaos check` reads its journals again.",
        "",
    ]
    return "\n".join(out)


def pictures(runs: Runs) -> dict[str, str]:
    """SVG files by name, of what runs have measured."""
    drawn = plots.drawn([result for run in runs.runs for result in run])
    return {f"{claim}.svg": text for claim, text in drawn.items()}


def _pictures(claim: Claim, runs: Runs) -> Iterable[str]:
    name = f"{claim.id}.svg"
    if name in pictures(runs):
        yield f"![{cell(claim.title)}]({name})"
        yield ""
    if claim.id in _SIDE_BY_SIDE:
        yield "## Side by side"
        yield ""
        yield from plots.side_by_side(runs.of(claim.id)[-1].trials)
        yield ""


def _stories(result: ClaimResult) -> Iterable[str]:
    told = [trial for trial in result.trials if trial.story]
    if not told:
        return
    yield "## What happened"
    yield ""
    yield "Drawn from the journals of the latest run. A row is what brokers said after something had"
    yield "happened: each its log end offset (LEO), the leader its high watermark (HW) and epoch too, and"
    yield "the ISR as the newest leader has it."
    yield ""
    seen: set[tuple[str, str]] = set()
    for trial in told:
        # One arm may be a claim's and a control's.
        if (trial.experiment, trial.arm) in seen:
            continue
        seen.add((trial.experiment, trial.arm))
        yield f"{trial.role.capitalize()}: `{trial.arm}` of {trial.experiment}"
        yield ""
        yield from text_block(trial.story)


def _trial(trial: ClaimArmResult) -> Iterable[str]:
    yield f"{trial.role.capitalize()}: `{trial.arm}` of {trial.experiment}"
    yield ""
    yield from saved_runs.expected_and_seen(trial)


def drifted() -> list[str]:
    """Names of generated files that are missing, differ, or belong to no claim any more."""
    return files.drifted(pages(), _FOLDER, (".md", ".svg"))


def write() -> list[str]:
    """Write what has drifted and remove what belongs to nothing; returns the names."""
    return files.write(pages(), _FOLDER, (".md", ".svg"))


def main(arguments: list[str]) -> int:
    """Write or compare; returns the exit code."""
    if arguments[:1] == ["--take"] and arguments[1:]:
        _FOLDER.mkdir(parents=True, exist_ok=True)
        taken([Path(name) for name in arguments[1:]]).save(_FOLDER / _RESULTS)
    return files.told(write() if arguments else drifted(), written=bool(arguments))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
