"""Findings about deliveries to readers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from checkers.checks.run import attempt, run_checks
from checkers.checks.sentences import FindingRows
from checkers.facts.columns import MOST, NULL, WIDTH, ColumnBatch, nullable
from checkers.facts.deliveries import DAMAGED_STATES, SKIPPED, Deliveries, Unit
from checkers.facts.places import Places
from checkers.facts.reading import read_identities
from checkers.facts.tasks import RunContext
from checkers.findings.table import FINDINGS, Labels, findings_table, partition_numbers, place_names
from checkers.findings.value_findings import corrupt_deliveries, one_each
from checkers.journals.footers import RowGroup
from checkers.journals.load import RunJournals


def units_of(journals: RunJournals) -> tuple[Unit, ...]:
    """Consumer groups with their readers, and readers without a group, by name."""
    members: dict[tuple[str, bool], list[int]] = {}
    for number, reader in enumerate(journals.readers):
        members.setdefault((reader.group or reader.name, reader.group is not None), []).append(number)
    live = journals.files.live
    return tuple(
        Unit(
            name=name,
            group=is_group,
            committed=any(journals.readers[number].committed for number in numbers),
            readers=tuple(
                (number, journals.readers[number].name, tuple(file.path for file in live[number]))
                for number in numbers
            ),
            rows=sum(file.rows for number in numbers for file in live[number]),
        )
        for (name, is_group), numbers in sorted(members.items())
    )


def delivery_findings(
    unit: Unit, found: Deliveries, context: RunContext, final: Sequence[RowGroup], readers: Sequence[str]
) -> tuple[pa.Table, list[str]]:
    """Findings about deliveries to a unit, as `FINDINGS`, and the problems of checks that failed.

    Args:
        final: row groups of the final read, in which skipped records are looked up.
        readers: names by number.
    """
    of_deliveries, claimed, problems = run_checks(found.anomalies, "delivery")
    rows = _with_skipped_identity(found.anomalies, context, final)
    damaged = found.damaged
    tables = [
        corrupt_deliveries(
            ColumnBatch(damaged.columns | {"partition": partition_numbers(damaged["spot"])}),
            DAMAGED_STATES,
            place_names(damaged["spot"], context.topics),
            Labels(damaged["reader"], readers),
        )
    ]
    for number, check in enumerate(of_deliveries):
        chosen = rows.where(np.flatnonzero(claimed == number))
        reader = chosen["reader"]
        who = Labels(np.where(reader == NULL, len(readers), reader), [*readers, unit.name]).array()
        texts = {"who": who, "at": place_names(chosen["spot"], context.topics).array()}
        sentence = FindingRows(chosen.columns, texts)
        detail, problem = attempt(check.finding.value, lambda: check.sentences(sentence))  # noqa: B023 - at once
        problems += [problem] if problem else []
        columns = {
            name: nullable(chosen[name], FINDINGS.field(name).type) for name in ("producer", "seq", "count")
        }
        columns |= {
            "finding": Labels.same(check.finding.value, len(chosen)).array(),
            "partition": nullable(partition_numbers(chosen["spot"]), pa.int32()),
            "offsets": one_each(chosen["offset"]),
            "reader": who,
        }
        tables.append(findings_table(len(chosen), columns | ({} if detail is None else {"detail": detail})))
    return pa.concat_tables(tables), problems


def _with_skipped_identity(rows: ColumnBatch, context: RunContext, final: Sequence[RowGroup]) -> ColumnBatch:
    """Rows of skipped offsets with the identity of the first skipped record, from the final read."""
    skipped = np.flatnonzero(rows["kind"] == SKIPPED)
    if not len(skipped):
        return rows
    spot, offset = rows["spot"][skipped], rows["offset"][skipped]
    wanted = [
        (int(one), int(offset[spot == one].min()), int(offset[spot == one].max())) for one in np.unique(spot)
    ]
    groups = [
        group
        for group in final
        if any(group.may_hold(one % WIDTH, least, most) for one, least, most in wanted)
    ]
    places = Places(spot, offset)
    producer, seq = np.full(places.size, MOST), np.full(places.size, MOST)
    for there in read_identities(groups, context.numbers):
        at = places.of(there["spot"], there["offset"])
        # Of several records at one place the least counts, so it is written last.
        known = np.lexsort((there["seq"], there["producer"]))[::-1]
        known = known[at[known] >= 0]
        at, one, other = at[known], there["producer"][known], there["seq"][known]
        less = (one < producer[at]) | ((one == producer[at]) & (other < seq[at]))
        producer[at[less]], seq[at[less]] = one[less], other[less]
    mine = places.of(spot, offset)
    columns = dict(rows.columns)
    for name, found in (("producer", producer), ("seq", seq)):
        columns[name] = columns[name].copy()
        columns[name][skipped] = np.where(found[mine] == MOST, NULL, found[mine])
    return ColumnBatch(columns)
