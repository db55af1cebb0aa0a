"""Findings about replicas that differ."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from checkers.checks.run import attempt, run_checks
from checkers.checks.sentences import FindingRows
from checkers.facts.columns import ColumnBatch, Flags, Ints
from checkers.facts.places import ranked
from checkers.facts.replicas import ReplicaLog, holdings
from checkers.facts.tasks import RunContext
from checkers.findings.table import Labels, findings_table, partition_numbers, place_names
from checkers.findings.value_findings import one_each


def replica_findings(log: ReplicaLog, context: RunContext) -> tuple[pa.Table, list[str]]:
    """Findings about one partition, as `FINDINGS`, and the problems of checks that failed."""
    partings: dict[int, int] = {}
    tables, problems = [findings_table(0, {})], []
    for chunk in holdings(log, context.numbers):
        of_replicas, found, failed = run_checks(chunk, "replica")
        problems += failed
        for number, check in enumerate(of_replicas):
            offset, brokers = _by_offset(chunk, found == number)
            # Offsets ascend, so the first one at which a broker differs is known here.
            for one, kind in zip(offset.tolist(), brokers.codes.tolist(), strict=True):
                for broker in brokers.names[kind]:
                    partings.setdefault(broker, one)
            texts = {
                "at": place_names(np.full(len(offset), log.spot), context.topics).array(),
                "partings": Labels(
                    brokers.codes, [_parted(kind, partings) for kind in brokers.names]
                ).array(),
            }
            rows = FindingRows({"offset": offset}, texts)
            detail, problem = attempt(check.finding.value, lambda: check.sentences(rows))  # noqa: B023 - at once
            problems += [problem] if problem else []
            columns = {
                "finding": Labels.same(check.finding.value, len(offset)).array(),
                "partition": pa.array(partition_numbers(np.full(len(offset), log.spot))),
                "offsets": one_each(offset),
                "held_by": brokers.array(pa.list_(pa.int32())),
            }
            tables.append(
                findings_table(len(offset), columns | ({} if detail is None else {"detail": detail}))
            )
    return pa.concat_tables(tables), problems


def _parted(brokers: Sequence[int], partings: dict[int, int]) -> str:
    return ", ".join(f"broker {broker} differs from offset {partings[broker]} on" for broker in brokers)


def _by_offset(chunk: ColumnBatch, flags: Flags) -> tuple[Ints, Labels]:
    """The offsets with a flagged broker, ascending, and those brokers."""
    many = np.unique(chunk["broker"])
    grid = flags.reshape(len(many), -1)
    some = np.flatnonzero(grid.any(axis=0))
    code = np.zeros(len(some), np.int64)
    kinds: list[tuple[int, ...]] = [()]
    for broker, differs in zip(many.tolist(), grid[:, some], strict=True):
        found, code = ranked(code * 2 + differs)
        kinds = [(*kinds[one >> 1], broker) if one & 1 else kinds[one >> 1] for one in found.tolist()]
    return chunk["offset"][: grid.shape[1]][some], Labels(code, kinds)
