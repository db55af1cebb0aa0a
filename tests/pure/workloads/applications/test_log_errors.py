"""Errors in the logs of applications in several languages."""

from __future__ import annotations

import pytest

from workloads.applications.log_errors import LogErrors, log_errors

pytestmark = pytest.mark.pure

PYTHON = """INFO started
ERROR:app:boom
Traceback (most recent call last):
  File "a.py", line 1, in <module>
ValueError: no
INFO started successfully
"""
JAVA = """12:00 INFO up
Exception in thread "main" java.lang.IllegalStateException: no
\tat a.B.c(B.java:1)
\tat a.B.main(B.java:9)
12:01 INFO down
java.lang.RuntimeException: again
\tat a.B.c(B.java:1)
"""


@pytest.mark.parametrize(
    ("text", "errors"),
    [
        (PYTHON, LogErrors(1, 1, "ERROR:app:boom")),
        (JAVA, LogErrors(0, 2, 'Exception in thread "main" java.lang.IllegalStateException: no')),
        (
            '{"level":"error","msg":"x"}\n{"level":"info","msg":"an error"}\n',
            LogErrors(1, 0, '{"level":"error","msg":"x"}'),
        ),
        ('{"level":50,"msg":"pino"}\n{"level":30}\n', LogErrors(1, 0, '{"level":50,"msg":"pino"}')),
        ("level=error msg=x\nlevel=warn msg=error\n", LogErrors(1, 0, "level=error msg=x")),
        (
            "Traceback (most recent call last):\n  File x\n\nValueError: no\nup\n",
            LogErrors(0, 1, "ValueError: no"),
        ),
        ("Traceback (most recent call last):\n  cut", LogErrors(0, 1, "Traceback (most recent call last)")),
        ("INFO no errors here, ERRORS=0\nterror at (noon)\n", LogErrors()),
        ("", LogErrors()),
    ],
)
def test_each_is_counted_once(text: str, errors: LogErrors) -> None:
    assert log_errors([text]) == errors


def test_the_logs_of_all_instances_are_counted_together() -> None:
    assert log_errors(["INFO\n", PYTHON, PYTHON]) == LogErrors(2, 2, "ERROR:app:boom")


@pytest.mark.parametrize(
    ("errors", "words"),
    [
        (LogErrors(), ""),
        (LogErrors(1, 0, "x"), "1 line at the level of an error, the first: x"),
        (LogErrors(5000, 2, "x"), "5,000 lines at the level of an error and 2 tracebacks, the first: x"),
    ],
)
def test_in_words(errors: LogErrors, words: str) -> None:
    assert str(errors) == words
