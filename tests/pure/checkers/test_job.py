"""A job whose Python cannot run the check says so in one message, and ends with the exit code of that."""

from __future__ import annotations

import subprocess
import sys

import pytest

from checkers import job

pytestmark = pytest.mark.pure


def test_an_older_python_is_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["job.py", "run"])
    monkeypatch.setattr(job, "OLDEST_PYTHON", (99, 1))
    assert job.main() == 3
    told = capsys.readouterr().err
    assert told.startswith("kafka-chaos: the Python of the driver cannot run the check\n")
    assert "99.1 or later" in told
    assert sys.executable in told


@pytest.mark.parametrize("package", ["pyarrow", "pydantic", "pyspark"])
def test_a_package_that_the_driver_lacks_is_named(package: str) -> None:
    code = f"import sys; sys.modules[{package!r}] = None; from checkers.job import main; sys.exit(main())"
    done = subprocess.run(
        [sys.executable, "-c", code, "run"], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 3, done.stderr
    assert f", no {package}" in done.stderr
    assert "Traceback" not in done.stderr
