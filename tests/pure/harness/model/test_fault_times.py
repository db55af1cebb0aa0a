"""Which faults were open when a record was acknowledged: windows that touch the moment, and near misses."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.model.fault_times import FaultTimes, fault_times, when_acknowledged
from harness.model.run import FaultWindow

pytestmark = pytest.mark.pure

SENT, ACKED = 1_000, 2_000


def _window(name: str, opened: int, closed: int | None) -> FaultWindow:
    return FaultWindow(
        name=name, kind="kill", target="leader", opened_ns=opened, closed_ns=closed, verified=True
    )


NONE = FaultTimes((), (), ())
CASES = {
    "open all the time": (0, None, FaultTimes((), ("kill-1",), ())),
    "begun with the acknowledgement": (ACKED, 3_000, FaultTimes((), ("kill-1",), ())),
    "begun 1 ns after it": (ACKED + 1, 3_000, FaultTimes((), (), ("kill-1",))),
    "begun 1 ns after it and never healed": (ACKED + 1, None, FaultTimes((), (), ("kill-1",))),
    "ended with the acknowledgement": (0, ACKED, FaultTimes((), ("kill-1",), ())),
    "ended 1 ns before it": (0, ACKED - 1, FaultTimes(("kill-1",), (), ())),
    "begun after the send and ended 1 ns before it": (SENT + 1, ACKED - 1, FaultTimes(("kill-1",), (), ())),
    "ended with the send": (0, SENT, FaultTimes(("kill-1",), (), ())),
    "ended 1 ns before the send": (0, SENT - 1, NONE),
}


@pytest.mark.parametrize("name", CASES)
def test_one_fault(name: str) -> None:
    opened, closed, expected = CASES[name]
    assert fault_times([_window("kill-1", opened, closed)], SENT, ACKED) == expected


def test_several_faults_keep_their_order() -> None:
    windows = [
        _window("cut-1", 0, 1_500),
        _window("pause-1", 500, 2_500),
        _window("kill-1", 1_900, None),
        _window("kill-2", 2_001, 2_002),
        _window("cut-2", 9_000, None),
    ]
    expected = FaultTimes(("cut-1",), ("pause-1", "kill-1"), ("kill-2", "cut-2"))
    assert fault_times(windows, SENT, ACKED) == expected


moments = st.integers(0, 12)


@given(
    st.lists(
        st.tuples(moments, st.none() | moments).filter(lambda pair: pair[1] is None or pair[0] <= pair[1])
    ),
    moments,
    moments,
)
def test_each_fault_since_the_send_is_named_once(
    spans: list[tuple[int, int | None]], one: int, other: int
) -> None:
    sent, acked = sorted((one, other))
    windows = [_window(str(number), *span) for number, span in enumerate(spans)]
    times = fault_times(windows, sent, acked)
    since_the_send = [
        window.name for window in windows if window.closed_ns is None or window.closed_ns >= sent
    ]
    assert sorted((*times.ended, *times.open, *times.later), key=int) == since_the_send


@pytest.mark.parametrize(
    ("ended", "during", "words"),
    [
        ("", "", ""),
        ("", "kill-1", "during kill-1"),
        ("cut-1 + pause-1", "", "after cut-1 + pause-1"),
        ("cut-1", "kill-1 + kill-2", "after cut-1 and during kill-1 + kill-2"),
    ],
)
def test_in_words(ended: str, during: str, words: str) -> None:
    assert when_acknowledged(ended, during) == words
