"""Our check and every peer that is installed count what was planted in the benchmark's histories."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from checkers.check import check_run
from tests.bench.checker.histories import RUN_ID, SHAPES
from tests.bench.checker.peers import PEERS

pytestmark = pytest.mark.spark


@pytest.mark.soak
@pytest.mark.parametrize("shape", sorted(SHAPES))
def test_all_count_what_was_planted(spark: SparkSession, shape: str, tmp_path: Path) -> None:
    wrote = SHAPES[shape](tmp_path, 60_000)
    summary = check_run(spark, tmp_path)
    assert {finding.value: count for finding, count in summary.findings.items()} == wrote.findings
    assert summary.problems == ()


@pytest.mark.parametrize("peer", sorted(PEERS))
@pytest.mark.parametrize("shape", sorted(SHAPES))
def test_a_peer_counts_what_was_planted(peer: str, shape: str, tmp_path: Path) -> None:
    pytest.importorskip(peer)
    wrote = SHAPES[shape](tmp_path, 60_000)
    assert PEERS[peer](tmp_path, RUN_ID, 2) == wrote.findings
