"""Cycles among transactions: Arrow tables of their edges in, one row per cycle out.

An edge from A to B says that A comes before B in every order of the transactions that explains the run:

    ww        B wrote the next record after one of A's in a partition
    wr        B polled a record that A wrote
    rw        A polled a partition up to an offset, and B wrote the next record after it
    realtime  A had ended before B began

The kinds are those of Adya (Weak Consistency, 1999), with offsets as the order of versions, as in Jepsen's
Kafka workload. A component is a set of transactions each of which reaches every other by such edges. The
workers of the engine import this module, so it imports no engine.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from checkers.groups.anomalies import FAILED, NULL, Ints, integers
from harness.model.errors import first_line

TXN_BITS = 40
"""A transaction's number is its producer's above these bits, and in them its own among the producer's."""
MOST_STARTS = 1000
"""Where a component has no cycle of two, the shortest one is looked for through this many of its edges."""
ALL_REALTIME = 500
"""Among at most this many transactions every realtime edge is there; among more only those that do not follow
from others, whose number does not grow with the square. A cycle with such an edge may be told longer then."""
MOST_EDGES = 12
"""Edges of a cycle that are told; of a longer one the first."""

CYCLES = pa.schema(
    {
        **dict.fromkeys(("kind", "story", "reason"), pa.string()),
        **dict.fromkeys(("producer", "txn", "count", "at_ns", "until_ns"), pa.int64()),
        "cycle": pa.list_(pa.string()),
    }
)
"""One row per component and class: `kind` is the class, or `FAILED` with the `reason`; `producer` and `txn`
are the first transaction of its shortest cycle, `cycle` and `story` that cycle as texts and as a sentence,
`count` the number of transactions in the component, `at_ns` and `until_ns` the first begin and the last end
in the cycle (null: not known)."""


class Search(NamedTuple):
    """A class: a cycle has an edge of the kind `needs` (`once`: only one), and else edges of `also`."""

    finding: str
    needs: str
    also: tuple[str, ...]
    once: bool = False


SEARCHES = (
    Search("circular_information_flow", "wr", ("realtime",)),
    Search("write_cycle", "ww", ("wr",)),
    Search("fractured_read", "rw", ("ww", "wr"), once=True),
)


@dataclass(frozen=True)
class Edges:
    """Edges of one kind, each pair of transactions once and in order; `about` has the partition and two
    offsets of each."""

    source: Ints
    target: Ints
    about: Ints

    @classmethod
    def of(cls, source: Ints, target: Ints, about: Ints) -> Edges:
        order = np.lexsort((*about.T[::-1], target, source))
        source, target = source[order], target[order]
        first = np.ones(len(order), bool)
        first[1:] = (source[1:] != source[:-1]) | (target[1:] != target[:-1])
        return cls(source[first], target[first], about[order][first])


def cycle_rules(rows: pa.Table, topics: Sequence[str]) -> pa.Table:
    """The cycles (`CYCLES`) in the rows of `checkers.transactions.find.edges_of`; `topics` are the run's."""
    try:
        graph = _Graph(rows, topics)
        cycles = [cycle for search in SEARCHES for cycle in graph.cycles(search)]
    except Exception as error:  # any error of a rule makes the verdict unknown, and is shown
        cycles = [{"kind": FAILED, "reason": first_line(error)}]
    return pa.Table.from_pylist(cycles, schema=CYCLES)


class _Graph:
    def __init__(self, rows: pa.Table, topics: Sequence[str]) -> None:
        kinds = {
            kind: np.asarray(pc.equal(rows["kind"], kind).to_numpy()) for kind in ("ww", "wr", "rw", "txn")
        }
        source, target = integers(rows["source"]), integers(rows["target"])
        about = np.stack(
            [integers(rows[name]) for name in ("topic_partition", "offset", "next_offset")], axis=1
        )
        times = kinds.pop("txn")
        self._topics = topics
        # What has no target is about its source alone.
        both = np.concatenate([source, np.where(times, source, target)])
        self._nodes, numbered = np.unique(both, return_inverse=True)
        source, target = np.split(numbered, 2)
        self._begun, self._ended = np.full((2, len(self._nodes)), NULL, np.int64)
        self._begun[source[times]], self._ended[source[times]] = about[times, 1], about[times, 2]
        self._edges = {
            name: Edges.of(source[mine], target[mine], about[mine]) for name, mine in kinds.items()
        }
        few = len(self._nodes) <= ALL_REALTIME
        order = all_realtime if few else realtime
        pairs = np.array(list(order(self._begun, self._ended)), np.int64).reshape(-1, 2)
        nothing = np.full((len(pairs), 3), NULL)
        self._edges["realtime"] = Edges.of(pairs[:, 0], pairs[:, 1], nothing)

    def cycles(self, search: Search) -> Iterator[dict[str, Any]]:
        """The shortest cycle of each component that has one."""
        # SciPy takes a while to import, and most runs have no transactions that poll.
        from scipy.sparse import csr_array
        from scipy.sparse.csgraph import breadth_first_order, connected_components

        count = len(self._nodes)
        needed, also = self._edges[search.needs], [self._edges[kind] for kind in search.also]

        def graph(edges: Sequence[Edges]) -> Any:
            source = np.concatenate([edge.source for edge in edges])
            target = np.concatenate([edge.target for edge in edges])
            return csr_array((np.ones(len(source), np.int8), (source, target)), (count, count))

        _, component = connected_components(graph([needed, *also]), connection="strong")
        inside = np.flatnonzero(component[needed.source] == component[needed.target])
        if not len(inside):
            return
        ways = _within(graph(also if search.once else [needed, *also]), component)
        sizes = np.bincount(component, minlength=count)
        source, target = needed.source[inside], needed.target[inside]
        back = np.asarray(ways[target, source]).reshape(-1) != 0
        for number in np.unique(component[source]).tolist():
            mine = component[source] == number
            if (mine & back).any():
                first = int(np.flatnonzero(mine & back)[0])
                paths = [[int(target[first]), int(source[first])]]
            else:
                paths = []
                for start in np.flatnonzero(mine)[:MOST_STARTS].tolist():
                    _, before = breadth_first_order(ways, target[start])
                    paths.append(_path(before, int(target[start]), int(source[start])))
            shortest = min((path for path in paths if path), key=len, default=None)
            if shortest is not None:
                yield self._cycle_row(search, shortest, int(sizes[number]))

    def _cycle_row(self, search: Search, path: list[int], count: int) -> dict[str, Any]:
        """The row of a cycle: the needed edge, from the end of `path` to its beginning, and then the path."""
        edges = [(path[-1], path[0], self._between(path[-1], path[0], (search.needs,)))]
        kinds = search.also if search.once else (search.needs, *search.also)
        edges += [(a, b, self._between(a, b, kinds)) for a, b in pairwise(path)]
        first = edges.index(min(edges))
        edges = [*edges[first:], *edges[:first]]
        known = [[ns for ns in times[path].tolist() if ns != NULL] for times in (self._begun, self._ended)]
        number = int(self._nodes[edges[0][0]])
        story = "; ".join(self._sentence(*edge) for edge in edges[:MOST_EDGES])
        left = len(edges) - MOST_EDGES
        return {
            "kind": search.finding,
            "producer": number >> TXN_BITS,
            "txn": number & ((1 << TXN_BITS) - 1),
            "count": count,
            "at_ns": min(known[0], default=None),
            "until_ns": max(known[1], default=None),
            "cycle": [self._label(*edge) for edge in edges[:MOST_EDGES]],
            "story": f"{story}; and {left} more such steps lead back" if left > 0 else story,
        }

    def _between(self, a: int, b: int, kinds: Sequence[str]) -> tuple[str, tuple[int, ...]]:
        """The edge from a to b of the first of these kinds, and what it is about."""
        for kind in kinds:
            edges = self._edges[kind]
            low, high = np.searchsorted(edges.source, [a, a + 1])
            at = low + int(np.searchsorted(edges.target[low:high], b))
            if at < high and edges.target[at] == b:
                return kind, tuple(edges.about[at].tolist())
        raise LookupError(f"no edge from {a} to {b}")

    def _label(self, a: int, _: int, edge: tuple[str, tuple[int, ...]]) -> str:
        kind, (where, offset, then) = edge
        about = "" if kind == "realtime" else f" {self._partition_name(where)}@{offset}"
        number = int(self._nodes[a])
        more = f",{then}" if then != NULL else ""
        return f"{number >> TXN_BITS}/{number & ((1 << TXN_BITS) - 1)} {kind}{about}{more}"

    def _sentence(self, a: int, b: int, edge: tuple[str, tuple[int, ...]]) -> str:
        kind, (where, offset, then) = edge
        first, second = self._name(a), self._name(b)
        if kind == "realtime":
            return f"{first} had ended when {second} began"
        at = self._partition_name(where)
        if kind == "wr":
            return f"{second} polled offset {offset} of {at}, which {first} wrote"
        if kind == "ww":
            return f"{second} wrote offset {then} of {at} after {first} wrote {offset}"
        return f"{first} polled {at} up to offset {offset}, and {second} wrote {then}"

    def _name(self, node: int) -> str:
        number = int(self._nodes[node])
        return f"transaction {number & ((1 << TXN_BITS) - 1)} of producer {number >> TXN_BITS}"

    def _partition_name(self, topic_partition: int) -> str:
        return f"{self._topics[topic_partition >> 32]}-{topic_partition & (2**32 - 1)}"


def all_realtime(begun: Ints, ended: Ints) -> Iterator[tuple[int, int]]:
    """Edges (from, to) between all transactions of which one had ended when the other began (`NULL`: not
    known)."""
    for source in np.flatnonzero(ended != NULL).tolist():
        yield from ((source, node) for node in np.flatnonzero(begun > ended[source]).tolist())


def realtime(begun: Ints, ended: Ints) -> Iterator[tuple[int, int]]:
    """Edges (from, to) between transactions of which one had ended when the other began (`NULL`: not known),
    but those that follow from others."""
    events = [(at, 0, node) for node, at in enumerate(begun.tolist()) if at != NULL]
    events += [(at, 1, node) for node, at in enumerate(ended.tolist()) if at != NULL]
    latest: list[int] = []
    for _, ends, node in sorted(events):
        if ends:
            # What had ended when this one began comes before it, and so before all that follows.
            latest = [*(earlier for earlier in latest if ended[earlier] >= begun[node]), node]
        else:
            yield from ((earlier, node) for earlier in latest)


def _within(graph: Any, component: Ints) -> Any:
    """The edges that do not leave a component."""
    rows = graph.tocoo()
    same = component[rows.row] == component[rows.col]
    return type(graph)((rows.data[same], (rows.row[same], rows.col[same])), graph.shape)


def _path(before: Ints, start: int, goal: int) -> list[int]:
    """The nodes from start to goal, both included, by each node's predecessor (negative: not reached)."""
    path = [goal]
    while path[-1] != start:
        if before[path[-1]] < 0:
            return []
        path.append(int(before[path[-1]]))
    return path[::-1]
