"""A suite on several Kafka versions: what can be tried on each, and what changed between them. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from harness.lab.suite.model import Item, SuiteItem, SuiteResult
from harness.lab.suite.page import count_verdicts, verdict_cell
from harness.lab.suite.runner import on_cluster
from harness.model.errors import BadInput
from harness.model.kafka_releases import version_key
from harness.report.page.blocks import AnyCell, Block, Lines, Table
from harness.spec.overrides import ClusterOptions

OWN_VERSIONS = "names its versions"
NOT_RUN = "not run"


@dataclass(frozen=True, slots=True)
class VersionTable:
    """Items and their results by version, oldest first, and why an item was not tried on a version, by
    (version, id)."""

    items: Sequence[SuiteItem]
    results: Mapping[str, Sequence[SuiteResult]] = field(default_factory=dict)
    left_out: Mapping[tuple[str, str], str] = field(default_factory=dict)

    def runs(self, version: str, item: SuiteItem) -> list[SuiteResult]:
        return [result for result in self.results[version] if result.id == item.id]

    def regressions(self) -> list[str]:
        """Items that failed in a run on a version, and passed in every run on the one before it on which they
        were decided, or are known to have passed before: `R12: yes on 4.1.1, no on 4.3.1`."""
        regressions = []
        for item in self.items:
            before: str | None = item.held_since or None
            for version in self.results:
                runs = self.runs(version, item)
                if before and any(run.verdict.failed for run in runs):
                    words = count_verdicts(runs)
                    regressions.append(f"{item.id}: {item.suite.passed} on {before}, {words} on {version}")
                if any(run.verdict.passed or run.verdict.failed for run in runs):
                    before = version if all(run.verdict.passed for run in runs) else None
        return regressions

    def blocks(self) -> tuple[Block, ...]:
        """A row per item and a column per version, then the regressions."""
        rows = [
            (f"{item.id} {item.title}", *(self._cell(version, item) for version in self.results))
            for item in self.items
        ]
        regressions = self.regressions()
        lines = [f"regression: {line}" for line in regressions] or ["no regression between these versions"]
        return Table((self.items[0].suite.item, *self.results), rows), Lines(lines)

    def to_json(self) -> dict[str, object]:
        """What `--json` prints: the results and what was left out by version, and the regressions."""
        return {
            "versions": {
                version: [result.model_dump(mode="json") for result in results]
                for version, results in self.results.items()
            },
            "left_out": [
                {"version": version, "id": item, "why": why} for (version, item), why in self.left_out.items()
            ],
            "regressions": self.regressions(),
        }

    def _cell(self, version: str, item: SuiteItem) -> AnyCell:
        runs = self.runs(version, item)
        if not runs:
            return self.left_out.get((version, item.id), NOT_RUN)
        return verdict_cell(runs, count_verdicts(runs))


def in_order(versions: str) -> list[str]:
    """The versions in a text such as `3.9.2,4.3.1`, each once, oldest first.

    Raises:
        BadInput: there is none.
    """
    names = dict.fromkeys(name.strip() for name in versions.split(",") if name.strip())
    if not names:
        raise BadInput("--versions names no version", expected="Kafka versions, such as 4.1.1,4.3.1,4.4.0")
    return sorted(names, key=version_key)


def items_for(
    version: str, items: Sequence[Item], move: Callable[[Item, str], Item]
) -> tuple[list[Item], dict[str, str]]:
    """The items that can be tried on this version, changed to it by `move`, and why the others cannot, by id:
    the `found` of the BadInput that `move` raises."""
    chosen, why = [], {}
    for item in items:
        try:
            moved = move(item, version)
        except BadInput as error:
            why[item.id] = error.found or error.what
            continue
        if moved.too_old():
            why[item.id] = f"needs {item.since}"
        else:
            chosen.append(moved)
    return chosen, why


def on_named_version(item: Item, version: str) -> Item:
    """The item with all of its arms on this version.

    Raises:
        BadInput: its arms name their versions, or cannot have this one; `found` says why.
    """
    if item.pinned:
        raise BadInput("the item cannot be tried on another version", found=OWN_VERSIONS)
    return on_cluster(item, ClusterOptions(version))
