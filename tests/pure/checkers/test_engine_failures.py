"""What engines raise becomes one error with the deepest cause."""

from __future__ import annotations

import grpc
import pyarrow as pa
import pytest
from pyspark.errors import AnalysisException, UnsupportedOperationException
from pyspark.errors.exceptions.connect import SparkConnectGrpcException

from checkers.engine.failures import engine_failures
from harness.model.errors import BadInput, CheckError

pytestmark = pytest.mark.pure

JAVA = """Job aborted due to stage failure: Task 0 failed
\tat org.apache.spark.Some.method(Some.scala:1)
Caused by: java.io.UncheckedIOException: wrapped
\tat org.apache.spark.Other.method(Other.scala:2)
Caused by: java.io.IOException: No space left on device
\tat java.base/sun.nio.ch.FileDispatcherImpl.write0(Native Method)"""

PYTHON = """An exception was thrown from the Python worker:
Traceback (most recent call last):
  File "worker.py", line 1, in main
    raise ValueError("a group without a member")
ValueError: a group without a member
"""


RPC = """<_MultiThreadedRendezvous of RPC that terminated with:
\tstatus = StatusCode.{code}
\tdetails = "{details}"
\tdebug_error_string = "{code}:{details}"
>"""
"""The text of gRPC's errors, which is all that Spark's client keeps of them."""


class OfCall(SparkConnectGrpcException):
    """As Spark's client raises it when a call fails."""

    def __init__(self, code: grpc.StatusCode, details: str) -> None:
        super().__init__(RPC.format(code=code.name, details=details))
        self.status = code

    def getGrpcStatusCode(self) -> grpc.StatusCode:
        return self.status


class Gone(grpc.RpcError):
    """As the client raises it when the connection is refused."""

    def code(self) -> grpc.StatusCode:
        return grpc.StatusCode.UNAVAILABLE

    def details(self) -> str:
        return "failed to connect to all addresses\nand more"


@pytest.mark.parametrize(
    ("raised", "found"),
    [
        (SparkConnectGrpcException(JAVA), "java.io.IOException: No space left on device"),
        (SparkConnectGrpcException(PYTHON), "ValueError: a group without a member"),
        (AnalysisException("[TABLE_NOT_FOUND] no such table\nplan"), "[TABLE_NOT_FOUND] no such table"),
        (pa.ArrowInvalid("not a Parquet file\nmore"), "not a Parquet file"),
        (OSError(28, "No space left on device", "/x"), "[Errno 28] No space left on device: '/x'"),
        (SparkConnectGrpcException(""), "SparkConnectGrpcException"),
        (OfCall(grpc.StatusCode.INTERNAL, "the plan is too deep"), "the plan is too deep"),
    ],
)
def test_the_deepest_cause_is_told(raised: Exception, found: str) -> None:
    with (
        pytest.raises(CheckError, match="the check failed; the journals are untouched") as caught,
        engine_failures("/results/run-1"),
    ):
        raise raised
    assert caught.value.found == found
    assert caught.value.where == "/results/run-1"
    assert "kafka-chaos check run-1" in str(caught.value.next_step)
    assert caught.value.exit_code == 3


def test_what_one_engine_lacks_the_other_may_have() -> None:
    with pytest.raises(CheckError, match="the check failed") as caught, engine_failures("run"):
        raise UnsupportedOperationException("unknown function: bit_count")
    assert caught.value.found == "unknown function: bit_count"
    assert "--engine spark" in str(caught.value.next_step)


@pytest.mark.parametrize(
    ("raised", "next_step"),
    [
        (
            PYTHON.replace("ValueError: a group", "ModuleNotFoundError: No module named 'pyarrow'"),
            "install pyarrow",
        ),
        (
            PYTHON.replace("ValueError: a group", "ModuleNotFoundError: No module named 'checkers'"),
            "--py-files kafka-chaos.zip",
        ),
        (
            JAVA + "\nCaused by: java.lang.ClassNotFoundException: Class a.s3a.S3AFileSystem not found",
            "connector",
        ),
        ('No FileSystem for scheme "gs"', "connector"),
        (
            "s3a://b/run: getFileStatus on s3a://b/run: Forbidden (Service: S3, Status Code: 403)",
            "keys or a role",
        ),
        ("AWS Error ACCESS_DENIED during HeadObject operation: No response body.", "keys or a role"),
        (
            "[PYTHON_VERSION_MISMATCH] Python in worker has different version: 3.9 than that in driver: 3.11",
            "minor",
        ),
    ],
)
def test_what_a_cluster_lacks_has_a_remedy(raised: str, next_step: str) -> None:
    with pytest.raises(CheckError) as caught, engine_failures("run"):
        raise SparkConnectGrpcException(raised)
    assert next_step in str(caught.value.next_step)
    assert caught.value.exit_code == 3


REFUSED = OfCall(grpc.StatusCode.UNAVAILABLE, "Connection refused")


@pytest.mark.parametrize(
    ("raised", "found"),
    [
        (Gone(), "the server does not answer: failed to connect to all addresses"),
        (REFUSED, "the server does not answer: Connection refused"),
        (ConnectionResetError(104, "Connection reset by peer"), "[Errno 104] Connection reset by peer"),
    ],
)
def test_an_engine_that_ended_is_told_so(raised: Exception, found: str) -> None:
    with (
        pytest.raises(CheckError, match="the engine ended in the middle of the check") as caught,
        engine_failures("run"),
    ):
        raise raised
    assert caught.value.found == found


@pytest.mark.parametrize("raised", [KeyError("a bug"), BadInput("an error of ours"), KeyboardInterrupt()])
def test_other_exceptions_pass(raised: BaseException) -> None:
    with pytest.raises(type(raised)) as caught, engine_failures("run"):
        raise raised
    assert caught.value is raised
