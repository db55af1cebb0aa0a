"""Our check and every peer that is installed count what was planted in the benchmark's histories."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from checkers.check import check_run
from tests.bench.checker.histories import RUN_ID, SHAPES
from tests.bench.checker.peers import PEERS
from tests.bench.checker.profile import Profile

pytestmark = pytest.mark.spark


@pytest.mark.soak
@pytest.mark.parametrize("shape", sorted(SHAPES))
def test_all_count_what_was_planted(spark: SparkSession, shape: str, tmp_path: Path) -> None:
    wrote = SHAPES[shape](tmp_path, 60_000)
    summary = check_run(spark, tmp_path)
    assert {finding.value: count for finding, count in summary.findings.items()} == wrote.findings
    assert summary.problems == ()


def test_a_history_in_which_little_differs_is_scanned_a_few_times(
    spark: SparkSession, tmp_path: Path
) -> None:
    SHAPES["clean"](tmp_path, 60_000)
    check_run(spark, tmp_path)
    profile = Profile(tmp_path)
    with profile.open():
        check_run(spark, tmp_path)
    times = {
        journal: sum(request.scanned.get(journal, 0) for request in profile.requests) / rows
        for journal, rows in profile.journals.items()
    }
    assert 1 <= times["sends"] <= 5
    assert 1 <= times["reads"] <= 3
    assert {"plan", "command", "schema"} <= {request.kind for request in profile.requests}
    assert any(request.written for request in profile.requests)


@pytest.mark.parametrize("peer", sorted(PEERS))
@pytest.mark.parametrize("shape", sorted(SHAPES))
def test_a_peer_counts_what_was_planted(peer: str, shape: str, tmp_path: Path) -> None:
    pytest.importorskip(peer)
    wrote = SHAPES[shape](tmp_path, 60_000)
    assert PEERS[peer](tmp_path, RUN_ID, 2) == wrote.findings
