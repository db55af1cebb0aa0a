"""The built-in experiments with Kafka Connect, MirrorMaker, Kafka Streams and Flink, on real brokers."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.model.finding_class import FindingClass
from harness.model.result import ArmResult, VerdictWord
from harness.run.executor import Options, execute
from harness.spec.experiment_files import load

pytestmark = [pytest.mark.chaos, pytest.mark.soak]


def _arms(name: str, results: Path) -> dict[str, ArmResult]:
    ((_, result),) = execute([load(name)], Options(results=results))
    return {arm.meta.arm: arm for arm in result.arms}


def _count(arm: ArmResult, finding: FindingClass) -> int:
    assert arm.summary is not None, arm.judgement.reasons
    return arm.summary.count(finding)


def _arms_that_left_nothing_out(name: str, results: Path) -> dict[str, ArmResult]:
    arms = _arms(name, results)
    for arm in arms.values():
        assert arm.judgement.verdict is VerdictWord.VALID, arm.judgement.reasons
        assert _count(arm, FindingClass.UNPROCESSED) == 0
    return arms


def test_connects_file_connectors_leave_no_input_out(tmp_path: Path) -> None:
    arms = _arms_that_left_nothing_out("connect-files", tmp_path)
    assert _count(arms["source"], FindingClass.REPROCESSED) > 0
    assert _count(arms["sink"], FindingClass.REPROCESSED) > 0
    assert _count(arms["source-exactly-once"], FindingClass.REPROCESSED) == 0


def test_a_killed_mirrormaker_leaves_no_input_out(tmp_path: Path) -> None:
    arms = _arms_that_left_nothing_out("mirrormaker-killed", tmp_path)
    assert _count(arms["at-least-once"], FindingClass.REPROCESSED) > 0
    assert _count(arms["exactly-once"], FindingClass.REPROCESSED) == 0
    assert _count(arms["no-fault"], FindingClass.REPROCESSED) == 0


def test_kafka_streams_survives_kills_and_a_cut(tmp_path: Path) -> None:
    arms = _arms_that_left_nothing_out("kafka-streams", tmp_path)
    assert _count(arms["exactly-once"], FindingClass.REPROCESSED) == 0


def test_flink_writes_again_what_it_wrote_after_its_last_checkpoint(tmp_path: Path) -> None:
    arms = _arms_that_left_nothing_out("flink-dies", tmp_path)
    assert _count(arms["at-least-once"], FindingClass.REPROCESSED) > 0
    assert _count(arms["exactly-once"], FindingClass.REPROCESSED) == 0
    assert _count(arms["no-fault"], FindingClass.REPROCESSED) == 0


def test_a_group_fails_over_to_the_mirror_and_leaves_nothing_out(tmp_path: Path) -> None:
    arms = _arms("mirrormaker-failover", tmp_path)
    for name in ("translated", "synced"):
        assert arms[name].judgement.verdict is VerdictWord.VALID, arms[name].judgement.reasons
        # Of the 2,000 that were read before only those from the last pair of offsets on are read again.
        assert _count(arms[name], FindingClass.REPROCESSED) < 1500
    # Without a translation it passes over as many records as there are markers of transactions before it.
    assert _count(arms["same-offsets"], FindingClass.UNPROCESSED) > 0
