"""Run folders made by hand, for what expectations make of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from harness.lab.suite.run_evidence import SECOND, FinishedRun
from harness.model import journal
from harness.model.finding_class import FindingClass
from harness.model.result import ArmResult, Judgement, VerdictWord
from harness.model.run import FaultWindow, FinalRead, PartitionBounds, ReaderInfo, RunMeta, StepInfo
from tests.support.builders.summaries import summary_with

T0 = 1_000 * SECOND


def at(seconds: float) -> int:
    """Nanoseconds of a moment, in seconds after the begin."""
    return T0 + int(seconds * SECOND)


class FinishedRunFolder:
    """A run folder made by hand, in seconds after its begin."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.rows: dict[str, list[dict[str, Any]]] = {}
        self.steps: list[StepInfo] = []
        self.windows: list[FaultWindow] = []
        self.findings: dict[FindingClass, int] = {}
        self.acked: dict[str, int] = {}

    def step(self, name: str, begin: float, end: float) -> int:
        index = len(self.steps)
        self.steps.append(
            StepInfo(index=index, name=name, kind="write", started_ns=at(begin), ended_ns=at(end))
        )
        return index

    def send(self, step: int, seq: int, **how: Any) -> None:
        base = {"producer": 0, "seq": seq, "topic": "t", "partition": 0, "size": 1, "step": step}
        self._add(journal.SENDS_DIR, base | {"sent_ns": at(0), "outcome": "acked", "closed_ns": at(1)} | how)

    def read(self, offset: int, seq: int | None, epoch: int = 0) -> None:
        row = {"reader": "final", "topic": "t", "partition": 0, "offset": offset, "leader_epoch": epoch}
        self._add(journal.READS_DIR, row | {"state": "ok", "producer": 0, "seq": seq, "read_ns": at(9)})

    def live(self, reader: str, position: int, offset: int, seq: int) -> None:
        row = {"reader": reader, "topic": "t", "partition": 0, "offset": offset, "position": position}
        self._add(
            f"{journal.LIVE_DIR}/{reader}",
            row | {"state": "ok", "producer": 0, "seq": seq, "read_ns": at(9), "session": 0},
        )

    def sample(self, seconds: float, leader: int, isr: list[int], **how: Any) -> None:
        """As the leader tells it."""
        row = {"at_ns": at(seconds), "broker": how.pop("broker", max(leader, 1)), "answered": True}
        state = {"topic": "t", "partition": 0, "leader": leader, "leader_epoch": 0, "isr": isr}
        self._add(journal.SAMPLES_DIR, row | state | how)

    def answer(self, ask: str, question: str, broker: int, number: int | None = None, **how: Any) -> None:
        detail = json.dumps(how.pop("detail", {}))
        row = {"at_ns": at(0), "ask": ask, "round": 0, "place": 0, "broker": broker, "partition": 0}
        self._add(journal.ANSWERS_DIR, row | {"question": question, "number": number, "detail": detail} | how)

    def replica(self, broker: int, offset: int, seq: int, epoch: int = 0, crc: int = 7) -> None:
        row = {"broker": broker, "topic": "t", "partition": 0, "offset": offset, "leader_epoch": epoch}
        self._add(
            journal.REPLICAS_DIR,
            row | {"control": False, "state": "ok", "run": 1, "producer": 0, "seq": seq, "crc": crc},
        )

    def epochs(self, broker: int, *lines: tuple[int, int]) -> None:
        for epoch, offset in lines:
            row = {"broker": broker, "file": "leader-epoch-checkpoint", "topic": "t", "partition": 0}
            self._add(journal.CHECKPOINTS_DIR, row | {"leader_epoch": epoch, "offset": offset})

    def fault(self, name: str, phase: str, seconds: float) -> None:
        row = {"at_ns": at(seconds), "fault": name, "kind": "k", "phase": phase, "target": "", "detail": "{}"}
        self._add("faults", row)

    def _add(self, folder: str, row: dict[str, Any]) -> None:
        self.rows.setdefault(folder, []).append(row)

    def finished(self) -> FinishedRun:
        schemas = {
            journal.SENDS_DIR: journal.SENDS,
            journal.READS_DIR: journal.READS,
            journal.SAMPLES_DIR: journal.SAMPLES,
            journal.ANSWERS_DIR: journal.ANSWERS,
            journal.REPLICAS_DIR: journal.REPLICAS,
            journal.CHECKPOINTS_DIR: journal.CHECKPOINTS,
        }
        for name, rows in self.rows.items():
            if name == "faults":
                pq.write_table(
                    pa.Table.from_pylist(rows, schema=journal.FAULTS), self.path / journal.FAULTS_FILE
                )
                continue
            (self.path / name).mkdir(parents=True)
            schema = journal.READS if name.startswith(journal.LIVE_DIR) else schemas[name]
            table = pa.Table.from_pylist(rows, schema=schema)
            pq.write_table(table, self.path / name / "part-00000.parquet")
        inspected = tuple(sorted({row["broker"] for row in self.rows.get(journal.REPLICAS_DIR, [])}))
        bounds = PartitionBounds(
            topic="t", partition=0, log_start_offset=0, end_offset=9, leader=1, leader_epoch=2
        )
        meta = RunMeta(
            run_id=1,
            experiment="x",
            arm="a",
            seed=1,
            topic="t",
            partitions=1,
            replication_factor=3,
            acks="all",
            idempotent=False,
            started_ns=T0,
            steps=tuple(self.steps),
            windows=tuple(self.windows),
            final_read=FinalRead(complete=True, bounds=(bounds,), replicas_inspected=inspected),
            finished=True,
            readers=(ReaderInfo(name="c"),),
        )
        summary = summary_with(findings=self.findings, acked_by_step=self.acked)
        judgement = Judgement(verdict=VerdictWord.VALID, reasons=(), as_promised=True)
        return FinishedRun(self.path, ArmResult(folder="a", meta=meta, summary=summary, judgement=judgement))
