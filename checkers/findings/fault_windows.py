"""Which faults were open in the life of each record, as names joined by " + "."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from checkers.facts.columns import NULL, Flags, Ints
from checkers.facts.places import ranked
from checkers.findings.table import Labels
from harness.model.fault_times import BETWEEN_NAMES
from harness.model.run import FaultWindow

_FOR_EVER = 2**63 - 1


def open_windows(windows: Sequence[FaultWindow], sent: Ints, closed: Ints, gone: Flags) -> Labels:
    """Names of the fault windows that overlap [sent, closed]; where `gone` (lost and vanished records),
    [sent, end of run].

    A send without a report counts as open until the end; what was never sent has no windows.
    """
    until = np.where(gone | (closed == NULL), _FOR_EVER, closed)
    return _names(
        windows, [(until >= begin) & (sent <= end) & (sent != NULL) for begin, end in _spans(windows)], sent
    )


def split_windows(
    windows: Sequence[FaultWindow], sent: Ints, closed: Ints, lost: Flags, vanished: Flags, during: Labels
) -> tuple[Labels, Labels, Labels]:
    """The faults split by the moment of the report, as `harness.model.fault_times` does: those that had
    ended, that were open, and that began later.

    Of lost records, the first are the faults that were open after the send and ended before the report, the
    second those that were open at the report, the third those that began after it. Of vanished records, the
    second are those that were open between send and report, the third those that began after the report.
    Findings of other classes, and those without a report, keep their `during`; the others are empty.
    """
    lost, vanished = lost & (closed != NULL), vanished & (closed != NULL)
    spans = _spans(windows)
    known = sent != NULL
    ended = [lost & known & (sent <= end) & (end < closed) for _, end in spans]
    at_report = [
        ((begin <= closed) & ((lost & (closed <= end)) | (vanished & known & (sent <= end))))
        for begin, end in spans
    ]
    later = [(lost | vanished) & (begin > closed) for begin, _ in spans]
    told = _names(windows, at_report, sent)
    split = lost | vanished
    shifted = np.where(during.codes < 0, -1, during.codes + len(told.names))
    return (
        _names(windows, ended, sent),
        Labels(np.where(split, told.codes, shifted), [*told.names, *during.names]),
        _names(windows, later, sent),
    )


def _spans(windows: Sequence[FaultWindow]) -> list[tuple[int, int]]:
    return [
        (window.opened_ns, _FOR_EVER if window.closed_ns is None else window.closed_ns) for window in windows
    ]


def _names(windows: Sequence[FaultWindow], flags: Sequence[Flags], like: Ints) -> Labels:
    """The joined names of the windows whose flag is set, by row."""
    code, texts = np.zeros(len(like), np.int64), [""]
    for window, flag in zip(windows, flags, strict=True):
        if not flag.any():
            continue
        # At most as many combinations as there were, twice.
        kinds, code = ranked(code * 2 + flag)
        texts = [
            BETWEEN_NAMES.join(filter(None, (texts[kind >> 1], window.name if kind & 1 else "")))
            for kind in kinds.tolist()
        ]
    return Labels(code, texts)
