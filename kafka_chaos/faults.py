"""Faults, and the entries of a write step's schedule that say when each begins and ends."""

import faults as _faults
from faults import *  # noqa: F403
from faults.schedules.entries import (
    Choice,
    FaultMenu,
    Part,
    Random,
    Sequence,
    SequencePart,
    TimedFault,
    Together,
    TogetherPart,
)

__all__ = [
    "Choice",
    "FaultMenu",
    "Part",
    "Random",
    "Sequence",
    "SequencePart",
    "TimedFault",
    "Together",
    "TogetherPart",
]
__all__ += _faults.__all__
