"""What the plugin tells: the image in use, errors of the harness without our traceback, and of a failed test
the evidence and how to repeat it, which the report of its run shows too."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from harness.check_jobs.recheck import RESULT_FILE
from harness.cluster.containers import docker_engine, images
from harness.model.defaults import DEFAULT_VERSION
from harness.model.errors import KafkaChaosError, PrerequisiteMissing
from harness.model.result import ExperimentResult, FailedTest, VerdictWord
from harness.model.secrets import redact
from harness.model.storage import write_whole
from harness.pytest_plugin.chaos_result import ChaosResult
from harness.pytest_plugin.settings import Missing, Settings
from harness.report.arms_table import explanation
from harness.report.page.html import REPORT_FILE
from harness.report.run_page import write_report
from harness.run.executor import EXPERIMENT_FILE

_MOST_CHARACTERS = 8_000
_BADNESS = (VerdictWord.INVALID, VerdictWord.UNKNOWN, VerdictWord.VALID)


def image_line(settings: Settings) -> str:
    """The local broker image with its digest, or why there is none."""
    version = settings.version or DEFAULT_VERSION
    which = settings.image or f"of Kafka {version}"
    try:
        client = docker_engine.connect()
        image = settings.image
        here = images.local(client, version) if image is None else images.present(client, image)
    except KafkaChaosError as error:
        return f"image {which}: {error.what}"
    if here is None:
        return f"image {which}: not here yet, it is pulled or built when the first cluster starts"
    return f"image {here.reference} ({here.origin}), {here.digest}"


@contextmanager
def readable(missing: Missing) -> Iterator[None]:
    """Errors of the harness fail the test with their own message; a missing prerequisite may skip it."""
    __tracebackhide__ = True
    try:
        yield
    except KafkaChaosError as error:
        message = "\n".join([f"kafka-chaos: {error}", *getattr(error, "__notes__", ())])
        if isinstance(error, PrerequisiteMissing) and missing == "skip":
            raise pytest.skip.Exception(message) from None
        raise pytest.fail.Exception(message, pytrace=False) from None


def failure(result: ChaosResult, nodeid: str) -> str:
    """What is shown of an experiment of a failed test: verdicts, the worst first, and how to repeat it."""
    worst = sorted(result.arms, key=lambda arm: _BADNESS.index(arm.judgement.verdict))
    worst.sort(key=lambda arm: arm.judgement.as_promised is True)
    lines = [explanation(arm, examples=3) for arm in worst]
    for arm in worst[:1]:
        image = arm.meta.cluster.image
        lines += [f"image: {image.reference}, {image.digest}", f"seed: {arm.meta.seed}"]
        run, experiment = str(result.folder / arm.folder), str(result.folder / EXPERIMENT_FILE)
        test = ["pytest", nodeid, "--chaos-replay", run]
        alone = ["kafka-chaos", "run", experiment, "--arm", arm.meta.arm, "--replay", run]
        lines += ["replay:", f"  {shlex.join(test)}", f"  {shlex.join(alone)}"]
    lines.append(f"report: {result.folder / REPORT_FILE}")
    return "\n".join(lines)


def note_failed_test(result: ChaosResult, failed: FailedTest) -> list[str]:
    """Add a failed test to result.json and report.html of an experiment; returns why it could not be added.

    A long message is shortened, and secrets in it are masked.
    """
    message = redact(failed.message)
    if len(message) > _MOST_CHARACTERS:
        message = f"{message[:_MOST_CHARACTERS]} ... ({len(failed.message):,} characters)"
    noted = failed.model_copy(update={"message": message})
    path = result.folder / RESULT_FILE
    try:
        saved = ExperimentResult.model_validate_json(path.read_text()) if path.exists() else result.result
        known = tuple(earlier for earlier in saved.failed_tests if earlier.test != noted.test)
        updated = saved.model_copy(update={"failed_tests": (*known, noted)})
        write_whole(path, redact(updated.model_dump_json(indent=2)) + "\n")
        write_report(updated, result.folder)
    except (KafkaChaosError, OSError, ValueError) as error:
        return [f"the report does not show this failure: {error}"]
    return []
