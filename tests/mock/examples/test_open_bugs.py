"""The scripts of examples/open-bugs on librdkafka's mock cluster: each shows its bug, its control does not.

A test that fails because nothing is shown any more tells that the bug has been fixed: docs/open-bugs.md.
"""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.support.paths import ROOT

pytestmark = [pytest.mark.mock, pytest.mark.soak]

FOLDER = ROOT / "examples" / "open-bugs"


def run(script: str, *arguments: str) -> tuple[int, str]:
    """Exit code and output of a script."""
    done = subprocess.run(
        [sys.executable, str(FOLDER / script), *arguments],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("script", "arm", "told"),
    [
        ("fatal_error_in_report.py", "idempotent", "SystemError; 79 of 80 records were reported"),
        ("duplicate_offsets.py", "DUPLICATE_SEQUENCE_NUMBER", "reported at offsets None, 0, 1"),
        ("admin_ends_fenced.py", "the same leader, a higher epoch", "FENCED_LEADER_EPOCH at all of 20"),
        ("lost_in_rebalance.py", "eager, a second member joins", "revoked 1 (its"),
        ("lost_in_rebalance.py", "cooperative, a second member joins", "given 9"),
        ("late_answer_after_assign.py", "ListOffsets is late, latest", "the rest was skipped"),
        ("late_answer_after_assign.py", "ListOffsets is late, earliest", "records from before"),
        ("written_again.py", "lost, and another refused", "epoch 0 sequence 1, epoch 1 sequence 0"),
    ],
)
def test_the_bug_is_shown(script: str, arm: str, told: str) -> None:
    code, output = run(script, "--runs", "1", "--arm", arm)
    assert (code, told in output) == (1, True), output


@pytest.mark.parametrize(
    ("script", "arm", "told"),
    [
        ("fatal_error_in_report.py", "control, without a callback", "flush raised KafkaException"),
        ("duplicate_offsets.py", "control, no error", "reported at offsets 1, 2, 3"),
        ("admin_ends_fenced.py", "control, another leader", "answered at question 2"),
        ("admin_ends_fenced.py", "metadata.max.age.ms=2000", "before it ['FENCED_LEADER_EPOCH']"),
        ("lost_in_rebalance.py", "control, eager, alone", "lost 1"),
        (
            "late_answer_after_assign.py",
            "control, OffsetFetch is late, latest",
            "every record from there on, once",
        ),
        ("commit_fails.py", "a write is held, left", "not tried: needs --bootstrap and --topics"),
        ("written_again.py", "control, lost", "epoch 0 sequence 1, epoch 0 sequence 1"),
        (
            "stale_member_epoch.py",
            "answered 10 times",
            "1 of 1 began at the committed offset, asked again 10",
        ),
        ("stale_member_epoch.py", "control, nothing is committed", "0 of 1 began at the committed offset"),
        ("stale_member_epoch.py", "fifty members join", "not tried: needs --bootstrap and --topic"),
        ("pause_after_assign.py", "in a callback", "20 began at 5"),
    ],
)
def test_a_control_or_a_bug_that_was_not_found_shows_nothing(script: str, arm: str, told: str) -> None:
    code, output = run(script, "--runs", "1", "--arm", arm)
    assert (code, told in output) == (0, True), output


def test_an_arm_that_there_is_not_is_refused() -> None:
    code, output = run("commit_fails.py", "--arm", "none")
    assert (code, "invalid choice" in output) == (2, True), output
