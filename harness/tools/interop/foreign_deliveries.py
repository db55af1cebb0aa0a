"""The journals of a share group from the lines of its members, VerifiableShareConsumers with --verbose, and
from what kafka-share-groups printed of the group at the end.

The tool accepts every record (implicit acknowledgement), when it commits or polls again. It prints neither
delivery counts nor the times of polls, but `records_consumed` after each poll that gave records. A record was
acquired no earlier than two polls before the one that returned it, because a client may return what an
earlier poll fetched; of this, the end of the second last such line is a bound, or the start of the client.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import pyarrow as pa

from harness.model.share_journal import DELIVERIES, SHARE_OFFSETS
from harness.tools.interop.foreign_reads import ForeignReads
from harness.tools.interop.verifiable_events import SHARE_CONSUMER, ascii_text, decode_text
from workloads.records.record.identity import OK, STATES

_MS = 1_000_000
_PARTITION, _OFFSET = re.compile(r"[0-9]{1,9}$"), re.compile(r"(?:-|[0-9]{1,18})$")
_COLUMNS = {"GROUP", "TOPIC", "PARTITION", "START-OFFSET", "LAG"}


class ForeignDeliveries(ForeignReads):
    """The records that one VerifiableShareConsumer was given.

    `tables` gives them as a reader's. `deliveries` gives the deliveries of which the outcome is known by now.
    `given` is their number, `earliest` tells that the member made the group begin at the earliest offset.
    """

    known = SHARE_CONSUMER

    def __init__(self, reader: str, run_id: int, *, topic: str | None = None) -> None:
        super().__init__(reader, run_id, topic=topic)
        self.given = 0
        self.earliest = False
        self._client = -1
        self._asked = (0, 0)
        self._open: dict[tuple[int, int], dict[str, Any]] = {}
        self._done: list[dict[str, Any]] = []

    def _take(self, event: dict[str, Any]) -> bool:
        is_record = super()._take(event)
        at, name = event["timestamp"], event["name"]
        if name == "startup_complete":
            self._client += 1
            self._asked = (at, at)
            self._give_up()
        elif name == "records_consumed":
            self._asked = (self._asked[1], at)
        elif name == "offset_reset_strategy_set":
            self.earliest |= event["offsetResetStrategy"].lower() == "earliest"
        elif name == "offsets_acknowledged":
            error = None if event["success"] else ascii_text(str(event.get("error") or "")) or "failed"
            for part in event["partitions"]:
                if self._is_of_topic(part["topic"]):
                    for offset in part["offsets"]:
                        self._close((part["partition"], offset), {"answered_ns": at * _MS, "error": error})
        elif is_record:
            self._close(record := (event["partition"], event["offset"]))
            self._open[record] = self._row_of(event)
        return is_record

    def _row_of(self, event: dict[str, Any]) -> dict[str, Any]:
        at = event["timestamp"] * _MS
        self.given += 1
        return {
            "member": self.reader,
            "session": max(0, self._client),
            "topic": event["topic"],
            "partition": event["partition"],
            "offset": event["offset"],
            "value": event["value"],
            "asked_ns": self._asked[0] * _MS,
            "acquired_ns": at,
            "acknowledgement": "accept",
            "acknowledged_ns": at,
        }

    def _close(self, record: tuple[int, int], answer: dict[str, Any] | None = None) -> None:
        """The delivery of this record has its answer, or will have none; of others nothing is known here:
        the client also acknowledges offsets without a record, and records that it gave back."""
        if row := self._open.pop(record, None):
            self._done.append(row | (answer or {}))

    def _give_up(self) -> None:
        for record in list(self._open):
            self._close(record)

    def deliveries(self, group: str, *, end: bool = False) -> pa.Table:
        """DELIVERIES rows of deliveries that were answered or that are over; `end`: all others too."""
        if end:
            self._give_up()
        rows, self._done = self._done, []
        values = [value and value.encode(errors="replace") for value in (row.pop("value") for row in rows)]
        decoded = decode_text(values, self._run_id)
        fine = (decoded.state == OK).tolist()
        for name, numbers in (("producer", decoded.producer), ("seq", decoded.seq), ("run", decoded.run)):
            for row, number, known in zip(rows, numbers.tolist(), fine, strict=True):
                row[name] = number if known else None
        for row, state in zip(rows, decoded.state.tolist(), strict=True):
            row |= {"state": STATES[state].value, "group": group}
        return pa.Table.from_pylist(rows, schema=DELIVERIES)


def described_offsets(lines: Iterable[bytes]) -> list[dict[str, Any]]:
    """SHARE_OFFSETS rows, whose times are 0, of what `kafka-share-groups --describe --offsets` prints. A
    start offset or a lag that it does not know ("-") is None."""
    rows = []
    columns: list[str] = []
    for line in lines:
        words = line.decode(errors="replace").split()
        if set(words) >= _COLUMNS:
            columns = words
            continue
        row = dict(zip(columns, words, strict=False))
        partition, start, lag = (row.get(name, "") for name in ("PARTITION", "START-OFFSET", "LAG"))
        if _PARTITION.match(partition) and _OFFSET.match(start) and _OFFSET.match(lag):
            offsets = [None if offset == "-" else int(offset) for offset in (start, lag)]
            values = (row["GROUP"], row["TOPIC"], int(partition), 0, 0, *offsets, None)
            rows.append(dict(zip(SHARE_OFFSETS.names, values, strict=True)))
    return rows
