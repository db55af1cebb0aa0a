"""A JVM of ours in a process that may have one of Spark's too."""

from __future__ import annotations

import shutil
from typing import Any

import pytest
from py4j import java_gateway, protocol  # type: ignore[import-untyped]
from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]

from workloads.java.jvm import Jvm

pytestmark = [
    pytest.mark.mock,
    pytest.mark.skipif(shutil.which("java") is None, reason="there is no Java here"),
]


def test_its_exceptions_are_not_taken_for_those_of_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    """What PySpark puts in the place of py4j's function would look the exception up in Spark's JVM."""

    def of_spark(answer: str, *rest: Any) -> Any:
        try:
            return protocol.get_return_value(answer, *rest)
        except Py4JJavaError as error:
            raise AssertionError("Spark's JVM would be asked about it") from error

    monkeypatch.setattr(java_gateway, "get_return_value", of_spark)
    with Jvm() as jvm:
        parse = jvm.packages.java.lang.Integer.parseInt
        assert parse("12") == 12
        with pytest.raises(Py4JJavaError, match="parseInt") as refused:
            parse("twelve")
    assert refused.value.java_exception is not None


class Listener:
    """What Java calls when a future is complete."""

    def __init__(self) -> None:
        self.told: list[tuple[Any, Any]] = []

    def accept(self, value: Any, error: Any) -> None:
        self.told.append((value, error))

    class Java:
        implements = ("java.util.function.BiConsumer",)


def test_java_calls_back_while_its_caller_waits() -> None:
    with Jvm() as jvm:
        jvm.accept_callbacks()
        listener = Listener()
        future = jvm.packages.java.util.concurrent.CompletableFuture()
        future.whenComplete(listener)
        future.complete("done")
        assert listener.told == [("done", None)]
