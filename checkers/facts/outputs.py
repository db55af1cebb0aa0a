"""What an application made of each input: how many outputs it has, and whether it had to have any."""

from __future__ import annotations

import pickle
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from checkers.facts.block import BlockFacts, deduplicated, txn_outcomes
from checkers.facts.columns import ABORTED, ACKED, COMMITTED, NULL, WIDTH, ColumnBatch, Flags, Ints
from checkers.facts.output_order import Order, first_outputs
from checkers.facts.places import Places
from harness.model.storage import StoragePath, place

OUTPUT_COLUMNS = ("run", "producer", "seq", "spot", "offset", "moment")
"""Rows of the outputs journal whose identity can be trusted. `moment` is the output's own timestamp, in ns
since the epoch (null: it has none)."""

OUTPUT_FACTS = (
    *("producer", "seq", "spot", "key", "step", "outcome", "sent_ns", "closed_ns", "acked_offset", "txn"),
    *("sent", "in_log", "in_spot", "in_offset", "copies", "aborted", "by_policy", "expected", "complete"),
    *("per_input", "allowed", "outputs", "out_spot", "out_offset", "again_spot", "again_offset", "moment"),
    *("late", "ahead"),
)
"""What is known of an input and its outputs, one row per input; a null is `columns.NULL`.

The first columns are those of its send. `sent` (flag): this run sent it; if not, all columns of the send
and of the log are null. `in_log` (flag): the final read of the input holds it, `copies` times, first at
`in_offset` of `in_spot`; of an input that was deleted this is where it was acknowledged. `aborted`
(flag): its transaction was aborted. `by_policy` (flag): it is not in the log, and retention, compaction or a
step of the experiment may have removed it. `expected` (flag): an application must give outputs for it: it is
in the log, and readers of committed records get it; or it was acknowledged and deleted. `complete` (flag):
the application was drained, and its output was read to its end. `per_input` is the number of outputs that an
input should have, `allowed` the most that it may have: a record that the input holds twice may be processed
twice. `outputs` is the number of its places in the output; the first in time is `out_offset` of `out_spot`,
the last `again_offset` of `again_spot`, written at `moment` (ns). `late` (flag): the application promises an
order, and the output of an input that stands at `ahead`, behind this one, stands before its first output.
"""

MOST_OFFSETS = 5
_MS = 1_000_000


@dataclass(frozen=True)
class OutputRules:
    """What an application promises, and what may have removed its inputs.

    `committed_only`: only outputs count that readers of committed records get. `per_input`: the number of
    outputs that an input should have. `complete`: the application was drained and its output was read to its
    end. `starts`: log start offset by topic and partition of the input. `newest_deletable_ns`: retention may
    have deleted what was sent up to then (None: nothing). `compacts`: the input keeps only the newest record
    of each key. Steps of the experiment have deleted the records below offset `deleted_before`, and created
    the topic again at `recreated_ns`; the last such step was at `deleted_ns` (None: there was none).
    """

    committed_only: bool
    per_input: int
    order: Order
    complete: bool
    starts: Mapping[tuple[str, int], int]
    newest_deletable_ns: int | None
    compacts: bool
    deleted_before: int | None = None
    recreated_ns: int | None = None
    deleted_ns: int | None = None


@dataclass(frozen=True)
class OutputFacts:
    """Rows of `OUTPUT_FACTS`, and the first few offsets of the outputs of each."""

    rows: ColumnBatch
    offsets: pa.ListArray

    def save(self, scratch: str, number: int) -> None:
        _file(scratch, number).write_bytes(pickle.dumps(self, protocol=5))

    @classmethod
    def load(cls, scratch: str, number: int) -> OutputFacts:
        # Written by `save` in a folder of this very check.
        found = pickle.loads(_file(scratch, number).read_bytes())
        assert isinstance(found, cls)
        return found


def _file(scratch: str, number: int) -> StoragePath:
    return place(scratch) / f"outputs-{number:06}"


@dataclass(frozen=True)
class BlockOutputs:
    """The outputs of a block's inputs: `inputs` that an application must process, how many of them it
    processed, the facts of those that need a look, and where each input's first output stands (`ORDER`)."""

    inputs: int
    processed: int
    facts: OutputFacts
    order: ColumnBatch


def measure_outputs(
    block: BlockFacts, outputs: ColumnBatch, rules: OutputRules, topics: Mapping[str, int]
) -> BlockOutputs:
    """What became of the inputs of a block.

    Args:
        outputs: rows of `OUTPUT_COLUMNS` of the same records.
        topics: the number of each topic.
    """
    places = Places(block.sends["producer"], block.sends["seq"])
    sends, sent_at, _ = deduplicated(block.sends, places)
    count = len(sends)
    send_of = np.full(places.size, -1, np.int64)
    send_of[sent_at] = np.arange(count)

    final = _of_records(block.final, block.run, places, send_of)
    rows, of = _distinct(*final)
    copies = np.bincount(of, minlength=count)
    in_spot, in_offset = np.full(count, NULL, np.int64), np.full(count, NULL, np.int64)
    first = _first_of_each(of)
    in_spot[of[first]], in_offset[of[first]] = rows["spot"][first], rows["offset"][first]
    in_log = copies > 0

    got = np.ones(count, bool)
    if block.committed is not None:
        _, of_committed = _of_records(block.committed, block.run, places, send_of)
        got = sends["txn"] == NULL
        got[of_committed] = True
    txn = txn_outcomes(block.txns, sends)
    aborted = in_log & ~got & (txn != COMMITTED)
    if block.committed is None:
        aborted = in_log & (txn == ABORTED)
    expired, by_policy = _gone(sends, in_log, rules, topics)
    expired &= (sends["txn"] == NULL) | (txn == COMMITTED)
    expected = (in_log & got & ~aborted) | expired
    in_spot = np.where(expired, sends["spot"], in_spot)
    in_offset = np.where(expired, sends["offset"], in_offset)

    known, known_of = _of_records(outputs, block.run, places, send_of)
    made, of = _distinct(known, known_of)
    in_time = np.lexsort((made["offset"], made["spot"], made["moment"], of))
    made, of = made.where(in_time), of[in_time]
    many = np.bincount(of, minlength=count)
    first, last = _first_of_each(of), _first_of_each(of, last=True)
    nothing = np.full(count, NULL, np.int64)
    out = {
        name: nothing.copy() for name in ("out_spot", "out_offset", "again_spot", "again_offset", "moment")
    }
    for index, spot, offset in ((first, "out_spot", "out_offset"), (last, "again_spot", "again_offset")):
        out[spot][of[index]], out[offset][of[index]] = made["spot"][index], made["offset"][index]
    out["moment"][of[last]] = made["moment"][last]

    allowed = rules.per_input * np.maximum(copies, 1)
    facts = {
        **{name: sends[name] for name in _OF_SEND},
        "acked_offset": sends["offset"],
        "sent": np.ones(count, bool),
        "in_log": in_log,
        "in_spot": in_spot,
        "in_offset": in_offset,
        "copies": copies,
        "aborted": aborted,
        "by_policy": by_policy,
        "expected": expected,
        "complete": np.full(count, rules.complete),
        "per_input": np.full(count, rules.per_input),
        "allowed": allowed,
        "outputs": many,
        "late": np.zeros(count, bool),
        "ahead": nothing,
        **out,
    }
    as_it_should_be = np.where(expected, (many >= rules.per_input) & (many <= allowed), many == 0)
    looked_at = np.flatnonzero(~as_it_should_be)
    chosen = ColumnBatch({name: facts[name][looked_at] for name in OUTPUT_FACTS})
    offsets = _first_offsets(made["offset"], of, looked_at, count)
    strays = _strays(outputs, block.run, places, send_of, rules)
    # Offsets of a topic that was created again begin anew.
    old_topic = ~in_log & _sent_by(sends, rules.recreated_ns)
    in_order = np.flatnonzero((in_offset != NULL) & ~old_topic)
    return BlockOutputs(
        inputs=int(np.count_nonzero(expected)),
        processed=int(np.count_nonzero(expected & (many >= rules.per_input))),
        facts=joined_facts([OutputFacts(chosen, offsets), strays]),
        order=first_outputs(ColumnBatch(facts), made, of, rules.order, in_order),
    )


_OF_SEND = ("producer", "seq", "spot", "key", "step", "outcome", "sent_ns", "closed_ns", "txn")


def joined_facts(parts: Sequence[OutputFacts]) -> OutputFacts:
    return OutputFacts(
        ColumnBatch.joined([part.rows for part in parts], OUTPUT_FACTS),
        pa.concat_arrays([part.offsets for part in parts]),
    )


def unsent_facts(rules: OutputRules, **columns: Ints) -> OutputFacts:
    """Facts of outputs of which this run sent no input: `producer`, `seq`, `out_spot`, `out_offset` and
    `moment`; one output each."""
    count = len(columns["out_offset"])
    empty = {name: np.full(count, NULL, np.int64) for name in OUTPUT_FACTS}
    flags = ("sent", "in_log", "aborted", "by_policy", "expected", "late")
    empty |= {name: np.zeros(count, bool) for name in flags}
    one = np.ones(count, np.int64)
    empty |= {"outputs": one, "complete": np.full(count, rules.complete)}
    empty |= {"per_input": rules.per_input * one, "allowed": 0 * one, "copies": 0 * one}
    return OutputFacts(ColumnBatch(empty | columns), one_offset_each(columns["out_offset"]))


def one_offset_each(offset: Ints) -> pa.ListArray:
    return pa.ListArray.from_arrays(pa.array(np.arange(len(offset) + 1), pa.int32()), pa.array(offset))


def _of_records(rows: ColumnBatch, run: int, places: Places, send_of: Ints) -> tuple[ColumnBatch, Ints]:
    """The rows of records that this run sent, and the numbers of their sends."""
    at = places.of(rows["producer"], rows["seq"])
    of = np.where(at >= 0, send_of[at] if len(send_of) else -1, -1)
    of = np.where(rows["run"] == run, of, -1)
    mine = np.flatnonzero(of >= 0)
    return rows.where(mine), of[mine]


def _strays(rows: ColumnBatch, run: int, places: Places, send_of: Ints, rules: OutputRules) -> OutputFacts:
    """Outputs with an identity that this run never sent."""
    at = places.of(rows["producer"], rows["seq"])
    known = (rows["run"] == run) & (at >= 0)
    if len(send_of):
        known &= send_of[at] >= 0
    found = rows.where(np.flatnonzero(~known))
    return unsent_facts(
        rules,
        producer=found["producer"],
        seq=found["seq"],
        out_spot=found["spot"],
        out_offset=found["offset"],
        moment=found["moment"],
    )


def _distinct(rows: ColumnBatch, of: Ints) -> tuple[ColumnBatch, Ints]:
    """The rows by record and place, each place of a record once: of several rows, the earliest."""
    moment = (rows["moment"],) if "moment" in rows.columns else ()
    order = np.lexsort((*moment, rows["offset"], rows["spot"], of))
    rows, of = rows.where(order), of[order]
    new = np.ones(len(of), bool)
    new[1:] = of[1:] != of[:-1]
    for name in ("spot", "offset"):
        new[1:] |= rows[name][1:] != rows[name][:-1]
    chosen = np.flatnonzero(new)
    return rows.where(chosen), of[chosen]


def _first_of_each(of: Ints, *, last: bool = False) -> Ints:
    """Indices of the first (or last) row of each record; rows of a record stand together."""
    if not len(of):
        return np.empty(0, np.int64)
    edge = np.ones(len(of), bool)
    if last:
        edge[:-1] = of[1:] != of[:-1]
    else:
        edge[1:] = of[1:] != of[:-1]
    return np.flatnonzero(edge)


def _gone(
    sends: ColumnBatch, in_log: Flags, rules: OutputRules, topics: Mapping[str, int]
) -> tuple[Flags, Flags]:
    """Which acknowledged inputs retention or a step of the experiment has deleted, and which absent inputs
    these or compaction may have removed."""
    absent = ~in_log
    known = sends["offset"] != NULL
    compacted = absent & (sends["key"] != NULL) & rules.compacts
    recreated = absent & known & _sent_by(sends, rules.recreated_ns)
    below = _below_start(sends, rules, topics)
    old = absent & _sent_by(sends, rules.newest_deletable_ns)
    deleted = absent & below & (sends["offset"] < (rules.deleted_before or 0))
    expired = (recreated | deleted | (old & below)) & (sends["outcome"] == ACKED)
    unclear = ~known & (old | (absent & _sent_by(sends, rules.deleted_ns)))
    return expired, expired | compacted | recreated | deleted | (old & below) | unclear


def _sent_by(sends: ColumnBatch, moment: int | None) -> Flags:
    """What had been sent by a moment; nothing, if there is none."""
    if moment is None:
        return np.zeros(len(sends), bool)
    return np.asarray((sends["sent_ns"] != NULL) & (sends["sent_ns"] <= moment))


def _below_start(sends: ColumnBatch, rules: OutputRules, topics: Mapping[str, int]) -> Flags:
    """What was acknowledged below the log start offset of its partition."""
    if not rules.starts:
        return np.zeros(len(sends), bool)
    listed = sorted(
        (topics[topic] * WIDTH + partition, at) for (topic, partition), at in rules.starts.items()
    )
    spots, starts = np.array(listed, np.int64).T
    at = np.minimum(np.searchsorted(spots, sends["spot"]), len(spots) - 1)
    start = np.where(spots[at] == sends["spot"], starts[at], NULL)
    return np.asarray((sends["offset"] != NULL) & (sends["offset"] < start))


def _first_offsets(offset: Ints, of: Ints, chosen: Ints, count: int) -> pa.ListArray:
    """The first few offsets of the outputs of the chosen records, ascending."""
    number = np.full(count, -1, np.int64)
    number[chosen] = np.arange(len(chosen))
    mine = np.flatnonzero(number[of] >= 0)
    record, offset = number[of[mine]], offset[mine]
    order = np.lexsort((offset, record))
    record, offset = record[order], offset[order]
    begin = np.searchsorted(record, np.arange(len(chosen)))
    shown = np.arange(len(record)) - begin[record] < MOST_OFFSETS if len(record) else np.empty(0, bool)
    many = np.bincount(record[shown], minlength=len(chosen))
    starts = np.concatenate([[0], np.cumsum(many)])
    return pa.ListArray.from_arrays(pa.array(starts, pa.int32()), pa.array(offset[shown]))
