"""The part of our code that executors on other machines need, as one zip file.

    python -m checkers.engine.executor_archive kafka-chaos.zip

writes it for `spark-submit --py-files`; sessions of the checks make and send it themselves. Executors also
need pyarrow, numpy, pydantic, and crc32c to decode values, in the Python that `PYSPARK_PYTHON` names there.
"""

from __future__ import annotations

import sys
import zipfile
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[2]
_PACKAGES = ("checkers", "workloads", "harness/model")
_MODULES = (
    "harness/__init__.py",
    "harness/check_jobs/__init__.py",
    "harness/check_jobs/spark_topic_reader.py",
)
_EPOCH = (1980, 1, 1, 0, 0, 0)
"""One fixed date, so that the same code gives the same bytes."""


def write_zip(target: Path) -> Path:
    """Write the modules that tasks and checks import into `target`; returns it.

    Raises:
        OSError: it cannot be written.
    """
    files = [_ROOT / name for name in _MODULES]
    files += [path for package in _PACKAGES for path in sorted((_ROOT / package).rglob("*.py"))]
    with zipfile.ZipFile(target, "w") as archive:
        for path in files:
            name = zipfile.ZipInfo(path.relative_to(_ROOT).as_posix(), _EPOCH)
            name.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(name, path.read_bytes())
    return target


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(f"usage: python -m checkers.engine.executor_archive TARGET.zip\n\n{__doc__}")
    print(write_zip(Path(sys.argv[1])))
