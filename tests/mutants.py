"""Breaks the checker on purpose, one small change at a time, and counts which changes a test notices.

    python -m tests.mutants [--sample 150] [--seed 1] [--only checkers/facts/block.py]

mutmut makes the changed functions; one process with one Spark session runs the tests, so that a change costs
seconds. Each is tried against the tests of findings first, then the others, and is killed by the first that
fails. Prints every survivor with its difference, then the score. Exit code 1 below `--least`.
"""

from __future__ import annotations

import argparse
import contextlib
import difflib
import io
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("checkers", "harness", "faults", "workloads", "tests", "compose", "docs", "pyproject.toml")
NOT_CHECKS = ("bench", "session.py", "masters.py", "connect.py", "job.py", "shipping.py")
"""Of checkers/: what starts Spark somewhere, and the benchmark."""
TESTS = (
    "tests/pure/test_judge.py",
    "tests/pure/test_availability.py",
    "tests/spark/test_findings.py",
    "tests/spark/test_findings_of_readers.py",
    "tests/spark/test_runs.py",
    "tests/spark/test_hostile_data.py",
    "tests/spark/test_imported.py",
    "tests/spark/test_elsewhere.py",
)
TIMES_AS_LONG = 5
"""A change after which the tests take so many times longer than without any counts as noticed."""


def main() -> int:
    options = _arguments()
    with tempfile.TemporaryDirectory(prefix="kafka-chaos-mutants-") as place:
        names, sources = _mutated(Path(place), options.only)
        chosen = sorted(names)
        if options.sample and options.sample < len(chosen):
            chosen = sorted(random.Random(options.seed).sample(chosen, options.sample))
        print(f"{len(names)} changes are possible, {len(chosen)} tried (seed {options.seed})", flush=True)
        os.chdir(place)
        sys.path.insert(0, place)
        # Spark's Python workers import the copy too, and not what is installed.
        os.environ["PYTHONPATH"] = place
        for name in [name for name in sys.modules if name.split(".")[0] in PACKAGES]:
            del sys.modules[name]
        survivors = _tried(chosen, Path(place))
    for name in survivors:
        print(f"\nsurvived: {name}\n{_difference(name, sources)}")
    score = 1 - len(survivors) / len(chosen)
    print(f"\n{len(chosen) - len(survivors)} of {len(chosen)} noticed: {score:.1%}")
    return int(score < options.least)


def _mutated(place: Path, only: list[str]) -> tuple[list[str], dict[str, str]]:
    """A copy of the project with all changes in it, off; their names, and the changed sources by module."""
    from mutmut.mutation.file_mutation import mutate_file_contents

    for name in PACKAGES:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, place / name, ignore=shutil.ignore_patterns("__pycache__"))
        elif source.exists():
            shutil.copy(source, place / name)
    names: list[str] = []
    sources: dict[str, str] = {}
    for path in sorted((place / "checkers").rglob("*.py")):
        inside = path.relative_to(place)
        if any(part in NOT_CHECKS for part in inside.parts) or (only and str(inside) not in only):
            continue
        changed = mutate_file_contents(str(path), path.read_text())
        path.write_text(changed.code)
        module = ".".join(inside.with_suffix("").parts)
        sources[module] = changed.code
        names += [f"{module}.{name}" for name in changed.mutant_names]
    return names, sources


def _tried(chosen: list[str], place: Path) -> list[str]:
    """Names of the changes that no test noticed."""
    import pytest

    from checkers.session import spark_session

    (place / "spark").mkdir()
    session = spark_session(master="local[2]", driver_memory="1g", scratch=place / "spark")

    class OneSession:
        """Gives the tests the session that lives on."""

        @pytest.fixture(scope="session")
        def spark(self) -> Any:
            return session

    def passes() -> bool:
        told = io.StringIO()
        with contextlib.redirect_stdout(told), contextlib.redirect_stderr(told):
            code = pytest.main(
                ["-x", "-q", "-p", "no:cacheprovider", "--no-header", *TESTS], plugins=[OneSession()]
            )
        return code == 0

    # The fixture of conftest.py would win over a plugin's.
    conftest = place / "tests" / "spark" / "conftest.py"
    conftest.write_text(conftest.read_text().replace("def spark(", "def another_spark("))

    def switched_on(name: str) -> None:
        # Here, and in Spark's Python workers: they get what the context has when a job's function is made.
        os.environ["MUTANT_UNDER_TEST"] = session.sparkContext.environment["MUTANT_UNDER_TEST"] = name

    switched_on("")
    began = time.perf_counter()
    if not passes():
        raise SystemExit("the tests fail without any change: python -m pytest " + " ".join(TESTS))
    limit = TIMES_AS_LONG * round(time.perf_counter() - began + 1)
    print(f"without a change the tests take {limit // TIMES_AS_LONG} s", flush=True)
    survivors = []
    for number, name in enumerate(chosen, 1):
        switched_on(name)
        began = time.perf_counter()
        try:
            with _limited(limit):
                survived = passes()
        except TimeoutError:
            survived = False
        survivors += [name] if survived else []
        word = "SURVIVED" if survived else "noticed"
        print(f"{number}/{len(chosen)} {word} {time.perf_counter() - began:.1f} s {name}", flush=True)
    session.stop()
    return survivors


@contextlib.contextmanager
def _limited(seconds: int) -> Any:
    def stop(*_: object) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def _difference(name: str, sources: dict[str, str]) -> str:
    """The lines that a change changes."""
    import ast

    module, _, function = name.rpartition(".")
    original = function.rpartition("__mutmut_")[0] + "__mutmut_orig"
    found = {}
    for node in ast.walk(ast.parse(sources[module])):
        if isinstance(node, ast.FunctionDef) and node.name in (function, original):
            node.name = "changed"
            found["new" if node.name == function else len(found)] = ast.unparse(node).splitlines()
    bodies = list(found.values())
    lines = difflib.unified_diff(*bodies[:2], lineterm="", n=0) if len(bodies) == 2 else iter(())
    return "\n".join(line for line in lines if not line.startswith(("---", "+++", "@@")))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("--sample", type=int, default=0, help="so many changes, at random (0: all)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", action="append", default=[], metavar="FILE", help="changes of this file")
    parser.add_argument("--least", type=float, default=0.0, help="exit code 1 below this score (0 to 1)")
    return parser.parse_args()


if __name__ == "__main__":
    raise SystemExit(main())
