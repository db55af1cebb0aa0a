"""An engine that goes away in the middle of a command, and a full disk: one message, exit code 3, no
traceback."""

from __future__ import annotations

import pytest
import requests
from docker.errors import APIError

from harness.cli import app

pytestmark = pytest.mark.pure


def message_of(error: Exception, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> str:
    """What the command says of an error that ends it, with exit code 3 and without a traceback."""

    def broken(**_: object) -> None:
        raise error

    monkeypatch.setattr(app, "app", broken)
    with pytest.raises(SystemExit) as ended:
        app.main()
    assert ended.value.code == 3
    told = capsys.readouterr().err
    assert "Traceback" not in told
    return told


@pytest.mark.parametrize(
    "error", [requests.ConnectionError("No such file or directory"), APIError("server error")]
)
def test_reported_like_a_missing_engine(
    error: Exception, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    told = message_of(error, monkeypatch, capsys)
    assert "Docker engine" in told
    assert "kafka-chaos clean" in told


def test_a_full_disk_is_no_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The exit code of a traceback is that of a broken promise."""
    error = OSError(28, "No space left on device", "/results/run.json")
    told = message_of(error, monkeypatch, capsys)
    assert "the disk is full" in told
    assert "/results/run.json" in told


def test_other_errors_stay_what_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(**_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(app, "app", broken)
    with pytest.raises(ZeroDivisionError):
        app.main()
