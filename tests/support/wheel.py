"""The wheel of this checkout."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from harness.model.environment import users_environment
from tests.support.paths import ROOT


def built_wheel(folder: Path) -> Path:
    """Build it into the folder. The files of the build are there too: left in the checkout, they could hold
    what is no longer part of the source, and two tests would write them at once."""
    config = folder / "setup.cfg"
    config.write_text(f"[build]\nbuild_base = {folder / 'build'}\n[egg_info]\negg_base = {folder}\n")
    uv = Path(sys.executable).with_name("uv")
    done = subprocess.run(
        [
            *(uv, "build", "--wheel", "--no-build-isolation", "--python", sys.executable),
            *("--out-dir", folder, ROOT),
        ],
        env=users_environment() | {"DIST_EXTRA_CONFIG": str(config)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return next(folder.glob("*.whl"))
