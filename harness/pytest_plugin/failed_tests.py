"""A failed test in result.json and report.html of the run that it used."""

from __future__ import annotations

from harness.check_jobs.recheck import RESULT_FILE
from harness.model.errors import KafkaChaosError
from harness.model.result import ExperimentResult, FailedTest
from harness.model.secrets import redact
from harness.model.storage import write_whole
from harness.pytest_plugin.chaos_result import ChaosResult
from harness.report.page import write_report

_MOST_CHARACTERS = 8_000


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
        known = tuple(one for one in saved.failed_tests if one.test != noted.test)
        updated = saved.model_copy(update={"failed_tests": (*known, noted)})
        write_whole(path, redact(updated.model_dump_json(indent=2)) + "\n")
        write_report(updated, result.folder)
    except (KafkaChaosError, OSError, ValueError) as error:
        return [f"the report does not show this failure: {error}"]
    return []
