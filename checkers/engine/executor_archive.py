"""The part of our code that a session sends to executors on other machines, as one zip file.

They also need pyarrow, numpy, pydantic, and crc32c to decode values, in the Python that `PYSPARK_PYTHON`
names there.
"""

from __future__ import annotations

import zipfile
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[2]
_FILES = (
    "checkers/**/*.py",
    "workloads/**/*.py",
    "harness/model/**/*.py",
    "harness/__init__.py",
    "harness/check_jobs/__init__.py",
    "harness/check_jobs/spark_topic_reader.py",
)


def write_zip(target: Path) -> Path:
    """Write the modules that tasks and checks import into `target`; returns it.

    Raises:
        OSError: it cannot be written.
    """
    # Zip has no dates before 1980, which files of a reproducible image may have.
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, strict_timestamps=False) as archive:
        for path in (path for pattern in _FILES for path in sorted(_ROOT.glob(pattern))):
            archive.write(path, path.relative_to(_ROOT))
    return target
