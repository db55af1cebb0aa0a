"""What an engine raises, as one `CheckError`.

Over Spark Connect a failed query is a `PySparkException` (`SparkConnectGrpcException` and its subclasses), a
server that is gone a `grpc.RpcError`; a classic session raises `Py4JError`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from harness.model.errors import DENIED, CheckError

_ROOTS = ("pyspark", "py4j", "grpc", "pyarrow")
"""Packages whose exceptions mean that the engine failed, by name: they are slow to import."""
_NO_CONNECTOR = (
    r"ClassNotFoundException.*(FileSystem|\.fs\.)|UnsupportedFileSystemException|No FileSystem for scheme"
)
_OTHER_PYTHON = r"PYTHON_VERSION_MISMATCH|different version .* than that in driver"
_REMEDIES = {
    r"No module named '(checkers|harness|workloads)\b": (
        "send the workers our code: `--py-files kafka-chaos.zip` (docs/how-to/scale.md)"
    ),
    r"No module named '": (
        "install pyarrow, numpy, pydantic and scipy in the Python of the workers, which PYSPARK_PYTHON names"
    ),
    _OTHER_PYTHON: "let PYSPARK_PYTHON name a Python of this one's minor version on the workers",
    _NO_CONNECTOR: "give Spark the connector of this store: `--packages` or `spark.jars`",
    DENIED: "give this machine and the workers keys or a role that may read the run and write the results",
}
"""What to do about some causes, by patterns that these contain: the first one that fits."""
_REFUSALS = ("AnalysisException", "ParseException", "UnsupportedOperationException")
"""Names of PySpark's exceptions for queries that an engine cannot plan."""


@contextmanager
def engine_failures(where: object) -> Iterator[None]:
    """Turn failures of the engine in this block into a `CheckError` that names `where`, the folder that is
    checked.

    Raises:
        CheckError: with the first line of the deepest cause, or that the engine has ended.
    """
    try:
        yield
    except Exception as error:
        if not (is_failure(error) or isinstance(error, OSError)):
            raise
        gone = is_gone(error)
        what = "the engine ended in the middle of the check" if gone else "the check failed"
        look = "that the machine has enough free memory" if gone else "memory and disk space"
        cause = cause_of(error)
        command = f"kafka-chaos check {str(where).rstrip('/').rpartition('/')[2]}"
        again = f"check {look}, then run `{command}` again"
        other = f"use the other engine: `{command} --engine spark`, or `--engine sail`"
        raise CheckError(
            f"{what}; the journals are untouched",
            where=str(where),
            found=cause,
            next_step=remedy_of(cause) or (other if _lacks_something(error) else again),
        ) from error


def remedy_of(cause: str) -> str | None:
    """What to do about a cause that has a remedy of its own."""
    return next((remedy for pattern, remedy in _REMEDIES.items() if re.search(pattern, cause)), None)


def is_failure(error: BaseException) -> bool:
    """Whether an exception comes from an engine or its client."""
    return any(base.__module__.partition(".")[0] in _ROOTS for base in type(error).__mro__)


def _lacks_something(error: BaseException) -> bool:
    """Whether the engine refused the query before it computed anything: it has no such function, or cannot do
    what was asked for."""
    return any(base.__name__ in _REFUSALS for base in type(error).__mro__)


def is_gone(error: BaseException) -> bool:
    """Whether the server does not answer any more. Its client then raises gRPC's UNAVAILABLE; for py4j the
    connection is lost."""
    code = getattr(error, "code", None) or getattr(error, "getGrpcStatusCode", None)
    if callable(code) and getattr(code(), "name", "") == "UNAVAILABLE":
        return True
    return isinstance(error, ConnectionError) or type(error).__name__ == "Py4JNetworkError"


def cause_of(error: BaseException) -> str:
    """The first line of the deepest cause, which says for example that the disk is full.

    Of a Python function that failed in a task it is the last line of its traceback.
    """
    details = _details_of_call(error)
    if details is not None and is_gone(error):
        reason = (details.strip().splitlines() or ["no reason is given"])[0]
        return f"the server does not answer: {reason}"
    cause = getattr(error, "java_exception", None)  # of a classic session
    while cause is not None and cause.getCause() is not None:
        cause = cause.getCause()
    text = details or str(error if cause is None else cause.toString())
    message = text.split("JVM stacktrace:")[0]
    python = re.findall(r"^(?:\w+\.)*\w*(?:Error|Exception)(?:: .*)?$", message, re.MULTILINE)
    if "Traceback (most recent call last)" in message and python:
        return str(python[-1])
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    deepest = [line.removeprefix("Caused by: ") for line in lines if line.startswith("Caused by: ")]
    return (deepest[-1:] or lines[:1] or [type(error).__name__])[0]


def _details_of_call(error: BaseException) -> str | None:
    """What gRPC says of a call that failed; None: it is no such error. Spark's client keeps only the text of
    gRPC's error, whose first line names a class of gRPC and no reason."""
    details = getattr(error, "details", None)
    if callable(details):
        return str(details())
    match = re.match(r'<_\w+ of RPC.*?^\s*details = "(.*?)"$', str(error), re.DOTALL | re.MULTILINE)
    return match[1] if match else None
