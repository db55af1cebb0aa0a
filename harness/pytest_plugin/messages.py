"""What the plugin prints: the image in use, and below a failure the evidence and how to repeat it."""

from __future__ import annotations

import shlex
from pathlib import Path

from harness.model.errors import KafkaChaosError
from harness.model.result import ArmResult, VerdictWord
from harness.page.html import REPORT_FILE
from harness.pytest_plugin.chaos_result import ChaosResult
from harness.pytest_plugin.settings import Settings
from harness.report.arms_table import explanation
from harness.run.executor import EXPERIMENT_FILE

_BADNESS = (VerdictWord.INVALID, VerdictWord.UNKNOWN, VerdictWord.VALID)


def image_line(settings: Settings) -> str:
    """The local broker image with its digest, or why there is none."""
    from harness.containers import engine, images
    from harness.model.defaults import DEFAULT_VERSION

    version = settings.version or DEFAULT_VERSION
    try:
        client = engine.connect()
        if settings.image is None:
            here = images.local(client, version)
        else:
            here = images.present(client, settings.image)
    except KafkaChaosError as error:
        return f"image {settings.image or f'of Kafka {version}'}: {error.what}"
    if here is None:
        which = settings.image or f"of Kafka {version}"
        return f"image {which}: not here yet, it is pulled or built when the first cluster starts"
    return f"image {here.reference} ({here.origin}), {here.digest}"


def failure(result: ChaosResult, nodeid: str) -> str:
    """What is shown of an experiment of a failed test: verdicts, the worst first, and how to repeat it."""
    worst = sorted(result.arms, key=_rank)
    lines = [explanation(arm, examples=3) for arm in worst]
    for arm in worst[:1]:
        image = arm.meta.cluster.image
        lines += [f"image: {image.reference}, {image.digest}", f"seed: {arm.meta.seed}"]
        lines += ["replay:", *(f"  {line}" for line in replay_commands(arm, result.folder, nodeid))]
    lines.append(f"report: {result.folder / REPORT_FILE}")
    return "\n".join(lines)


def replay_commands(arm: ArmResult, folder: Path, nodeid: str) -> list[str]:
    """Commands that repeat the faults of one run: as this test, and without pytest."""
    run = folder / arm.folder
    return [
        shlex.join(["pytest", nodeid, "--chaos-replay", str(run)]),
        shlex.join(
            ["kafka-chaos", "run", str(folder / EXPERIMENT_FILE), "--arm", arm.meta.arm, "--replay", str(run)]
        ),
    ]


def _rank(arm: ArmResult) -> tuple[bool, int]:
    return arm.judgement.as_promised is True, _BADNESS.index(arm.judgement.verdict)
