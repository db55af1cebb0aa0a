"""Shrinking: planted failures come down to their least, nothing grows, and there is an end to it."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.lab.explore.menu import ExploreMenu, experiment_of, rate_of
from harness.lab.explore.shrinking import (
    LEAST_AT,
    LEAST_RATE,
    LEAST_SECONDS,
    Confirm,
    Shrinking,
    candidates,
    size,
)
from harness.lab.explore.trial import GRID, Trial, TrialFault
from tests.support.fake_explore_backend import menu_of

pytestmark = pytest.mark.pure

FEW = settings(max_examples=25)
"""Each example tries dozens of schedules."""
MANY = 600
"""More candidates than any shrinking below needs: beyond, it does not end."""


@cache
def menu() -> ExploreMenu:
    return menu_of()


SECONDS = st.integers(2, 24).map(lambda number: number * GRID)
LEVELS = {"acks": ["all", "1"], "min-isr": ["2", "1"], "producers": ["1", "2", "5"]}
SETTINGS = st.fixed_dictionaries({axis: st.sampled_from(levels) for axis, levels in LEVELS.items()}).map(
    lambda chosen: {axis: label for axis, label in chosen.items() if label != LEVELS[axis][0]}
)
NAMES = st.sampled_from(["kill-leader", "cut-followers", "pause-leader"])


@st.composite
def trials(draw: st.DrawFn, at_least: tuple[str, ...] = ()) -> Trial:
    """Schedules whose faults follow each other, so that each is possible."""
    names = [*at_least, *draw(st.lists(NAMES, min_size=0 if at_least else 1, max_size=3))]
    names = draw(st.permutations(names))
    at, faults = 2.0, []
    for name in names:
        lasting = draw(SECONDS)
        faults.append(TrialFault(name=name, at=at, lasting=lasting))
        at += lasting + draw(SECONDS)
    return Trial(settings=draw(SETTINGS), faults=tuple(faults), rate=draw(st.sampled_from([400, 1000, 3000])))


def shrunk(trial: Trial, fails: Callable[[Trial], bool], steps: list[Trial] | None = None) -> Shrinking:
    """`steps` gets every schedule that failed."""
    shrinking = Shrinking(menu(), trial)
    for _ in range(MANY):
        candidate = shrinking.candidate()
        if candidate is None:
            return shrinking
        shrinking.record(fails(candidate))
        if steps is not None and shrinking.minimal is candidate:
            steps.append(candidate)
    pytest.fail(f"no end to shrinking {trial}")


@FEW
@given(trials())
def test_every_candidate_is_smaller_and_possible(trial: Trial) -> None:
    before = size(menu(), trial)
    for one in candidates(menu(), trial):
        after = size(menu(), one)
        assert all(new <= old for new, old in zip(after, before, strict=True)), one
        assert after != before, one
        experiment_of(menu(), one)
        assert all(fault.at >= 0 and fault.lasting > 0 for fault in one.faults)


@FEW
@given(trials(("kill-leader",)), st.data())
def test_a_planted_failure_comes_down_to_its_least(trial: Trial, data: st.DataObject) -> None:
    """It needs one setting, one fault of a least duration, and a least number of records per second."""
    trial = trial.model_copy(update={"settings": {**trial.settings, "acks": "1"}})
    longest = max(one.lasting for one in trial.faults if one.name == "kill-leader")
    needed = data.draw(st.integers(2, int(longest / GRID)).map(lambda number: number * GRID))

    def fails(one: Trial) -> bool:
        kills = [fault for fault in one.faults if fault.name == "kill-leader"]
        return one.settings.get("acks") == "1" and any(kill.lasting >= needed for kill in kills)

    minimal = shrunk(trial, fails).minimal
    assert fails(minimal)
    assert minimal.settings == {"acks": "1"}
    (kill,) = minimal.faults
    assert kill.lasting < needed + LEAST_SECONDS
    assert kill.at == LEAST_AT
    assert rate_of(menu(), minimal) < 2 * LEAST_RATE
    assert minimal.rest == GRID


@FEW
@given(trials(("cut-followers", "kill-leader")))
def test_two_faults_and_two_settings_stay_if_both_are_needed(trial: Trial) -> None:
    trial = trial.model_copy(update={"settings": {**trial.settings, "min-isr": "1", "producers": "5"}})

    def fails(one: Trial) -> bool:
        names = {fault.name for fault in one.faults}
        several = one.settings.get("producers", "1") != "1"
        return {"cut-followers", "kill-leader"} <= names and several and one.settings.get("min-isr") == "1"

    minimal = shrunk(trial, fails).minimal
    assert sorted(fault.name for fault in minimal.faults) == ["cut-followers", "kill-leader"]
    assert minimal.settings == {"min-isr": "1", "producers": "2"}, "the nearest level to the default"


@FEW
@given(trials(), st.randoms(use_true_random=False))
def test_it_ends_and_never_grows_whatever_the_answers_are(trial: Trial, chance: random.Random) -> None:
    steps = [trial]
    shrinking = shrunk(trial, lambda _: chance.random() < 0.5, steps)
    sizes = [size(menu(), one) for one in steps]
    assert sizes == sorted(sizes, reverse=True)
    assert steps[-1] == shrinking.minimal
    # What was refuted is not tried again, and everything that is left was refuted: 1-minimal.
    if len(steps) == 1:
        assert shrinking.tried == len(list(candidates(menu(), trial)))


def test_nothing_smaller_fails_so_it_stays() -> None:
    trial = Trial(settings={"acks": "1"}, faults=(TrialFault(name="kill-leader", at=2, lasting=4),), rate=400)
    shrinking = shrunk(trial, lambda _: False)
    assert shrinking.minimal == trial
    assert shrinking.tried == len(list(candidates(menu(), trial))) > 4


@pytest.mark.parametrize(
    ("outcomes", "answer"),
    [
        ((), None),
        ((True,), None),
        ((True, True), True),
        ((False, False), False),
        ((True, False), None),
        ((True, False, True), True),
        ((True, False, False), False),
    ],
)
def test_two_of_three(outcomes: tuple[bool, ...], answer: bool | None) -> None:
    assert Confirm(2, 3).answer(outcomes) is answer


@given(st.integers(1, 6), st.integers(0, 5), st.lists(st.booleans(), min_size=12, max_size=12))
def test_k_of_n_is_what_all_n_would_have_said(k: int, more: int, outcomes: list[bool]) -> None:
    confirm = Confirm(k, k + more)
    seen: list[bool] = []
    while (answer := confirm.answer(seen)) is None:
        # None of those that are needed at least gives an answer before the last.
        for _ in range(confirm.needed(seen)):
            assert confirm.answer(seen) is None
            seen.append(outcomes[len(seen)])
    assert len(seen) <= confirm.n
    assert answer == (sum(outcomes[: confirm.n]) >= k)
    # No run more than needed.
    assert confirm.answer(seen[:-1]) is None if seen else True


@FEW
@given(st.integers(0, 10_000))
def test_noise_does_not_make_it_call_something_smaller_that_never_fails(seed: int) -> None:
    """Of what fails, 2 runs of 3 fail; of what does not, none."""
    chance, confirm = random.Random(seed), Confirm(2, 3)

    def really(one: Trial) -> bool:
        return one.settings.get("acks") == "1" and any(fault.name == "kill-leader" for fault in one.faults)

    def fails(one: Trial) -> bool:
        outcomes: list[bool] = []
        while (answer := confirm.answer(outcomes)) is None:
            outcomes.append(really(one) and chance.random() < 2 / 3)
        return answer

    trial = Trial(
        settings={"acks": "1", "min-isr": "1"},
        faults=(
            TrialFault(name="pause-leader", at=2, lasting=4),
            TrialFault(name="kill-leader", at=8, lasting=4),
        ),
        rate=1000,
    )
    assert really(shrunk(trial, fails).minimal)
