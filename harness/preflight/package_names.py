"""Whether another distribution provides one of the top-level packages that kafka-chaos installs."""

from __future__ import annotations

import importlib.util
from importlib import metadata
from pathlib import Path

DISTRIBUTION = "kafka-chaos"
PACKAGES = ("harness", "faults", "workloads", "checkers", "compose")
_ROOT = Path(__file__).resolve().parents[2]


def conflicts() -> list[str]:
    """One sentence per package that another distribution provides, or that is imported from elsewhere.

    pip does not notice when two distributions install the same package: the files of the distribution that is
    installed last win, and a folder earlier on `sys.path` hides both.
    """
    providers = metadata.packages_distributions()
    found = []
    for name in PACKAGES:
        others = sorted({other for other in providers.get(name, ()) if other.lower() != DISTRIBUTION})
        if others:
            found.append(f"`{name}` is also installed by {', '.join(others)}")
        elif (folder := _imported_from(name)) != _ROOT / name:
            found.append(f"`{name}` is imported from {folder}")
    return found


def _imported_from(name: str) -> Path | None:
    """The folder from which Python imports the package."""
    spec = importlib.util.find_spec(name)
    locations = list(spec.submodule_search_locations or ()) if spec is not None else []
    return Path(locations[0]).resolve() if locations else None
