"""Which engine answers a user's own questions."""

from __future__ import annotations

from pathlib import Path

import pytest

from checkers.engine.choice import ENGINE_VARIABLE, EngineChoice, EngineName
from harness.check_jobs import engines
from harness.check_jobs.saved_run_queries import decide_for_questions
from harness.model.errors import PrerequisiteMissing

pytestmark = pytest.mark.pure

PLENTY, LITTLE = 64 * 2**30, 2**30


def no_java(_: object) -> None:
    raise PrerequisiteMissing(
        "Java was not found; Apache Spark needs it", where="PATH", next_step="install it"
    )


@pytest.mark.parametrize(
    ("choice", "variable", "java", "memory", "engine", "reason"),
    [
        (EngineChoice(), None, True, PLENTY, "spark", ""),
        (EngineChoice(), None, True, LITTLE, "sail", "using Sail, since Spark needs 5.0 GiB of memory"),
        (EngineChoice(), None, False, PLENTY, "sail", "using Sail, since Java was not found"),
        (EngineChoice("sail"), None, True, PLENTY, "sail", ""),
        (EngineChoice("spark"), None, True, LITTLE, "spark", ""),
        (EngineChoice(), "sail", True, PLENTY, "sail", ""),
        (EngineChoice(), "auto", False, PLENTY, "sail", "using Sail, since Java was not found"),
    ],
)
def test_apache_spark_answers_where_it_can(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    choice: EngineChoice,
    variable: str | None,
    java: bool,
    memory: int,
    engine: EngineName,
    reason: str,
) -> None:
    prepare(monkeypatch, variable, java=java, memory=memory)
    decision = decide_for_questions(choice, tmp_path)
    assert decision.engine == engine
    assert decision.reason.startswith(reason) if reason else decision.reason == ""


@pytest.mark.parametrize(("choice", "variable"), [(EngineChoice("spark"), None), (EngineChoice(), "spark")])
def test_apache_spark_that_was_asked_for_is_not_replaced(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, choice: EngineChoice, variable: str | None
) -> None:
    prepare(monkeypatch, variable, java=False, memory=PLENTY)
    with pytest.raises(PrerequisiteMissing, match="Java was not found"):
        decide_for_questions(choice, tmp_path)


def prepare(monkeypatch: pytest.MonkeyPatch, variable: str | None, *, java: bool, memory: int) -> None:
    monkeypatch.delenv(ENGINE_VARIABLE, raising=False)
    if variable is not None:
        monkeypatch.setenv(ENGINE_VARIABLE, variable)
    monkeypatch.setattr(engines, "java_of_spark", (lambda _: None) if java else no_java)
    monkeypatch.setattr(engines, "available_memory", lambda: memory)
