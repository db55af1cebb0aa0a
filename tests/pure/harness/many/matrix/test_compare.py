"""Comparing results: a planted regression is seen, equal results are not flagged, bounds are kept."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from checkers.statistics.rates import Interval
from harness.many.matrix.compare import compare
from harness.many.matrix.result import MATRIX_FILE
from harness.many.matrix.spec import MatrixSpec
from harness.model.errors import BadInput
from tests.support.builders.matrices import SMALL, parsed_matrix
from tests.support.builders.matrix_results import drawn_result
from tests.support.command_line import call

pytestmark = pytest.mark.pure

NAMES = ("base", "new")


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """For simulations: no interval is drawn, since none is looked at."""
    monkeypatch.setattr("checkers.statistics.rates._bootstrap", lambda *_: Interval(0.0, 0.0))
    monkeypatch.setattr("harness.many.matrix.compare.rate_difference", lambda *_: None)


def usual(arm: str, generator: np.random.Generator) -> dict[str, Any]:
    """Losses in some runs of acks=1, a few duplicates, seconds that vary."""
    return {
        "lost": generator.poisson(300) * (generator.random() < 0.4) if "acks=1" in arm else 0,
        "duplicates": generator.poisson(3) * (generator.random() < 0.5),
        "unavailable": generator.normal(5, 1),
    }


@pytest.mark.usefixtures("quick")
def test_two_equal_results_are_flagged_at_most_once_in_twenty() -> None:
    """300 pairs, each with 4 arms and up to 4 measures an arm; 5 or 10 runs a side."""
    for runs in (5, 10):
        alarms = sum(
            bool(
                compare(
                    drawn_result(usual, 2 * one, runs), drawn_result(usual, 2 * one + 1, runs), names=NAMES
                ).worse
            )
            for one in range(150)
        )
        # Binomial(150, 0.05) is at most 15 with 99.7 %.
        assert alarms <= 15, (runs, alarms)


@pytest.mark.usefixtures("quick")
def test_without_sharing_there_would_be_more_alarms(monkeypatch: pytest.MonkeyPatch) -> None:
    """The control: the simulation can fail."""
    monkeypatch.setattr("harness.many.matrix.compare.shared_level", lambda least, alpha: (alpha, len(least)))
    pairs = [(drawn_result(usual, 2 * one), drawn_result(usual, 2 * one + 1)) for one in range(100)]
    assert sum(bool(compare(*pair, names=NAMES).worse) for pair in pairs) > 15


def test_a_planted_loss_is_seen_and_only_where_it_is() -> None:
    def worse(arm: str, generator: np.random.Generator) -> dict[str, Any]:
        told = usual(arm, generator)
        return told | {"lost": 40} if arm == "acks=all_fault=kill" else told

    hits = 0
    for one in range(10):
        found = compare(drawn_result(usual, one), drawn_result(worse, 1000 + one), names=NAMES)
        hits += ("acks=all_fault=kill", "lost per million") in {(m.arm, m.measure) for m in found.worse}
        assert found.exit_code() == (1 if found.worse else 0)
    assert hits == 10
    (seen,) = (m for m in found.worse if m.measure == "lost per million" and "all_fault=kill" in m.arm)
    assert (seen.base, seen.new) == (0, 4000)
    assert seen.low is not None
    assert seen.low > 0


@pytest.mark.parametrize(
    ("change", "measure"),
    [
        ({"duplicates": 30}, "duplicates per million"),
        ({"unavailable": 9.0}, "unavailable seconds"),
        ({"other": 2}, "other findings per million"),
    ],
)
def test_every_measure_is_judged(change: dict[str, Any], measure: str) -> None:
    def worse(arm: str, generator: np.random.Generator) -> dict[str, Any]:
        return usual(arm, generator) | (change if arm == "acks=1_fault=none" else {})

    found = compare(drawn_result(usual, 1, 8), drawn_result(worse, 2, 8), names=NAMES)
    assert (measure, "acks=1_fault=none") in {(m.measure, m.arm) for m in found.worse}
    # The other way round it is an improvement, which is no alarm.
    better = compare(drawn_result(worse, 2, 8), drawn_result(usual, 1, 8), names=NAMES)
    assert not [m for m in better.worse if m.arm == "acks=1_fault=none"]


def test_a_sure_but_tiny_difference_is_no_worse() -> None:
    def slower(arm: str, generator: np.random.Generator) -> dict[str, Any]:  # noqa: ARG001
        return {"unavailable": 4.2 + generator.random() / 100}

    def fast(arm: str, generator: np.random.Generator) -> dict[str, Any]:  # noqa: ARG001
        return {"unavailable": 4.0 + generator.random() / 100}

    found = compare(drawn_result(fast, 1, 8), drawn_result(slower, 2, 8), names=NAMES)
    assert min(one.p for one in found.measured) < 0.001
    assert not found.worse


def test_too_few_runs_cannot_tell_and_say_how_many_would() -> None:
    def lost(arm: str, generator: np.random.Generator) -> dict[str, Any]:  # noqa: ARG001
        return {"lost": 100}

    found = compare(drawn_result(lambda *_: {}, 1, 2), drawn_result(lost, 2, 2), names=NAMES)
    lost_ones = [one for one in found.measured if one.measure == "lost per million"]
    assert [one.verdict for one in lost_ones] == ["cannot tell"] * 4
    assert found.runs_for_a_verdict is not None
    enough = found.runs_for_a_verdict
    again = compare(drawn_result(lambda *_: {}, 1, enough), drawn_result(lost, 2, enough), names=NAMES)
    assert len(again.worse) == 4


def test_bounds_of_the_spec_are_kept_or_broken() -> None:
    slo = [{"at": {"acks": "all"}, "lost": 0, "unavailable_seconds": 6}, {"duplicates_per_million": 100}]

    def one_loss(arm: str, generator: np.random.Generator) -> dict[str, Any]:  # noqa: ARG001
        return {"lost": int(generator.random() < 0.3)}

    base = drawn_result(lambda *_: {}, 1, slo=slo)
    assert compare(base, base, names=NAMES).exit_code() == 0
    found = compare(base, drawn_result(one_loss, 2, slo=slo), names=NAMES)
    assert not found.worse, "too few for statistics"
    assert {(one.bound, one.arm.split("_")[0]) for one in found.breaches} == {("lost", "acks=all")}
    assert found.exit_code() == 1
    more = compare(
        base, drawn_result(lambda *_: {"duplicates": 2, "unavailable": 7}, 3, slo=slo), names=NAMES
    )
    bounds = [one.bound for one in more.breaches]
    assert (bounds.count("duplicates_per_million"), bounds.count("unavailable_seconds")) == (4, 2)


def test_arms_of_one_side_only_and_runs_left_out_are_said() -> None:
    base = drawn_result(usual, 1, exclude=[{"acks": 1, "fault": "none"}])
    found = compare(base, drawn_result(usual, 2, unknown=1), names=NAMES)
    assert found.missing == ("acks=1_fault=none ran only in new",)
    assert len(found.left_out) == 4
    assert found.exit_code() == 3
    nothing = drawn_result(usual, 3, runs=0, unknown=2)
    assert len(compare(base, nothing, names=NAMES).missing) == 4
    other = drawn_result(usual, 1, axes={"acks": {"producer": "acks", "values": [0]}}, base=SMALL["base"])
    with pytest.raises(BadInput, match="no arm in common"):
        compare(base, other, names=NAMES)


def test_the_command_and_its_exit_codes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def lost(arm: str, generator: np.random.Generator) -> dict[str, Any]:  # noqa: ARG001
        return {"lost": 70}

    for name, one in (("base", drawn_result(lambda *_: {}, 1)), ("new", drawn_result(lost, 2))):
        (tmp_path / name).mkdir()
        (tmp_path / name / MATRIX_FILE).write_text(one.model_dump_json())
    base, new = str(tmp_path / "base"), str(tmp_path / "new")
    assert call(monkeypatch, "compare", base, base) == 0
    assert "no arm is worse" in capsys.readouterr().out
    assert call(monkeypatch, "compare", base, new) == 1
    told = capsys.readouterr().out
    assert "worse: acks=1_fault=kill: lost per million from 0 to 7,000" in told
    assert "+100%" in told
    assert call(monkeypatch, "compare", base, new, "--json") == 1
    assert call(monkeypatch, "compare", base, str(tmp_path / "nowhere")) == 3
    (tmp_path / "new" / MATRIX_FILE).write_text('{"schema_version": 9}')
    assert call(monkeypatch, "compare", base, new) == 3
    assert "schema version 9" in capsys.readouterr().err
    assert call(monkeypatch, "compare", base) == 2


def test_the_spec_in_a_result_is_the_spec() -> None:
    assert MatrixSpec.model_validate(drawn_result(usual, 1).spec) == parsed_matrix()
