"""The example of docs/reference/journals.md, run as it stands there, is a run that can be checked."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from checkers.check import check_run
from checkers.judgement.judge import judge
from harness.cli.docgen.reference import JOURNALS_PAGE
from harness.model.finding_class import FindingClass
from harness.model.result import VerdictWord
from harness.model.run import RunMeta
from tests.support.history import findings_of

pytestmark = pytest.mark.spark


def example(folder: Path, monkeypatch: pytest.MonkeyPatch, **changes: str) -> Path:
    """Run the page's script in `folder`, with pieces of its text replaced."""
    found = re.search(r"<!-- example:begin -->\n```python\n(.*?)```", JOURNALS_PAGE.read_text(), re.DOTALL)
    assert found is not None
    text = found[1]
    for before, after in changes.items():
        assert before in text
        text = text.replace(before, after)
    monkeypatch.chdir(folder)
    exec(compile(text, str(JOURNALS_PAGE), "exec"), {})
    return folder / "my-run"


def test_the_example_is_checked(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = example(tmp_path, monkeypatch)
    summary = check_run(spark, folder)
    verdict = judge(RunMeta.load(folder), summary)
    assert verdict.verdict is VerdictWord.INVALID, verdict.reasons
    assert (summary.sent, summary.count(FindingClass.LOST), summary.count(FindingClass.RECOVERED)) == (
        3,
        1,
        1,
    )
    assert [(row["finding"], row["seq"]) for row in findings_of(folder)] == [("lost", 1), ("recovered", 2)]


def test_without_your_word_a_loss_is_not_judged(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = example(tmp_path, monkeypatch, **{'"attested": True,': ""})
    verdict = judge(RunMeta.load(folder), check_run(spark, folder))
    assert verdict.verdict is VerdictWord.UNKNOWN
    assert any("no replica's own files" in reason for reason in verdict.reasons)
