"""Every claim, in order: R1 to R26 on replication, then those on consumers, C1 and following."""

from __future__ import annotations

import importlib
import pkgutil
import re

from harness.claims import catalog
from harness.claims.model import Claim

_MODULES = sorted(
    (module.name for module in pkgutil.iter_modules(catalog.__path__)),
    key=lambda name: (not name.startswith("r"), name),
)
CLAIMS: tuple[Claim, ...] = tuple(
    importlib.import_module(f"{catalog.__name__}.{name}").CLAIM
    for name in _MODULES
    if re.fullmatch(r"[rc]\d\d", name)
)
