"""Fifty stories with anomalies that were put into them, on which Elle gave its verdicts too."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations
from pathlib import Path
from random import Random

from tests.support.transaction_history import PARTITIONS, Story, Txn

STORIES = 50
VERDICTS = Path(__file__).with_name("elle_verdicts.tsv")
"""A line per story: its number and kind, and the anomalies that Elle 0.1.5 found among edges of the kinds wr
and realtime, of ww and wr, and of ww, wr and rw ("-": none). `tests.bench.elle` writes it."""
KINDS = ("nothing", "circle", "circle by time", "write cycle", "fractured read")
_TXNS = 8


@dataclass(frozen=True)
class Planted:
    """A story that was serial before an anomaly of this kind was put into it."""

    number: int
    kind: str
    story: Story


def planted(number: int) -> Planted:
    """The story of this number, always the same: transactions that wrote one after the other, and of which
    each polled all that those before it had written since its poll before."""
    draw = Random(f"planted/{number}")
    kind = KINDS[number % len(KINDS)]
    log: list[list[int]] = [[] for _ in range(PARTITIONS)]
    polled: list[list[tuple[int, int]]] = []
    for writer in range(_TXNS):
        polled.append([(part, at) for part, of in enumerate(log) for at in range(len(of))])
        for part in sorted(draw.sample(range(PARTITIONS), draw.randint(1, PARTITIONS))):
            log[part] += [writer] * draw.randint(1, 2)
    a, b = sorted(draw.sample(range(_TXNS - 1), 2))
    apart = kind == "circle by time"
    if kind.startswith("circle"):
        # The one polled of the other, which comes after it.
        records = [(part, at) for part, of in enumerate(log) for at, one in enumerate(of) if one == b]
        polled[a].append(draw.choice(records))
    elif kind == "write cycle":
        # Both wrote everywhere, and in one partition the other way round.
        log = [[w for w in of if w not in (a, b)] for of in log]
        for part in range(PARTITIONS):
            log[part] += [a, b] if part else [b, a]
        polled = [[] for _ in polled]
        polled[-1] = [(part, at) for part, of in enumerate(log) for at in range(len(of))]
    elif kind == "fractured read":
        # The last one polls one partition up to the end, and another one up to a transaction that wrote both.
        whole, part, writer = draw.choice(
            [
                (one, other, writer)
                for one, other in permutations(range(PARTITIONS), 2)
                for writer in set(log[one]) & set(log[other])
                if writer not in (log[other][0], _TXNS - 1)
            ]
        )
        before = range(log[part].index(writer))
        polled[-1] = [(whole, at) for at, one in enumerate(log[whole]) if one != _TXNS - 1]
        polled[-1] += [(part, at) for at in before]
    txns = tuple(
        Txn(2 * one if apart else 1, 2 * one + 1 if apart else 40, tuple(of)) for one, of in enumerate(polled)
    )
    return Planted(number, kind, Story(txns, tuple(map(tuple, log))))
