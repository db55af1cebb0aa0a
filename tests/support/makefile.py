"""`make` in this checkout."""

from __future__ import annotations

import os
import subprocess

from tests.support.paths import ROOT


def make(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run make without what an outer make passes on."""
    alone = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    return subprocess.run(
        ["make", *arguments], cwd=ROOT, env=alone, capture_output=True, text=True, check=False
    )
