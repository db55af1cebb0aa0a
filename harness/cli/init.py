"""The command that writes first files: an experiment, or all that a CI system needs to run one."""

from __future__ import annotations

import json
import os
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import urlsplit

from typer import Argument, Option

from harness.cli.options import console, print_text, write_example
from harness.model.config.built_in_files import built_in_files
from harness.model.errors import BadInput

CiSystem = Literal["github", "gitlab", "gitlab-socket", "jenkins", "azure", "cron"]
"""Values of --ci."""
FOLDER = "harness/ci_files"
WRITTEN: dict[CiSystem, tuple[str, str]] = {
    "github": ("github.yml", ".github/workflows/chaos.yml"),
    "gitlab": ("gitlab.yml", ".gitlab-ci.yml"),
    "gitlab-socket": ("gitlab-socket.yml", ".gitlab-ci.yml"),
    "jenkins": ("Jenkinsfile", "Jenkinsfile"),
    "azure": ("azure-pipelines.yml", "azure-pipelines.yml"),
    "cron": ("chaos-cron.sh", "chaos-cron.sh"),
}
"""For each system its file in `FOLDER`, and where it is expected in a repository."""
EXPERIMENT_FILE = "chaos/experiment.yaml"
TEST_FILE = "chaos/test_chaos.py"
_ON_GITHUB = "OWNER/kafka-chaos/.github/"
_ANYWHERE = "https://HOST/OWNER/kafka-chaos@TAG"


def init(
    path: Annotated[
        Path | None, Argument(help="The file to write; default: experiment.yaml.", show_default=False)
    ] = None,
    ci: Annotated[
        CiSystem | None,
        Option(help="Write the file of this CI system, with a first experiment and a first test."),
    ] = None,
) -> None:
    """Write a commented example of an experiment file.

    With --ci, write into the folder of a repository what a CI system needs to run an experiment every night
    and a pytest suite for every change: docs/how-to/ci.md. No file is overwritten.
    """
    if ci is None:
        write_example(path or Path("experiment.yaml"), "harness.spec", "kafka-chaos run")
        return
    if path is not None:
        raise BadInput(
            "these arguments contradict each other",
            found=f"--ci with the file {path}",
            expected="--ci alone: the names of its files stand in the CI system's file",
        )
    write_ci(ci)


def write_ci(system: CiSystem, folder: Path = Path()) -> None:
    """Write the files into the folder, which is that of a repository, and print what to do with them.

    Raises:
        BadInput: a file exists already, then nothing is written; or one cannot be written.
    """
    name, target = WRITTEN[system]
    text = with_source(built_in_files(f"{FOLDER}/{name}").read_text(), installed_from())
    files = {
        target: text,
        EXPERIMENT_FILE: built_in_files("harness/spec/example.yaml").read_text(),
        TEST_FILE: built_in_files(f"{FOLDER}/test_chaos.py").read_text(),
    }
    if there := [path for path in files if os.path.lexists(folder / path)]:
        raise BadInput(
            "nothing is written, since a file exists already",
            where=", ".join(there),
            expected=f"none of {', '.join(files)}",
            next_step="move it away, or do this in an empty folder and take from there what you need",
        )
    for path, content in files.items():
        with BadInput.for_os_errors("the file cannot be written", where=folder / path):
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(content)
            if path.endswith(".sh"):
                (folder / path).chmod(0o755)
    out = console(100)
    print_text(out, f"wrote {', '.join(files)}")
    if _ANYWHERE in text or _ON_GITHUB in text:
        print_text(out, f"in {target}, put your repository of kafka-chaos in place of {_placeholders(text)}")
    print_text(out, f"try it here: kafka-chaos run {EXPERIMENT_FILE}, then pytest {Path(TEST_FILE).parent}")


def _placeholders(text: str) -> str:
    return "HOST, OWNER and TAG" if _ANYWHERE in text else "OWNER and TAG"


def installed_from() -> tuple[str, str] | None:
    """URL of the Git repository that pip has installed kafka-chaos from, and the tag or commit; None: it was
    installed in another way (PEP 610), or from a repository of this machine."""
    try:
        told = json.loads(distribution("kafka-chaos").read_text("direct_url.json") or "{}")
    except PackageNotFoundError:
        return None
    url, source = told.get("url", ""), told.get("vcs_info", {})
    if source.get("vcs") != "git" or urlsplit(url).scheme == "file":
        return None
    return url, source.get("requested_revision") or source["commit_id"]


def with_source(text: str, source: tuple[str, str] | None) -> str:
    """The file of a CI system with this repository and tag in place of HOST, OWNER and TAG. A workflow of
    GitHub can name only a repository of the same server, so only one of github.com is put into it."""
    if source is None:
        return text
    url, tag = source
    parts = urlsplit(url)
    text = text.replace(_ANYWHERE, f"{url}@{tag}")
    if parts.hostname == "github.com":
        repository = parts.path.strip("/").removesuffix(".git")
        lines = (
            line.replace(_ON_GITHUB, f"{repository}/.github/").replace("@TAG", f"@{tag}")
            if _ON_GITHUB in line
            else line
            for line in text.splitlines(keepends=True)
        )
        text = "".join(lines)
    return text
