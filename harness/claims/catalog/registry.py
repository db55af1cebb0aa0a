"""Every claim, in order: R1 to R26 on replication, then those on consumers, C1 and following."""

from __future__ import annotations

import importlib
import pkgutil
import re

from harness.claims import catalog
from harness.claims.model import Claim

_KINDS = "rca"
"""First letters of claims in their order: about brokers (R), consumers (C), applications (A)."""
_MODULES = sorted(
    (
        module.name
        for module in pkgutil.iter_modules(catalog.__path__)
        if re.fullmatch(rf"[{_KINDS}]\d\d", module.name)
    ),
    key=lambda name: (_KINDS.index(name[0]), name),
)
CLAIMS: tuple[Claim, ...] = tuple(
    importlib.import_module(f"{catalog.__name__}.{name}").CLAIM for name in _MODULES
)
