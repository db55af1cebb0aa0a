"""`kafka-chaos claims` and `kafka-chaos bugs`: claims and known bugs on real brokers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from harness.cli.options import (
    JsonOption,
    QuietOption,
    ResultsOption,
    SeedOption,
    SideBySideOption,
    write_example,
)

ListOption = Annotated[bool, Option("--list", help="List them and run nothing.")]
ShowOption = Annotated[str | None, Option(help="Print the file of this built-in one, to start your own.")]
RepeatOption = Annotated[int, Option(min=1, max=1000, help="Number of times to run all of them.")]
SchemaOption = Annotated[bool, Option("--schema", help="Print the JSON schema of such files.")]


def claims(
    ids: Annotated[
        list[str] | None,
        Argument(help="Claims by their ids, such as R12, or your files; default: all built-in ones."),
    ] = None,
    listed: ListOption = False,
    init: Annotated[
        Path | None, Option(help="Write a commented example of a claim to this file, and run nothing.")
    ] = None,
    show: ShowOption = None,
    schema: SchemaOption = False,
    repeat: RepeatOption = 1,
    seed: SeedOption = None,
    results: ResultsOption = Path("results"),
    kafka_version: Annotated[
        str | None, Option(help="Kafka version, for all claims but those that name their own (R6, R7, R21).")
    ] = None,
    image: Annotated[str | None, Option(help="Broker image, for the same claims.")] = None,
    versions: Annotated[
        str | None,
        Option(help="Kafka versions, as in 4.3.1,4.4.0: run the same claims on each, and compare them."),
    ] = None,
    side_by_side: SideBySideOption = 2,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Put claims to the test on real brokers, each with a control arm: the textbook's, or your own.

    Prints one row per claim: what was expected and seen of it and of its control, and the verdict: yes, no,
    or unknown if nothing was shown. Exit codes are those of `run`: 0 all yes, 1 at least one no, 3 otherwise.

    With --versions, prints one row per claim and one column per version, and which claims held on a version
    and not on the next one.
    """
    from harness.cli.suite_runs import SuiteOptions, print_file, suite_command
    from harness.lab.claims.claim import CLAIM, CLAIMS
    from harness.lab.suite.runner import on_cluster
    from harness.lab.suite.versions import on_named_version
    from harness.model.errors import BadInput
    from harness.spec.overrides import ClusterOptions

    if init is not None:
        write_example(init, "harness.lab.claims", "kafka-chaos claims")
    elif schema or show:
        print_file(CLAIM, show)
    else:
        if versions is not None and (kafka_version or image):
            raise BadInput(
                "these options contradict each other",
                found="--versions with " + ("--kafka-version" if kafka_version else "--image"),
                expected="--versions alone: it names every version, and its image comes with it",
            )
        options = SuiteOptions(listed, repeat, seed, results, side_by_side, quiet, as_json, versions)
        suite_command(
            CLAIM,
            CLAIMS,
            ids or (),
            options,
            lambda claim: on_cluster(claim, ClusterOptions(kafka_version, image)),
            on_named_version,
        )


def bugs(
    ids: Annotated[
        list[str] | None,
        Argument(help="Bugs by their ids, such as KIP-903, or your files; default: all built-in ones."),
    ] = None,
    listed: ListOption = False,
    show: ShowOption = None,
    schema: SchemaOption = False,
    repeat: RepeatOption = 1,
    seed: SeedOption = None,
    results: ResultsOption = Path("results"),
    versions: Annotated[
        str | None,
        Option(help="Kafka versions, as in 4.3.1,4.4.0: run the fixed arms on each that has the correction."),
    ] = None,
    side_by_side: SideBySideOption = 2,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Reproduce known bugs of Kafka: each on a version or setting that has it, and on one that has not.

    Prints one row per bug: the verdict expected and seen of its affected and of its fixed arms, and whether
    the bug was reproduced; unknown if an arm shows nothing because the dangerous state was not reached in it.
    Exit codes are those of `claims`: 0 all reproduced, 1 at least one was not, 3 otherwise.

    With --versions, prints one row per bug and one column per version: whether its fixed arms came out on it
    as on the version that they name. If one did not, the bug may be there again: a regression, and exit
    code 1.
    """
    from harness.cli.suite_runs import SuiteOptions, print_file, suite_command
    from harness.lab.bugs.bug import BUG, BUGS
    from harness.lab.bugs.on_versions import Fix
    from harness.lab.suite.versions import on_named_version

    if schema or show:
        print_file(BUG, show)
    else:
        options = SuiteOptions(listed, repeat, seed, results, side_by_side, quiet, as_json, versions)
        if versions is None:
            suite_command(BUG, BUGS, ids or (), options, lambda bug: bug, on_named_version)
        else:
            suite_command(BUG, BUGS, ids or (), options, Fix.of_bug, Fix.moved_to)
