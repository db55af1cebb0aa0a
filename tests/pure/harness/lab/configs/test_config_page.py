"""What a comparison of files says: cells, table, headline, what is more than chance, and its files."""

from __future__ import annotations

import io
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from harness.lab.configs.beyond_chance import beyond_chance
from harness.lab.configs.config_matrix import USUAL_FAULTS
from harness.lab.configs.config_page import configs_page, configs_table, write_configs_pages
from harness.lab.configs.config_result import ConfigComparison, load_configs
from harness.lab.configs.config_run import Latencies, latencies_of_run
from harness.many.matrix.result import MatrixResult
from harness.model.errors import JournalError
from harness.model.journal import SENDS, SENDS_DIR
from harness.report.page import html, markdown
from harness.report.page.blocks import text_of
from harness.report.page.terminal import print_page
from tests.support.builders.config_comparisons import drawn_comparison
from tests.support.builders.run_folders import save, send

pytestmark = pytest.mark.pure

ONE_LOSES = {
    "file=one.properties_fault=pause": {"lost": 100, "unavailable": 4.0},
    "file=all.properties_fault=pause": {"unavailable": 9.0},
}


def draw(arm: str, generator: np.random.Generator) -> dict[str, Any]:
    """acks=1 loses whenever the leader is paused; acks=all waits longer."""
    told = {"unavailable": 9.0} | ONE_LOSES.get(arm, {})
    noise = generator.random() / 10
    return told | {"unavailable": told["unavailable"] + noise}


def rows_of(comparison: ConfigComparison) -> dict[tuple[str, str], dict[str, str]]:
    """The table by fault and file."""
    table = configs_table(comparison)
    rows = [dict(zip(table.columns, map(text_of, row), strict=True)) for row in table.rows]
    return {(row["fault"], row["file"]): row for row in rows}


def shown(comparison: ConfigComparison, result: MatrixResult) -> dict[str, str]:
    """The page in its three forms."""
    page, out = configs_page(comparison, result), io.StringIO()
    print_page(Console(file=out, width=250), page)
    return {"terminal": out.getvalue(), "html": html.render(page), "markdown": markdown.render(page)}


def test_a_row_for_each_fault_and_file(tmp_path: Path) -> None:
    comparison, _ = drawn_comparison(tmp_path, draw)
    rows = rows_of(comparison)
    assert list(rows) == [
        ("kill", "one.properties"),
        ("kill", "all.properties"),
        ("pause", "one.properties"),
        ("pause", "all.properties"),
    ]
    lost = rows["pause", "one.properties"]
    assert (lost["runs"], lost["lost"], lost["runs with loss"]) == ("5", "100", "5 of 5 (from 55%)")
    assert lost["longest wait s"].endswith(", some lost")
    kept = rows["pause", "all.properties"]
    assert (kept["lost"], kept["runs with loss"]) == ("0", "0 of 5 (up to 45%)")
    assert kept["longest wait s"].startswith("9.")
    assert "some lost" not in kept["longest wait s"]
    assert (kept["p50 ms"], kept["p99 ms"]) == ("-", "-"), "there are no journals"


def test_each_count_stands_in_its_column(tmp_path: Path) -> None:
    counts = {"duplicates": 3, "reordered": 4, "failed": 5}
    comparison, _ = drawn_comparison(tmp_path, lambda *_: counts)
    row = rows_of(comparison)["kill", "all.properties"]
    assert {name: row[name] for name in counts} == {"duplicates": "3", "reordered": "4", "failed": "5"}
    assert row["lost"] == "0"
    rest = (
        "wrote some twice in 10, reordered some in 10, had failed sends in 10 and waited up to 4.0 s (pause)"
    )
    each = [f"{file} lost nothing in 10 runs, {rest}" for file in comparison.files]
    assert comparison.headline == "; ".join(each)


def test_records_that_no_broker_acknowledged_are_in_brackets(tmp_path: Path) -> None:
    texts = {"none.properties": "acks=0", "all.properties": "acks=all"}
    unconfirmed = {"unconfirmed": 10_000, "absent": 7}

    def of_none(arm: str, _: object) -> dict[str, Any]:
        return unconfirmed if "none" in arm else {}

    comparison, result = drawn_comparison(tmp_path, of_none, texts=texts)
    rows = rows_of(comparison)
    assert rows["kill", "none.properties"]["lost"] == "(7)"
    assert rows["kill", "all.properties"]["lost"] == "0"
    assert comparison.headline.startswith("none.properties lost records in 10 of 10 runs and waited")
    assert "in brackets: unconfirmed sends of acks=0" in shown(comparison, result)["markdown"]


def test_the_headline_is_one_sentence_about_both(tmp_path: Path) -> None:
    comparison, _ = drawn_comparison(tmp_path, draw)
    first, second = comparison.headline.split("; ")
    assert first.startswith("one.properties lost records in 5 of 10 runs and waited up to 9.")
    assert first.endswith(" s (kill)")
    assert second.startswith("all.properties lost nothing in 10 runs and waited up to 9.")


@pytest.mark.parametrize(("runs", "little"), [(1, True), (2, False)])
def test_one_run_of_each_is_said_to_show_little(runs: int, little: bool, tmp_path: Path) -> None:
    comparison, _ = drawn_comparison(tmp_path, draw, runs=runs)
    assert ("one run of each shows little" in comparison.headline) is little


def test_what_is_more_than_chance_both_ways(tmp_path: Path) -> None:
    _, result = drawn_comparison(tmp_path, draw, runs=8)
    lost, waited, *rest = beyond_chance(result)
    assert lost.startswith("pause: unavailable seconds: 9.")
    assert "with all.properties, 4.0" in lost
    assert waited.startswith(
        "pause: lost per million: 10,000 with one.properties, 0 with all.properties (p = "
    )
    assert rest == []


@pytest.mark.parametrize(("losing", "known"), [(2, True), (3, False)])
def test_five_runs_are_enough_for_six_tests(losing: int, known: bool, tmp_path: Path) -> None:
    """The waits under four faults are four of them; each fault under which a file always loses adds one."""

    def always(arm: str, generator: np.random.Generator) -> dict[str, Any]:
        loses = arm.startswith("file=one") and arm.partition("fault=")[2] in USUAL_FAULTS[:losing]
        return {"unavailable": 4 + generator.random(), "lost": 100 * loses}

    _, result = drawn_comparison(tmp_path, always, faults=())
    lines = [line for line in beyond_chance(result) if "lost per million" in line]
    assert len(lines) == (losing if known else 0)
    assert all(line.endswith("(p = 0.004)") for line in lines)


def test_equal_files_differ_by_chance_alone(tmp_path: Path) -> None:
    _, result = drawn_comparison(tmp_path, lambda *_: {}, runs=8)
    assert list(beyond_chance(result)) == ["no difference between the files is more than chance would make"]


def test_few_runs_are_told_how_many_it_takes(tmp_path: Path) -> None:
    _, result = drawn_comparison(tmp_path, draw, runs=2)
    (line,) = beyond_chance(result)
    assert line.startswith("differences cannot be told from chance with so few runs")
    needed = int(line.split("make at least ")[1].split()[0])
    assert 4 <= needed <= 6


def test_three_files_are_compared_in_pairs(tmp_path: Path) -> None:
    texts = {"a.conf": "acks=all", "b.conf": "acks=1", "c.conf": "acks=0"}

    def loses(arm: str, _: object) -> dict[str, Any]:
        return {"lost": 50} if "b.conf" in arm else {}

    _, result = drawn_comparison(tmp_path, loses, runs=9, texts=texts, faults=("kill",))
    assert [line.partition(" (p")[0] for line in beyond_chance(result)] == [
        "kill: lost per million: 5,000 with b.conf, 0 with a.conf",
        "kill: lost per million: 5,000 with b.conf, 0 with c.conf",
    ]


def test_a_pair_without_runs_in_common_is_not_compared(tmp_path: Path) -> None:
    comparison, result = drawn_comparison(tmp_path, draw, runs=0, unknown=2)
    assert list(beyond_chance(result)) == []
    assert comparison.headline == "No result: no run has a known verdict"
    assert rows_of(comparison)["kill", "all.properties"]["runs"] == "0 (+2)"
    text = shown(comparison, result)["terminal"]
    assert "all.properties under kill, run 1: a fault was not shown" in text


def test_every_form_has_the_answer_and_what_the_files_differ_in(tmp_path: Path) -> None:
    comparison, result = drawn_comparison(
        tmp_path, draw, texts={"one.properties": "acks=1; max.block.ms=1", "all.properties": "acks=all"}
    )
    for form, text in shown(comparison, result).items():
        assert comparison.headline in text.replace("\n", " "), form
        assert "enable.idempotence" in text, form
        unused = "not used: one.properties: max.block.ms: librdkafka has no equivalent" in text
        assert unused is (form != "terminal"), "the command has said it before it began"


def test_the_folder_has_the_page_and_the_files_of_a_matrix(tmp_path: Path) -> None:
    comparison, result = drawn_comparison(tmp_path, draw)
    (folder,) = tmp_path.glob("drawn-*")
    assert load_configs(folder) == comparison
    report = write_configs_pages(comparison, result, folder)
    assert {path.name for path in folder.iterdir()} == {
        *("configs.json", "report.html", "matrix.md", "matrix.csv", "matrix.junit.xml")
    }
    assert comparison.headline in report.read_text()
    assert comparison.headline in (folder / "matrix.md").read_text()
    with pytest.raises(JournalError, match="there is no comparison of files here"):
        load_configs(tmp_path)


def test_latencies_are_those_of_sends_that_succeeded(tmp_path: Path) -> None:
    numbers = count(1)
    rows = [send(0, next(numbers) / 1000, outcome) for outcome in ("acked", "unconfirmed") for _ in range(50)]
    failed = [send(0, 20.0, "indeterminate"), send(0, None, "indeterminate"), send(0, 9.0, "rejected")]
    save(tmp_path / SENDS_DIR, 0, rows[:60] + failed, SENDS)
    save(tmp_path / SENDS_DIR, 1, rows[60:], SENDS)
    assert latencies_of_run(tmp_path) == Latencies(50.0, 99.0)
    assert latencies_of_run(tmp_path / "none") == Latencies()
    save(tmp_path / "failed" / SENDS_DIR, 0, failed, SENDS)
    assert latencies_of_run(tmp_path / "failed") == Latencies()
    (tmp_path / SENDS_DIR / "part-00001.parquet").write_text("damaged")
    assert latencies_of_run(tmp_path) == Latencies()


def test_latencies_of_runs_are_in_the_table(tmp_path: Path) -> None:
    comparison, _ = drawn_comparison(tmp_path, draw)

    def with_latencies() -> Iterator[Any]:
        for cell in comparison.cells:
            runs = [run.model_copy(update={"p50_ms": 2.0, "p99_ms": 9.5}) for run in cell.runs]
            yield cell.model_copy(update={"runs": tuple(runs)})

    changed = comparison.model_copy(update={"cells": tuple(with_latencies())})
    row = rows_of(changed)["kill", "one.properties"]
    assert (row["p50 ms"], row["p99 ms"]) == ("2", "9.5")
