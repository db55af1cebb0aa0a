"""Every claim, in order."""

from __future__ import annotations

import importlib
import pkgutil
import re

from harness.claims import catalog
from harness.claims.model import Claim

_MODULES = sorted(module.name for module in pkgutil.iter_modules(catalog.__path__))
CLAIMS: tuple[Claim, ...] = tuple(
    importlib.import_module(f"{catalog.__name__}.{name}").CLAIM
    for name in _MODULES
    if re.fullmatch(r"r\d\d", name)
)
