"""A run on real brokers whose check Apache Spark makes; the other tests of this tier check with Sail."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from harness.check_jobs.engines import stop_engines
from harness.cli.app import app

pytestmark = [pytest.mark.chaos, pytest.mark.soak]


def test_apache_spark_counts_what_sail_counts(results: Path) -> None:
    run = ["run", "cut-then-kill", "--results", str(results), "--engine", "spark", "--json", "--quiet"]
    try:
        outcome = CliRunner().invoke(app, run)
    finally:
        stop_engines()
    assert outcome.exit_code == 0, outcome.output
    (result,) = json.loads(outcome.stdout)
    (folder,) = (path.parent for path in results.glob("*/result.json"))
    again = CliRunner().invoke(app, ["check", str(folder), "--engine", "sail", "--json", "--quiet"])
    assert again.exit_code == 0, again.output
    told = json.loads(again.stdout)
    for by_spark, by_sail in zip(result["arms"], told["arms"], strict=True):
        first, second = by_spark["summary"], by_sail["summary"]
        assert first["engine"].startswith("Apache Spark "), by_spark["meta"]["problems"]
        assert second["engine"].startswith("Sail "), by_sail["meta"]["problems"]
        own = dict.fromkeys(("engine", "check_seconds"))
        assert first | own == second | own
    assert result["arms"][0]["summary"]["findings"]["lost"] == 500
