"""The documentation of the claims, made from their definitions and from the results of runs.

`docs/claims/README.md` has one row per claim, `docs/claims/R12.md` is one claim's page. What was seen comes
from `docs/claims/results.json`, which holds whole runs of `kafka-chaos claims`.
"""

from __future__ import annotations

from functools import partial

from harness.claims import plots
from harness.claims.claim import CLAIMS, Claim, ClaimResult
from harness.docgen import files, suites
from harness.suite.page import count_verdicts

FOLDER, SUFFIXES = files.DOCS / "claims", (".md", ".svg")
_RESULTS = FOLDER / "results.json"
_SIDE_BY_SIDE = frozenset({"R10", "R18"})

ClaimRuns = suites.Runs[ClaimResult]


def pages() -> dict[str, str]:
    """The text of every generated file, by its name below docs/claims."""
    runs = ClaimRuns.load(_RESULTS)
    found = {f"{claim.id}.md": page(claim, runs) for claim in CLAIMS}
    return {**found, "README.md": overview(runs), **pictures(runs)}


def overview(runs: ClaimRuns) -> str:
    """The page with all claims."""
    table = suites.result_table(CLAIMS, runs, lambda claim: f"{claim}.md")
    return files.render("claims.md.j2", machine=runs.machine, result_table=table)


def page(claim: Claim, runs: ClaimRuns) -> str:
    """One claim's page."""
    results = runs.of(claim.id)
    latest = results[-1] if results else None
    # One arm may be a claim's and a control's: its story is told once.
    stories = {(a.experiment, a.arm): a for a in reversed(latest.arms if latest else ()) if a.story}
    return suites.render(
        "claim.md.j2",
        claim=claim,
        latest=latest,
        verdicts=count_verdicts(results),
        kafka=", ".join(sorted({result.kafka for result in results})),
        picture=f"{claim.id}.svg" in pictures(runs),
        side_by_side=plots.side_by_side(latest.arms) if latest and claim.id in _SIDE_BY_SIDE else (),
        stories=list(reversed(stories.values())),
    )


def pictures(runs: ClaimRuns) -> dict[str, str]:
    """SVG files by name, of what runs have measured."""
    drawings = plots.draw([result for run in runs.runs for result in run])
    return {f"{claim}.svg": text for claim, text in drawings.items()}


take = partial(suites.take, ClaimRuns, _RESULTS)
