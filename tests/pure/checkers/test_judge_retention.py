"""What retention explains: the topic's settings, else the brokers', else Kafka's defaults."""

from __future__ import annotations

import pytest

from checkers.judgement.policy import Policy, Retention, age_by_own_time, retention
from harness.model.run import ChangedConfig, FinalRead
from tests.support.history import run_meta

pytestmark = pytest.mark.pure

WEEK_MS = 604_800_000


@pytest.mark.parametrize(
    ("topic", "brokers", "expected"),
    [
        ({}, {}, Retention(True, WEEK_MS, -1)),
        ({"retention.ms": "5", "retention.bytes": "7"}, {"log.retention.ms": "9"}, Retention(True, 5, 7)),
        ({}, {"log.retention.ms": "9", "log.retention.bytes": "8"}, Retention(True, 9, 8)),
        ({}, {"log.retention.minutes": "2", "log.retention.hours": "1"}, Retention(True, 120_000, -1)),
        ({}, {"log.retention.hours": "1"}, Retention(True, 3_600_000, -1)),
        ({}, {"log.retention.hours": "-1"}, Retention(True, -1, -1)),
        ({"cleanup.policy": "compact"}, {}, Retention(False, WEEK_MS, -1)),
        ({"cleanup.policy": "compact, delete"}, {}, Retention(True, WEEK_MS, -1)),
        ({}, {"log.cleanup.policy": "compact"}, Retention(False, WEEK_MS, -1)),
    ],
)
def test_which_setting_rules(topic: dict[str, str], brokers: dict[str, str], expected: Retention) -> None:
    assert retention(topic, brokers) == expected


@pytest.mark.parametrize(
    ("rule", "now_ns", "oldest"),
    [
        (Retention(True, 60_000, -1), 100 * 10**9, 40 * 10**9),
        (Retention(True, 60_000, -1), None, None),
        (Retention(True, -1, -1), 100 * 10**9, None),
        (Retention(True, -1, 0), None, 2**63 - 1),
        (Retention(False, 0, 0), 100 * 10**9, None),
    ],
)
def test_up_to_which_send_time(rule: Retention, now_ns: int | None, oldest: int | None) -> None:
    assert rule.newest_deletable_ns(now_ns) == oldest


def test_settings_of_a_fault_count_as_long_as_they_were_in_force() -> None:
    final = FinalRead(complete=True, finished_ns=100 * 10**9)
    meta = run_meta(topic_config={"retention.ms": "60000"}, final_read=final)
    assert Policy.of(meta).newest_deletable_ns == 40 * 10**9
    short = ChangedConfig(config={"retention.ms": "1000"}, until_ns=50 * 10**9)
    assert Policy.of(meta.model_copy(update={"changed_configs": (short,)})).newest_deletable_ns == 49 * 10**9
    never = ChangedConfig(config={"retention.ms": "-1"}, until_ns=50 * 10**9)
    assert Policy.of(meta.model_copy(update={"changed_configs": (never,)})).newest_deletable_ns == 40 * 10**9
    still = ChangedConfig(config={"retention.ms": "1000", "cleanup.policy": "compact,delete"})
    policy = Policy.of(meta.model_copy(update={"changed_configs": (still,)}))
    assert (policy.newest_deletable_ns, policy.compacts) == (99 * 10**9, True)


@pytest.mark.parametrize(
    ("topic", "brokers", "own"),
    [
        ({}, {}, True),
        ({"message.timestamp.type": "CreateTime"}, {}, True),
        ({"message.timestamp.type": "LogAppendTime"}, {}, False),
        ({}, {"log.message.timestamp.type": "LogAppendTime"}, False),
        ({"message.timestamp.type": "CreateTime"}, {"log.message.timestamp.type": "LogAppendTime"}, True),
    ],
)
def test_whose_time_tells_the_age_of_a_record(
    topic: dict[str, str], brokers: dict[str, str], own: bool
) -> None:
    assert age_by_own_time(topic, brokers) is own


def test_a_changed_timestamp_type_leaves_both_times_possible() -> None:
    meta = run_meta(final_read=FinalRead(complete=True, finished_ns=100 * 10**9))
    assert Policy.of(meta).own_times == {True}
    changed = ChangedConfig(config={"message.timestamp.type": "LogAppendTime"}, until_ns=50 * 10**9)
    assert Policy.of(meta.model_copy(update={"changed_configs": (changed,)})).own_times == {True, False}
