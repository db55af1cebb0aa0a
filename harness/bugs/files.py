"""Files of known bugs, and the bugs that come with kafka-chaos."""

from __future__ import annotations

from harness.bugs.model import Bug
from harness.config.yaml_files import FileKind
from harness.suite.item_files import complete

BUG = FileKind(
    Bug,
    one="a bug",
    expected="a mapping with id, title, words, link, affected, fixed, set_up, proof and arms",
    example="`kafka-chaos bugs --show KIP-903` prints the file of a built-in bug",
    schema="kafka-chaos bugs --schema",
    folder="bugs/catalog",
    complete=complete,
)
BUGS: tuple[Bug, ...] = tuple(
    BUG.builtin(name)[0]
    for name in (
        "kip-101-loss",
        "kip-101-divergence",
        "kip-279",
        "kip-966",
        "kip-903",
        "kafka-17754",
        "kip-890",
        "kafka-19012",
        "kafka-19479",
        "kafka-15905",
        "flink-35749",
        "librdkafka-4844",
        "kafka-19163",
        "kafka-20634",
        "kafka-19846",
        "kafka-18641",
    )
)
"""Every known bug, in order."""
