"""Runs a built-in application as a program of its own."""

from __future__ import annotations

import importlib
import sys
import traceback
from collections.abc import Sequence

from py4j.protocol import Py4JError  # type: ignore[import-untyped]

from harness.model.errors import KafkaChaosError
from workloads.applications.built_in.built_in import BUILT_IN
from workloads.applications.built_in.lifecycle import given_jars, parsed, say


def main(arguments: Sequence[str]) -> int:
    """Run the application that these arguments name, or print the schema of descriptions (`--schema`).

    Returns: the exit code; 3 for an error in the JVM.
    """
    if list(arguments) == ["--schema"]:
        print(BUILT_IN.schema_text(), end="")
        return 0
    try:
        built_in, options = parsed(arguments)
        options.jars = given_jars() or built_in.fetched_jars(options)
    except KafkaChaosError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    program = importlib.import_module(f"workloads.applications.built_in.{built_in.program}")
    options.state.mkdir(parents=True, exist_ok=True)
    try:
        return int(program.main(options))
    except Py4JError as error:
        traceback.print_exc()
        say(str(error).splitlines()[0])
        return 3


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
