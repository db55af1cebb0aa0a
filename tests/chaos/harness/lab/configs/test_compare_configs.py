"""Two files of settings compared on real brokers: acks=1 loses what acks=all waits for."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from harness.many.matrix.result import load_result
from tests.support.builders.config_comparisons import ACKS, written_files

pytestmark = [pytest.mark.chaos, pytest.mark.soak]


def test_acks_1_against_acks_all(tmp_path: Path, results: Path) -> None:
    files = [str(path) for path in written_files(tmp_path, ACKS)]
    chosen = ["--fault", "cut-then-kill", "--fault", "planned-move", "--repeat", "1", "--rate", "200"]
    command = [sys.executable, "-m", "kafka_chaos", "compare-configs", *files, *chosen, "--seed", "4"]
    done = subprocess.run(
        [*command, "--results", str(results), "-q", "--json"],
        stdout=subprocess.PIPE,
        text=True,
        check=False,
        timeout=1200,
    )
    assert done.returncode == 1, "acks=1 promises that nothing is lost, as every file does"
    told = json.loads(done.stdout)
    cells: dict[tuple[str, str], dict[str, Any]] = {
        (cell["fault"], cell["file"]): cell for cell in told["cells"]
    }
    assert [cell["left_out"] for cell in cells.values()] == [[]] * 4
    runs = {key: cell["runs"][0] for key, cell in cells.items()}
    careless, careful = (runs["cut-then-kill", file] for file in ACKS)
    assert careless["lost"] > 300, "most of 4 s, in which the leader acknowledged alone"
    assert careful["lost"] == 0
    assert careful["waited"] > 5, "nothing is acknowledged until another broker leads"
    assert careful["p99_ms"] > careful["p50_ms"] > 0
    moved = runs["planned-move", "all.properties"]
    assert (moved["lost"], moved["duplicates"]) == (0, 0)
    assert moved["waited"] < careful["waited"], "every broker ran"
    assert told["headline"].startswith("one.properties lost records in ")
    assert "; all.properties lost nothing in 2 runs" in told["headline"]
    folder = next(results.glob("compare-configs-*"))
    assert told["headline"] in (folder / "report.html").read_text()
    assert load_result(folder).ended == "all runs made"
