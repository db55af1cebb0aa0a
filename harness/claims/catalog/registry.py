"""Every claim, in order."""

from __future__ import annotations

import importlib
import pkgutil
import re

from harness.claims import catalog
from harness.claims.model import Claim


def _claims_of_modules() -> tuple[Claim, ...]:
    """The claims of the modules r01, r02, ..., in the order of their numbers."""
    names = sorted(module.name for module in pkgutil.iter_modules(catalog.__path__))
    modules = [name for name in names if re.fullmatch(r"r\d\d", name)]
    return tuple(importlib.import_module(f"{catalog.__name__}.{name}").CLAIM for name in modules)


CLAIMS: tuple[Claim, ...] = _claims_of_modules()
