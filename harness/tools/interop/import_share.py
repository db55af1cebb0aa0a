"""A share group among imported files: its members' deliveries, and what kafka-share-groups printed of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from harness.model.errors import BadInput
from harness.model.run import ShareInfo
from harness.model.share_journal import SHARE_OFFSETS, SHARE_OFFSETS_DIR
from harness.tools.interop.foreign_deliveries import ForeignDeliveries, described_offsets
from harness.tools.interop.import_files import plain_lines

UNNAMED = "imported"
"""group.id of a share group whose name is not known: its members do not print it."""
_NO_LIMIT = 2**31 - 1
"""The group's delivery limit is not known, so no record was given too often."""
_DESCRIBE = "kafka-share-groups --describe --offsets --group GROUP"


def described_group(path: Path | None) -> tuple[str, list[dict[str, Any]]]:
    """The group.id in a file of kafka-share-groups, and its rows, whose times are 0; None: there is no file.

    Raises:
        BadInput: the file cannot be read, or does not describe one share group.
    """
    if path is None:
        return UNNAMED, []
    rows = described_offsets(plain_lines(path))
    groups = sorted({row["group"] for row in rows})
    if len(groups) != 1:
        raise BadInput(
            "this file does not say where one share group begins",
            where=str(path),
            expected="a table with GROUP, TOPIC, PARTITION, START-OFFSET and LAG, of one group",
            found=f"the groups {', '.join(groups)}" if groups else "no such row",
            next_step=f"print it with `{_DESCRIBE}`, once the members have ended",
        )
    return groups[0], rows


def share_group(
    folder: Path,
    members: list[ForeignDeliveries],
    group: str,
    rows: list[dict[str, Any]],
    topic: str,
    ended_ns: int,
) -> tuple[tuple[ShareInfo, ...], tuple[str, ...]]:
    """The share group of a run, if it has one, and what cannot be judged of it; writes where it begins.

    Raises:
        BadInput: there are rows of a group without a member.
    """
    if not members:
        if rows:
            raise BadInput(
                "no file holds what a member of this share group was given",
                where="--share-offsets",
                found=f"share group {group}",
                next_step="name the output of each VerifiableShareConsumer with --consumer",
            )
        return (), ()
    of_topic = [row | {"asked_ns": ended_ns, "at_ns": ended_ns} for row in rows if row["topic"] == topic]
    (folder / SHARE_OFFSETS_DIR).mkdir()
    table = pa.Table.from_pylist(of_topic, schema=SHARE_OFFSETS)
    pq.write_table(table, folder / SHARE_OFFSETS_DIR / "part-00000.parquet")
    problems = []
    absent = {at for member in members for at in member.ends} - {row["partition"] for row in of_topic}
    if not rows:
        problems.append(
            "the members of the share group do not print what it had finished: give --share-offsets, which "
            f"`{_DESCRIBE}` prints"
        )
    elif absent:
        problems.append(f"--share-offsets has no row of partition {min(absent)} of {topic}")
    elif not any(member.earliest for member in members):
        problems.append(
            "no member of the share group was run with --offset-reset-strategy earliest, so it is not known "
            "with which record the group had to begin"
        )
    info = ShareInfo(
        name=group,
        group=group,
        members=tuple(member.reader for member in members),
        delivery_limit=_NO_LIMIT,
        client="librdkafka" if any(member.lines.zoneless for member in members) else "java",
        deliveries=sum(member.given for member in members),
        closed=True,
    )
    return (info,), tuple(problems)
