"""Known bugs on other versions: fixed arms are moved, or it is said why not, and what is a regression."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from harness.cli import suite_runs
from harness.lab.bugs.bug import BUGS, Bug
from harness.lab.bugs.on_versions import FIX_SUITE, Fix
from harness.lab.suite.judge import exit_code, judge
from harness.lab.suite.model import Role, SuiteArm, SuiteVerdict, choose
from harness.lab.suite.page import columns
from harness.lab.suite.versions import VersionTable, items_for
from harness.model.host.fetched import unresolved
from tests.support.builders.bug_results import BROKEN, MET, NOT_MET, VALID, arm_result

pytestmark = pytest.mark.pure

NEWER = "4.9.7"


def fix(bug: str) -> Fix:
    return Fix.of_bug(choose(BUGS, [bug])[0])


def only(arm: SuiteArm) -> Any:
    (own,) = arm.experiment.arms
    return own


@pytest.mark.parametrize("bug", BUGS, ids=[bug.id for bug in BUGS])
def test_a_built_in_bug_says_from_when_on_it_is_fixed_or_why_it_is_not_moved(bug: Bug) -> None:
    assert bool(bug.fixed_in) != bool(bug.not_moved)


def test_the_brokers_are_moved_and_nothing_else() -> None:
    (moved,) = fix("KAFKA-19446").moved_to(NEWER).arms
    (before,) = choose(BUGS, ["KAFKA-19446"])[0].of(Role.FIXED)
    assert (moved.experiment.name, moved.arm) == (f"kafka-19446-{NEWER}", NEWER)
    assert moved.expects is before.expects
    same = {"version": before.experiment.cluster.version}
    assert moved.experiment.cluster.model_copy(update=same) == before.experiment.cluster
    assert moved.experiment.steps == before.experiment.steps


def test_the_client_is_moved_and_the_brokers_stay() -> None:
    for bug, versions in (
        ("KAFKA-18641", lambda own: {reader.version for reader in own.readers}),
        ("KAFKA-19012", lambda own: {own.workload.driven.version}),
        ("KAFKA-19479", lambda own: {own.application["run"]["options"]["version"]}),
    ):
        (moved,) = fix(bug).moved_to(NEWER).arms
        assert versions(only(moved)) == {NEWER}
        assert moved.arm.endswith(NEWER)
        assert moved.experiment.cluster == fix(bug).arms[0].experiment.cluster


@pytest.mark.parametrize(
    ("bug", "version", "why"),
    [
        ("KAFKA-19446", "4.1.1", "fixed in 4.2"),
        ("KAFKA-17507", NEWER, "fixed in 3.9.1, and Kafka 4 has another group coordinator"),
        ("librdkafka-4844", NEWER, "fixed in librdkafka"),
        ("KIP-279", "4.1.1", "Kafka 4.1.1 has no ZooKeeper mode: 3.9 was the last version with it (KIP-833)"),
    ],
)
def test_what_cannot_be_tried_says_why(bug: str, version: str, why: str) -> None:
    assert items_for(version, [fix(bug)], Fix.moved_to) == ([], {fix(bug).id: why})


def test_a_file_without_a_version_is_not_moved() -> None:
    own = fix("KAFKA-19446").model_copy(update={"fixed_in": ""})
    assert items_for(NEWER, [own], Fix.moved_to)[1] == {own.id: "its file has no fixed_in"}


def test_arms_that_differ_in_their_version_alone_are_tried_once() -> None:
    (bug,) = choose(BUGS, ["KAFKA-19446"])
    (fixed,) = bug.of(Role.FIXED)
    (later,) = fix(bug.id).moved_to("4.2.0").arms
    both = bug.model_copy(update={"arms": (*bug.arms, later)})
    assert [len(both.of(Role.FIXED)), len(Fix.of_bug(both).moved_to("4.4.0").arms)] == [2, 1]
    assert fixed.arm != later.arm
    assert len(fix("KIP-903").moved_to("4.4.0").arms) == 2, "they differ in metadata.version"


@pytest.mark.parametrize(
    ("rows", "verdict"),
    [
        ((MET, VALID), SuiteVerdict.AS_FIXED),
        ((NOT_MET, VALID), SuiteVerdict.UNKNOWN),
        ((MET, BROKEN), SuiteVerdict.NOT_AS_FIXED),
        # Some preconditions are what the correction does: that a request was refused.
        ((NOT_MET, BROKEN), SuiteVerdict.NOT_AS_FIXED),
    ],
)
def test_an_arm_that_is_not_as_it_was_fails_whatever_its_preconditions(
    rows: Any, verdict: SuiteVerdict
) -> None:
    assert judge(FIX_SUITE, [arm_result(Role.FIXED, *rows)])[0] is verdict
    doubtful = judge(FIX_SUITE, [arm_result(Role.FIXED, *rows, doubts=("no final read",))])
    assert doubtful == (SuiteVerdict.UNKNOWN, ("fixed-arm: no final read",))


def test_a_failure_on_the_first_version_is_a_regression_too() -> None:
    (item,) = items = [fix("KAFKA-19446")]

    def seen(verdict: SuiteVerdict) -> list[Any]:
        arms = (arm_result(Role.FIXED, VALID),)
        values = {"id": item.id, "title": "t", "verdict": verdict, "reasons": (), "arms": arms}
        return [FIX_SUITE.result(**values, seconds=1, kafka=NEWER)]

    table = VersionTable(items, {"4.4.0": seen(SuiteVerdict.NOT_AS_FIXED)})
    assert table.regressions() == ["KAFKA-19446: as fixed on 4.2, not as fixed on 4.4.0"]
    assert exit_code(table.results["4.4.0"]) == 1
    good = VersionTable(items, {"4.4.0": seen(SuiteVerdict.AS_FIXED)})
    assert (good.regressions(), exit_code(good.results["4.4.0"])) == ([], 0)


def test_a_table_has_the_fixed_arms_alone_and_a_page_says_how_to_repeat_it() -> None:
    assert columns(FIX_SUITE) == ("bug", "fixed expected", "fixed seen", "verdict", "seconds")
    assert fix("KIP-903").moved_to("4.4.0").replay == "kafka-chaos bugs KIP-903 --versions 4.4.0"


def test_a_bug_of_an_application_that_is_not_released_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    absent = "could not be resolved: org.apache.kafka:connect-mirror:jar:4.9.7: Could not find artifact"

    def refused(_application: Any) -> None:
        raise unresolved("MirrorMaker 4.9.7", Path("pom.xml"), absent)

    monkeypatch.setattr(suite_runs, "prepare", refused)
    mirror, brokers = fix("KAFKA-15905").moved_to(NEWER), fix("KIP-903").moved_to(NEWER)
    why = "Maven's repository does not have all of MirrorMaker 4.9.7"
    assert suite_runs._released([mirror, brokers]) == ([brokers], {mirror.id: why})
