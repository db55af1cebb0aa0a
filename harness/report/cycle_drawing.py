"""Drawings of cycles of transactions: each is a box, each edge an arrow to the one that comes after."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import atan2, cos, degrees, hypot, pi, sin
from typing import NamedTuple

from markupsafe import Markup

from harness.model.finding_class import Breaks
from harness.model.result import Example, Summary
from harness.report.page.blocks import Block, Drawing, Section, Text, section

_WIDTH, _BOX, _BEND = 720, (150, 24), 40
_WORDS = {
    "wr": "is polled by",
    "ww": "writes before",
    "rw": "does not poll yet",
    "realtime": "ends before",
}
"""What a transaction does to the one that its arrow leads to."""


class CycleEdge(NamedTuple):
    """An edge of a cycle: from a transaction ("producer/number") to the next one of the cycle."""

    txn: str
    kind: str
    about: str

    @classmethod
    def of(cls, text: str) -> CycleEdge:
        """Read a text of `harness.model.result.Example.cycle`, such as "0/3 ww t-0@4,7"."""
        txn, kind, *rest = text.split(" ", 2)
        where, _, offsets = rest[0].rpartition("@") if rest else ("", "", "")
        about = f"p{where.rpartition('-')[2]}: {offsets.replace(',', ', ')}" if where else ""
        return cls(txn, kind, about)


def cycles_section(summary: Summary) -> Section:
    """The shortest cycle of the first example of each class, those that break the verdict first; empty if
    there is none."""
    firsts = {example.finding: example for example in reversed(summary.examples) if example.cycle}
    order = sorted(
        firsts.values(), key=lambda example: (example.finding.breaks is Breaks.NEVER, example.finding.value)
    )
    return section("Cycles of transactions", *(block for example in order for block in _blocks(example)))


def _blocks(example: Example) -> Iterator[Block]:
    allowed = ", which Kafka allows" if example.finding.breaks is Breaks.NEVER else ""
    name = f"`{example.finding.value}`{allowed}"
    yield Text(f"{name}. Each arrow leads to what comes after, with partition (p0, p1, ...) and offsets.")
    yield Drawing(drawn([CycleEdge.of(text) for text in example.cycle]))


def drawn(steps: Sequence[CycleEdge]) -> Markup:
    """The cycle as SVG, its transactions on an ellipse, clockwise."""
    count = len(steps)
    height = 200 if count == 2 else min(520, 140 + 70 * count)
    wide, high = _WIDTH / 2 - _BOX[0] / 2 - 20, 0 if count == 2 else height / 2 - 60
    angles = [pi + 2 * pi * number / count for number in range(count)]
    at = [(_WIDTH / 2 + wide * cos(angle), height / 2 + high * sin(angle)) for angle in angles]
    words = "; ".join(f"{step.txn} {step.kind} {step.about}".strip() for step in steps)
    parts = [Markup('<svg viewBox="0 0 {} {}" role="img"><title>{}</title>').format(_WIDTH, height, words)]
    parts += [_arrow(at[number], at[(number + 1) % count], step) for number, step in enumerate(steps)]
    parts += [_box(where, step) for where, step in zip(at, steps, strict=True)]
    return Markup("").join([*parts, Markup("</svg>")])


def _arrow(start: tuple[float, float], end: tuple[float, float], step: CycleEdge) -> Markup:
    """A curve that bends to the left of its direction, with its point and its text in the middle."""
    across, down = end[0] - start[0], end[1] - start[1]
    length = hypot(across, down) or 1.0
    left = (down / length, -across / length)
    middle = [(a + b) / 2 for a, b in zip(start, end, strict=True)]
    bend = [m + 2 * _BEND * side for m, side in zip(middle, left, strict=True)]
    tip = [m + _BEND * side for m, side in zip(middle, left, strict=True)]
    if abs(left[0]) > 0.5:  # A steep arrow has its text at its inner side.
        anchor, beside, below = ("end", -14, 4) if left[0] > 0 else ("start", 14, 4)
    else:
        anchor, beside, below = "middle", 0, 22 if left[1] > 0 else -12
    return Markup(
        '<path class="way" d="M{:.1f} {:.1f}Q{:.1f} {:.1f} {:.1f} {:.1f}"/>'
        '<path class="exit-mark" d="M7 0L-6 -6V6Z" transform="translate({:.1f} {:.1f}) rotate({:.1f})"/>'
        '<text x="{:.1f}" y="{:.1f}" text-anchor="{}">{}</text>'
    ).format(
        *(*start, *bend, *end, *tip, degrees(atan2(down, across)), tip[0] + beside, tip[1] + below, anchor),
        f"{_WORDS.get(step.kind, step.kind)} {step.about and f'({step.about})'}".strip(),
    )


def _box(at: tuple[float, float], step: CycleEdge) -> Markup:
    producer, _, number = step.txn.partition("/")
    return Markup(
        '<rect class="step" x="{:.1f}" y="{:.1f}" width="{}" height="{}"/>'
        '<text x="{:.1f}" y="{:.1f}" text-anchor="middle">{}</text>'
    ).format(
        *(at[0] - _BOX[0] / 2, at[1] - _BOX[1] / 2, *_BOX, at[0], at[1] + 4),
        f"producer {producer}, txn {number}",
    )
