"""Files of claims, and the claims that come with kafka-chaos."""

from __future__ import annotations

from harness.claims.model import Claim
from harness.config.yaml_files import FileKind
from harness.suite.item_files import complete

_KINDS = "rca"
"""First letters of claims in their order: about brokers (R), consumers (C), applications (A)."""

CLAIM = FileKind(
    Claim,
    one="a claim",
    expected="a mapping with id, title, words, set_up and arms",
    example="`kafka-chaos claims --init claim.yaml` writes an example",
    schema="kafka-chaos claims --schema",
    folder="claims/catalog",
    complete=complete,
)
CLAIMS: tuple[Claim, ...] = tuple(
    CLAIM.builtin(name)[0]
    for name in sorted(CLAIM.builtin_names(), key=lambda name: (_KINDS.index(name[0]), int(name[1:])))
)
"""Every claim, in order: R1 to R26 on replication, then those on consumers, C1 and following."""
