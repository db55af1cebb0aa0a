"""What `import-ids --topic` writes is a run folder that a check judges by ids alone."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from checkers.check import check_run
from checkers.judgement.judge import judge
from checkers.rates.aggregate import rates_of_runs
from harness.model.id_journal import LOG_IDS, LOG_IDS_DIR
from harness.model.journal import READS, READS_DIR
from harness.model.result import ArmResult, VerdictWord
from harness.model.run import FinalRead
from harness.report.arms_table import row
from harness.report.page.blocks import text_of
from harness.run.reads.final_read import FinalReadTarget
from harness.tools.interop import ids_import
from harness.tools.interop.ids_import import IdsImport, import_ids
from harness.tools.interop.ledger_check import LedgerRequest
from tests.support.history import History, bounds, findings_of, write_part
from tests.support.topic_stand_in import TopicStandIn
from workloads.records.config.id_spec import IdSpec

pytestmark = pytest.mark.spark


def test_a_list_and_a_topic(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    history = History()
    for offset, name in enumerate(("a", "b", "a", "d")):
        history.read(
            None, at=offset, producer=None, state="undecodable", run=None, value=b"{}", record_id=name
        )

    def read(_cluster: TopicStandIn, _target: FinalReadTarget, folder: Path) -> FinalRead:
        for where, rows, schema in (
            (READS_DIR, history.reads, READS),
            (LOG_IDS_DIR, history.log_ids, LOG_IDS),
        ):
            write_part(folder / where / "part-00000.parquet", rows, schema, 100)
        return FinalRead(complete=True, bounds=(bounds(end=4),), records=4)

    TopicStandIn().stand_in(monkeypatch, ids_import, read)
    (tmp_path / "sent").write_text("id\toutcome\na\tok\nb\ttimeout\nc\tok\ne\ttimeout\n")
    lists = LedgerRequest((tmp_path / "sent",), (), "id")
    request = IdsImport(lists, "t", "there:9092", IdSpec(key=True))
    meta, lines = import_ids(request, tmp_path / "run")
    assert "4 rows, column id, outcomes of the column outcome" in lines[0]
    summary = check_run(spark, tmp_path / "run")
    found = {one["id"]: (one["finding"], one["offsets"]) for one in findings_of(tmp_path / "run")}
    assert found == {"a": ("duplicate_id", [0, 2]), "c": ("lost_id", None), "d": ("phantom_id", [3])}
    assert (summary.sent, summary.problems) == (4, ())
    assert summary.outcomes == {"acked": 2, "indeterminate": 2}
    assert (summary.indeterminate_present, summary.unavailable_seconds) == (None, None), "not known"
    judgement = judge(meta, summary)
    assert judgement.verdict is VerdictWord.INVALID
    arm = ArmResult(folder="run", meta=meta, summary=summary, judgement=judgement)
    assert [text_of(cell) for cell in row(arm, ("acked", "lost", "duplicates"))] == ["2", "-", "-"]
    (rates,) = rates_of_runs(spark, tmp_path / "run", ["arm"], latencies=False).rows
    assert (rates["acked"], rates["lost_per_million"]) == (0, None)
    assert (rates["lost_id_per_million"], rates["duplicate_id_per_million"]) == (500_000, 250_000)
