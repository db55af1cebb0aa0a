"""What the log of an application says of errors, whatever its language and the format of its log. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

_LEVEL = re.compile(
    r"\b(ERROR|CRITICAL|FATAL|SEVERE|PANIC)\b|\blevel\W{1,3}(error|critical|fatal|panic|50|60)\b", re.ASCII
)
"""A line at the level of an error, as Python, Java, Go and JavaScript (pino: 50 and 60) write it."""
_PYTHON = "Traceback (most recent call last)"
_JAVA_FRAME = re.compile(r"\s+at [\w.$<>/@]+\(", re.ASCII)
_MOST = 300
"""Characters of a line that are told."""


@dataclass(frozen=True)
class LogErrors:
    """How many lines are errors, how many tracebacks there are, and the first of either ("": none)."""

    lines: int = 0
    tracebacks: int = 0
    first: str = ""

    def __str__(self) -> str:
        """In words; empty if there is nothing to tell."""
        counted = ((self.lines, "line", "at the level of an error"), (self.tracebacks, "traceback", ""))
        parts = [
            f"{count:,} {noun}{'' if count == 1 else 's'} {more}".strip()
            for count, noun, more in counted
            if count
        ]
        return f"{' and '.join(parts)}, the first: {self.first}" if parts else ""


def log_errors(logs: Iterable[str]) -> LogErrors:
    """The errors in the logs of all instances."""
    errors = tracebacks = 0
    first = ""
    for text in logs:
        lines = text.splitlines()
        within = False
        for number, line in enumerate(lines):
            frame = _JAVA_FRAME.match(line) is not None
            begins = _PYTHON in line or (frame and not within)
            within = frame
            errors += (is_error := _LEVEL.search(line) is not None)
            tracebacks += begins
            if not first and (is_error or begins):
                first = (_exception(lines, number) if frame or not is_error else line).strip()[:_MOST]
    return LogErrors(errors, tracebacks, first)


def _exception(lines: Sequence[str], number: int) -> str:
    """The line with the exception of the traceback that begins in this line: in Java it stands before the
    first frame, in Python behind the last one."""
    if _PYTHON not in lines[number]:
        return lines[number - 1] if number else ""
    behind = (line for line in lines[number + 1 :] if line.strip() and not line[:1].isspace())
    return next(behind, _PYTHON)
