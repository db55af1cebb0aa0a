"""Verdicts from counts: what makes a run unknown, invalid or valid, and in which words."""

from __future__ import annotations

from typing import Any

import pytest

from checkers.judgement.judge import judge
from checkers.judgement.promise import check_promise
from harness.model.errors import BadInput
from harness.model.finding_class import FindingClass
from harness.model.result import Judgement, Summary, VerdictWord
from harness.model.run import FinalRead
from tests.support.builders.summaries import summary_with
from tests.support.history import bounds, run_meta, window

pytestmark = pytest.mark.pure


def _summary(**changes: Any) -> Summary:
    """Of a run in which 12,000 records were acknowledged and read back; `changes` replace fields."""
    whole: dict[str, Any] = {
        "sent": 12_000,
        "outcomes": {"acked": 12_000},
        "reads": 12_000,
        "acked_by_step": {"before": 11_500, "after-cut": 500},
    }
    return summary_with(**whole | changes)


def _judge(
    findings: dict[str, int] | None = None, *, meta: dict[str, Any] | None = None, **changes: Any
) -> Judgement:
    counts = {FindingClass(name): count for name, count in (findings or {}).items()}
    return judge(run_meta(**(meta or {})), _summary(findings=counts, **changes))


def test_nothing_found_is_valid_and_says_what_was_shown() -> None:
    judgement = _judge()
    assert judgement.verdict is VerdictWord.VALID
    assert judgement.reasons == ("all 12,000 acknowledged records were read back, once each",)
    assert judgement.as_promised is True
    assert judgement.promise_reasons == ()


def test_a_transaction_that_hangs_breaks_the_verdict() -> None:
    read = FinalRead(complete=True, bounds=(bounds(),), held=(("t", 0, 17),))
    judgement = _judge(meta={"final_read": read})
    assert judgement.verdict is VerdictWord.INVALID
    (reason,) = judgement.reasons
    assert "a transaction hangs" in reason
    assert reason.endswith("of partition 0 from offset 17 on")


@pytest.mark.parametrize(
    ("finding", "count", "reason"),
    [
        ("lost", 500, "500 acknowledged records are lost (400 overwritten, 100 tail)"),
        ("lost", 1, "1 acknowledged record is lost (400 overwritten, 100 tail)"),
        ("phantom", 2, "2 records are in the log that this run never sent"),
        ("corrupt", 2, "2 records are corrupt"),
        ("misplaced", 2, "2 records are read from another topic or partition than sent to"),
        ("rejected_present", 2, "2 refused records are in the log all the same"),
        ("vanished", 2, "2 records are gone from the log after a reader was given them"),
        ("inconsistent_offset", 1, "1 record is at another offset than acknowledged or read before"),
        ("aborted_read", 2, "2 aborted records are given to a reader of committed records"),
        (
            "torn_transaction",
            2,
            "2 committed records are missing from a transaction of which others are read",
        ),
        ("skipped", 1, "1 time a reader passed over records that the log holds"),
        ("skipped", 2, "2 times a reader passed over records that the log holds"),
        ("nonmonotonic_read", 2, "2 times a reader's offsets went back without a new assignment"),
        (
            "diverged",
            2,
            "2 times replicas hold different records at an offset below the high watermark",
        ),
    ],
)
def test_what_no_setting_allows_is_invalid(finding: str, count: int, reason: str) -> None:
    judgement = _judge({finding: count}, lost_places={"overwritten": 400, "tail": 100})
    assert judgement.verdict is VerdictWord.INVALID
    assert judgement.reasons == (reason,)
    assert judgement.as_promised is False
    assert judgement.promise_reasons == (f"{finding}: promised 0, seen {count}",)


@pytest.mark.parametrize(
    ("places", "reasons"),
    [
        (
            {"aborted": 2},
            ("2 inputs have outputs though their transactions were aborted",),
        ),
        (
            {"aborted": 1, "not in the log": 1},
            (
                "1 input has outputs though its transaction was aborted",
                "1 input has outputs but is not, or no longer, in the log",
            ),
        ),
        ({"not in the log": 2}, ("2 inputs have outputs but are not, or no longer, in the log",)),
        # The summary of an earlier version does not tell them apart.
        ({}, ("2 inputs have outputs that they must not have",)),
    ],
)
def test_premature_outputs_are_told_by_what_is_wrong_with_their_inputs(
    places: dict[str, int], reasons: tuple[str, ...]
) -> None:
    judgement = _judge({"premature": sum(places.values()) or 2}, premature_places=places)
    assert judgement.verdict is VerdictWord.INVALID
    assert judgement.reasons == reasons


def test_the_worst_comes_first() -> None:
    reasons = _judge({"duplicate": 1, "misplaced": 1, "lost": 3}, meta={"idempotent": True}).reasons
    assert [reason.split()[-1] for reason in reasons] == ["lost", "to", "idempotent"]


@pytest.mark.parametrize(
    "finding",
    [
        "recovered",
        "unconfirmed_absent",
        "expired",
        "compacted",
        "duplicate",
        "reordered",
        "redelivered",
    ],
)
def test_what_settings_allow_is_valid(finding: str) -> None:
    judgement = _judge({finding: 7})
    assert judgement.verdict is VerdictWord.VALID
    assert judgement.as_promised is True


@pytest.mark.parametrize(
    ("findings", "outcomes", "reasons"),
    [
        (
            {"duplicate": 2},
            {"acked": 10},
            (
                "all 10 acknowledged records were read back",
                "2 records are in the log more than once, as the settings allow",
            ),
        ),
        (
            {"expired": 3},
            {"acked": 10},
            ("7 of 10 acknowledged records were read back, once each; the rest had expired",),
        ),
        (
            {"compacted": 2},
            {"acked": 10},
            ("8 of 10 acknowledged records were read back, once each; the rest were compacted",),
        ),
        (
            {"compacted": 2, "expired": 1},
            {"acked": 10},
            (
                "7 of 10 acknowledged records were read back, once each; "
                "the rest had expired or were compacted",
            ),
        ),
        (
            {"reordered": 1},
            {"acked": 10},
            (
                "all 10 acknowledged records were read back, once each",
                "1 record is in the log after one that was sent later, as the settings allow",
            ),
        ),
        ({"unconfirmed_absent": 4}, {"unconfirmed": 10}, ("6 of 10 unconfirmed records were read back",)),
        ({}, {"indeterminate": 10}, ("nothing was acknowledged, so nothing could be lost",)),
    ],
)
def test_a_valid_run_says_what_it_shows(
    findings: dict[str, int], outcomes: dict[str, int], reasons: tuple[str, ...]
) -> None:
    judgement = _judge(findings, outcomes=outcomes)
    assert (judgement.verdict, judgement.reasons) == (VerdictWord.VALID, reasons)


def test_duplicates_of_an_idempotent_producer_are_invalid() -> None:
    judgement = _judge({"duplicate": 10}, meta={"idempotent": True})
    assert judgement.verdict is VerdictWord.INVALID
    assert judgement.reasons == (
        "10 records are in the log more than once, though the producer is idempotent",
    )
    assert judgement.promise_reasons == ("duplicate: promised 0, seen 10",)


@pytest.mark.parametrize(
    ("meta", "why"),
    [
        ({"idempotent": True}, "the producer is idempotent"),
        ({"max_in_flight": 1}, "one request was in flight at a time"),
        ({"max_in_flight": 2}, None),
        ({"max_in_flight": None}, None),
        (
            {"idempotent": True, "client": "own"},
            "the producer is idempotent and keeps the order of its sends (`own: {order: sent}`)",
        ),
        ({"idempotent": True, "client": "own", "order": "none"}, None),
        ({"max_in_flight": 1, "client": "own", "order": "none"}, None),
    ],
)
def test_order_is_kept_by_idempotence_or_one_request_in_flight(meta: dict[str, Any], why: str | None) -> None:
    judgement = _judge({"reordered": 3}, meta=meta)
    assert judgement.as_promised is (why is None)
    if why is None:
        assert judgement.verdict is VerdictWord.VALID
    else:
        assert judgement.verdict is VerdictWord.INVALID
        assert judgement.reasons == (f"3 records are in the log after one that was sent later, though {why}",)
        assert judgement.promise_reasons == ("reordered: promised 0, seen 3",)


def test_a_client_that_does_not_keep_the_order_may_still_write_nothing_twice() -> None:
    unordered = {"idempotent": True, "client": "own", "order": "none"}
    judgement = _judge({"reordered": 3}, meta=unordered)
    assert judgement.reasons[-1].endswith("sent later, as `own: {order: none}` allows")
    assert _judge({"duplicate": 3}, meta=unordered).verdict is VerdictWord.INVALID


@pytest.mark.parametrize(
    ("promise", "verdict", "kept"), [({}, "unknown", None), ({"idle": "any"}, "valid", True)]
)
def test_a_fault_that_hit_nothing_proves_nothing(
    promise: dict[str, str], verdict: str, kept: bool | None
) -> None:
    judgement = _judge({}, meta={"promise": promise}, idle_faults=("kill-1", "cut-1"))
    assert (judgement.verdict, judgement.as_promised) == (verdict, kept)
    assert ("kill-1, cut-1 hit nothing of this arm" in judgement.reasons[0]) is (verdict == "unknown")


@pytest.mark.parametrize("text", ["0", ">= 1", "acked in w", ""])
def test_faults_that_hit_nothing_are_allowed_or_not(text: str) -> None:
    with pytest.raises(BadInput, match="not a number"):
        check_promise({"idle": text}, ["w"])
    check_promise({"idle": "any"}, ["w"])


@pytest.mark.parametrize(
    ("promise", "seen", "verdict", "kept"),
    [
        ({"reordered": "<= 5"}, {"reordered": 6}, "invalid", False),
        ({"redelivered": "0"}, {"redelivered": 1}, "valid", False),
        ({"skipped": "any"}, {"skipped": 1}, "invalid", True),
        ({"duplicate": "<= 5"}, {"duplicate": 5}, "valid", True),
        ({"duplicate": "<= 5"}, {"duplicate": 6}, "invalid", False),
        ({"duplicate": ">= 1"}, {}, "valid", False),
        ({"duplicate": ">= 3"}, {"duplicate": 2}, "valid", False),
        ({"duplicate": "any"}, {"duplicate": 9}, "valid", True),
        ({"unconfirmed_absent": "0"}, {"unconfirmed_absent": 1}, "invalid", False),
        ({"unconfirmed_absent": ">= 1"}, {}, "valid", False),
        ({"recovered": "0"}, {"recovered": 1}, "valid", False),
        ({"lost": "500"}, {"lost": 500}, "invalid", True),
        ({"lost": "500"}, {"lost": 499}, "invalid", False),
        ({"lost": ">= 1"}, {"lost": 2}, "invalid", True),
        ({"lost": "any"}, {}, "valid", True),
        ({"lost": "acked in after-cut"}, {"lost": 500}, "invalid", True),
        ({"lost": "acked in after-cut"}, {"lost": 499}, "invalid", False),
        ({"lost": "acked in after-cut"}, {"lost": 501}, "invalid", False),
    ],
)
def test_promise_and_verdict_are_two_things(
    promise: dict[str, str], seen: dict[str, int], verdict: str, kept: bool
) -> None:
    judgement = _judge(seen, meta={"promise": promise})
    assert (judgement.verdict, judgement.as_promised) == (verdict, kept)
    assert bool(judgement.promise_reasons) is not kept


def test_a_promise_by_step_is_broken_in_numbers() -> None:
    judgement = _judge({"lost": 1_500}, meta={"promise": {"lost": "acked in after-cut"}})
    assert judgement.promise_reasons == ("lost: promised acked in after-cut (500), seen 1,500",)
    (broken,) = judgement.broken_promises
    assert (broken.finding, broken.promised, broken.seen) == ("lost", "acked in after-cut (500)", 1500)
    assert "broken_promises" not in judgement.model_dump(), "files keep their format"


def test_a_bound_on_duplicates_names_the_bound() -> None:
    judgement = _judge({"duplicate": 6}, meta={"promise": {"duplicate": "<= 5"}})
    assert judgement.reasons == ("6 records are in the log more than once, the experiment allows <= 5",)


_COMPLETE = FinalRead(complete=True, bounds=(bounds(),))


@pytest.mark.parametrize(
    ("meta", "changes", "reason"),
    [
        ({"finished": False}, {}, "the run did not finish"),
        ({"problems": ("broker 2 did not come back",)}, {}, "broker 2 did not come back"),
        ({"final_read": None}, {}, "there was no final read"),
        (
            {
                "final_read": FinalRead(
                    complete=False, reasons=("t-0: high watermark 5, end 7", "t-1: no leader")
                )
            },
            {},
            "the final read is not complete: t-0: high watermark 5, end 7; t-1: no leader",
        ),
        (
            {"final_read": FinalRead(complete=False)},
            {},
            "the final read is not complete: no reason was given",
        ),
        (
            {"windows": (window("kill-1", 1, 2), window("cut-1", 3, 4, verified=False))},
            {},
            "fault cut-1 was not shown to take effect",
        ),
        ({}, {"problems": ("journal part x cannot be read",)}, "journal part x cannot be read"),
        ({}, {"sent": 0}, "nothing was sent"),
        (
            {"promise": {"lost": "acked in never"}},
            {},
            "the promise on lost names the write step 'never', which the run did not get to",
        ),
        (
            {},
            {"findings": {FindingClass.LOST: 3}, "lost_held_by_leader": 2},
            "2 acknowledged records are absent from the read but in the leader's own files: "
            "the read is at fault",
        ),
        (
            {},
            {"findings": {FindingClass.LOST: 3}, "lost_unexamined": 3},
            "3 acknowledged records are absent from the read, and no replica's own files were examined",
        ),
    ],
)
def test_what_cannot_be_trusted_is_unknown(
    meta: dict[str, Any], changes: dict[str, Any], reason: str
) -> None:
    judgement = judge(run_meta(**({"final_read": _COMPLETE} | meta)), _summary(**changes))
    assert judgement == Judgement(verdict=VerdictWord.UNKNOWN, reasons=(reason,), as_promised=None)


def test_where_nothing_was_read_nothing_is_absent() -> None:
    unread = FinalRead(complete=False, reasons=("the cluster did not settle",))
    judgement = judge(
        run_meta(final_read=unread), _summary(findings={FindingClass.LOST: 3}, lost_unexamined=3)
    )
    assert judgement.reasons == ("the final read is not complete: the cluster did not settle",)


def test_without_a_check_all_reasons_of_the_run_are_told() -> None:
    judgement = judge(run_meta(finished=False, problems=("the cluster was gone",)), None)
    assert judgement.verdict is VerdictWord.UNKNOWN
    assert judgement.reasons == (
        "the journals were not checked",
        "the run did not finish",
        "the cluster was gone",
    )


def test_verified_windows_are_no_doubt() -> None:
    assert _judge(meta={"windows": (window("kill-1", 1, None),)}).verdict is VerdictWord.VALID
