"""Values with their intervals as horizontal bars: an SVG in a page, in the page's colours."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import wrap

from markupsafe import Markup

from harness.report.page.blocks import Block, Drawing, Text, section
from harness.report.page.line_chart import round_step

_WIDTH, _LEFT, _RIGHT = 960, 4, 940
_LINE, _BAR, _GAP, _AXIS = 18, 12, 14, 24
_LONGEST = 84
"""Characters of a label's line; the text of its value stands to the right of the first."""
_HEAD = Markup(
    '<svg viewBox="0 0 {} {}" role="img" aria-labelledby="{}-title {}-text">\n'
    '<title id="{}-title">{}</title>\n<desc id="{}-text">{}</desc>'
)
_TEXT = Markup('<text x="{:.1f}" y="{:.1f}"{}>{}</text>')
_GRID = Markup('<path class="grid" d="M{:.1f} 0V{:.1f}"/>')
_BAR_RECT = Markup('<rect class="{}" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{}"/>')
_INTERVAL = Markup(
    '<path class="interval" d="M{0:.1f} {2:.1f}v8M{0:.1f} {3:.1f}H{1:.1f}M{1:.1f} {2:.1f}v8"/>'
)
_KEY = (("bar", "measured"), ("interval-key", "95 % interval"), ("broken", "a promise is broken"))
_END, _END_BROKEN = Markup(' class="end"'), Markup(' class="end bad"')
_TICK, _TICK_END = Markup(' class="tick"'), Markup(' class="tick end"')


@dataclass(frozen=True, slots=True)
class Bar:
    """One value. `text` says it in words, with its interval. `value` None: there is none, and `text` says
    why. `low` and `high` None: there is no interval. `broken`: a promise about it is broken."""

    label: str
    text: str
    value: float | None = None
    low: float | None = None
    high: float | None = None
    broken: bool = False


def bars_section(
    title: str, about: str, bars: Sequence[Bar], *, id: str, most: float = 0.0, unit: str = ""
) -> Block:
    """A section of one chart with its explanation, for HTML; it is empty if no bar has a value.

    Args:
        id: of the section; unique on the page.
        most: the end of the axis, at least; 100 for shares in per cent.
        unit: what stands behind the numbers of the axis, with its space.
    """
    known = [bar for bar in bars if bar.value is not None]
    if not known:
        return Text("")
    shows = (True, any(bar.low is not None for bar in known), any(bar.broken for bar in known))
    key = [entry for entry, shown in zip(_KEY, shows, strict=True) if shown]
    drawing = Drawing(_svg(title, bars, f"chart-{id}", most, unit), key)
    return section(title, Text(about, note=True), drawing, id=id, only="html")


def _svg(title: str, bars: Sequence[Bar], id: str, most: float, unit: str) -> Markup:
    """The drawing. Every text in it is escaped."""
    ends = [end for bar in bars for end in (bar.value, bar.high) if end is not None]
    most = max(most, *ends) or 1.0
    labels = [wrap(bar.label, _LONGEST) or [""] for bar in bars]
    bottom = sum(_LINE * len(lines) + _BAR + _GAP for lines in labels)
    description = "; ".join(f"{bar.label}: {bar.text}" for bar in bars)
    out = [_HEAD.format(_WIDTH, bottom + _AXIS, id, id, id, title, id, description)]

    def across(value: float) -> float:
        return _LEFT + (_RIGHT - _LEFT) * value / most

    step = round_step(most)
    for number in range(int(most / step + 1e-9) + 1):
        x = across(number * step)
        anchor = _TICK_END if x > _RIGHT - 30 else _TICK
        out += [_GRID.format(x, bottom), _TEXT.format(x, bottom + 16, anchor, f"{number * step:,g}{unit}")]
    y = 0
    for bar, lines in zip(bars, labels, strict=True):
        out += [_TEXT.format(_LEFT, y + 13 + _LINE * row, "", line) for row, line in enumerate(lines)]
        out.append(_TEXT.format(_RIGHT, y + 13, _END_BROKEN if bar.broken else _END, bar.text))
        y += _LINE * len(lines)
        if bar.value is not None:
            width = max(across(bar.value) - _LEFT, 1.0)
            out.append(_BAR_RECT.format("broken" if bar.broken else "bar", _LEFT, y, width, _BAR))
        if bar.low is not None and bar.high is not None:
            out.append(_INTERVAL.format(across(bar.low), across(bar.high), y + 2, y + 6))
        y += _BAR + _GAP
    return Markup("\n").join([*out, Markup("</svg>\n")])
