"""The make targets of the tests: how many files run side by side, and which shards are refused."""

from __future__ import annotations

import re

import pytest

from tests.support.makefile import make
from tests.support.paths import ROOT

pytestmark = pytest.mark.pure


def test_as_many_files_run_side_by_side_as_memory_allows() -> None:
    planned = make("-n", "test").stdout
    assert re.search(r" -n [023] --dist loadfile ", planned), planned
    assert " -n 5 --dist loadfile " in make("-n", "test", "SIDE=5").stdout


def test_processes_of_tests_keep_what_they_compile() -> None:
    """Even where an environment forbids it."""
    assert "export PYTHONDONTWRITEBYTECODE :=\n" in (ROOT / "Makefile").read_text()
    assert re.search(r" -n [1-9]\d* --dist worksteal ", make("-n", "test").stdout)


@pytest.mark.parametrize("shard", ["", "7", "0/6", "7/6", "2/", "x/6", "-1/6", "2/0", "1/99999", "1/6 2/6"])
def test_a_shard_that_is_none_is_refused_before_anything_starts(shard: str) -> None:
    refused = make("test-shard", f"SHARD={shard}")
    assert refused.returncode == 2
    first = refused.stderr.splitlines()[0]
    assert first == (
        f"make test-shard: no such shard: SHARD={shard}; expected I/N with 1 <= I <= N, for example SHARD=2/8"
    )
    assert "pytest" not in refused.stdout


def test_a_number_of_random_histories_is_passed_to_the_tests_that_are_there() -> None:
    planned = make("-n", "test-histories", "HISTORIES=500").stdout
    tests = re.findall(r"(tests/\S+\.py)::(\w+)", planned)
    assert len(tests) == 14
    for file, name in tests:
        assert f"def {name}(" in (ROOT / file).read_text()
        assert "examples(" in (ROOT / file).read_text()
    assert "export KAFKA_CHAOS_HISTORIES = $(HISTORIES)\n" in (ROOT / "Makefile").read_text()
