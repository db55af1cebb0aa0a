"""Titles of commits (.ci/commit_titles.py) in a repository of the test's own: the hook, and new commits."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.paths import ROOT

pytestmark = pytest.mark.pure

SCRIPT = ".ci/commit_titles.py"
GOOD, LONG = "x" * 72, "y" * 73


class Repository:
    """A repository with the script and without settings of this machine's user."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True)
        home = folder.parent / "home"
        home.mkdir(exist_ok=True)
        clean = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        self.environment = clean | {
            "HOME": str(home),
            "GIT_CONFIG_NOSYSTEM": "1",
            "XDG_CONFIG_HOME": str(home),
        }
        for name in ("AUTHOR", "COMMITTER"):
            self.environment |= {f"GIT_{name}_NAME": "a", f"GIT_{name}_EMAIL": "a@example.org"}

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command, cwd=self.folder, env=self.environment, capture_output=True, text=True, check=False
        )

    def git(self, *arguments: str) -> str:
        done = self.run("git", *arguments)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def begin(self) -> Repository:
        self.git("init", "--quiet", "--initial-branch=main")
        return self

    def add_script(self) -> None:
        (self.folder / ".ci").mkdir()
        shutil.copy(ROOT / SCRIPT, self.folder / SCRIPT)
        self.git("add", ".")

    def commit(self, message: str, *options: str) -> str:
        """A commit without hooks."""
        self.git("commit", "--quiet", "--allow-empty", "--no-verify", f"--message={message}", *options)
        return self.git("rev-parse", "HEAD")

    def check(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return self.run(sys.executable, SCRIPT, *arguments)


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    """One old commit with a long title, then one that brings the script."""
    made = Repository(tmp_path / "repository").begin()
    made.commit(LONG)
    made.add_script()
    made.commit("the rule")
    return made


def clone(repository: Repository, name: str, *options: str) -> Repository:
    made = Repository(repository.folder.parent / name)
    made.git("clone", "--quiet", *options, f"file://{repository.folder}", ".")
    return made


def looked_at(checked: subprocess.CompletedProcess[str]) -> int:
    assert checked.returncode == 0, checked.stderr
    return int(checked.stdout.split(": ")[1].split()[0])


def test_the_hook_refuses_a_long_title_and_takes_a_good_one(repository: Repository) -> None:
    assert repository.check("--install").returncode == 0
    refused = repository.run("git", "commit", "--allow-empty", "-m", LONG)
    assert refused.returncode == 1
    assert "at most 72 characters, and this one has 73" in refused.stderr
    assert f"{'y' * 72}|y" in refused.stderr
    assert repository.run("git", "commit", "--allow-empty", "-m", GOOD, "-m", "a body, " * 20).returncode == 0
    # Characters count, not bytes; and a title of two lines is one title.
    assert repository.run("git", "commit", "--allow-empty", "-m", "ü" * 72).returncode == 0
    assert repository.run("git", "commit", "--allow-empty", "-m", f"{'z' * 40}\n{'z' * 40}").returncode == 1


def test_a_title_below_comments_and_above_a_diff_is_found(repository: Repository) -> None:
    message = repository.folder / "message"
    cut = f"# ------------------------ >8 ------------------------\ndiff {LONG}\n"
    message.write_text(f"\n# {LONG}\n{GOOD}\n\nbody\n{cut}")
    assert repository.check("--message", "message").returncode == 0
    message.write_text(f"# a comment\n{LONG}\n{cut}")
    assert repository.check("--message", "message").returncode == 1
    message.write_text(f"# nothing was written\n{cut}")
    assert repository.check("--message", "message").returncode == 0


@pytest.mark.parametrize(
    ("title", "taken"),
    [
        (f"fixup! {GOOD}", True),
        (f"fixup! {LONG}", False),
        (f'Revert "{GOOD}"', True),
        (f'Revert "{LONG}"', False),
        (f"Merge branch '{LONG}'", True),
    ],
)
def test_what_git_adds_does_not_count(repository: Repository, title: str, taken: bool) -> None:
    (repository.folder / "message").write_text(title)
    assert (repository.check("--message", "message").returncode == 0) is taken
    repository.commit(title)
    assert (repository.check().returncode == 0) is taken


def test_another_hook_and_another_folder_of_hooks_stay(repository: Repository) -> None:
    hook = repository.folder / ".git" / "hooks" / "commit-msg"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\n")
    assert "another one" in repository.check("--install").stdout
    assert hook.read_text() == "#!/bin/sh\n"
    hook.unlink()
    repository.git("config", "core.hooksPath", "theirs")
    assert "core.hooksPath is set" in repository.check("--install").stdout
    assert repository.git("config", "core.hooksPath") == "theirs"
    assert not hook.exists()
    assert not (repository.folder / "theirs").exists()
    repository.git("config", "--unset", "core.hooksPath")
    assert "keeps titles" in repository.check("--install").stdout
    assert repository.check("--install").stdout == "", "it is there"


def test_the_hook_of_a_repository_passes_over_branches_without_the_rule(repository: Repository) -> None:
    repository.check("--install")
    repository.git("checkout", "--quiet", "-b", "old", "main~1")
    assert repository.run("git", "commit", "--allow-empty", "-m", LONG).returncode == 0


def test_commits_that_the_remote_s_main_lacks_are_looked_at(repository: Repository) -> None:
    mine = clone(repository, "mine")
    assert looked_at(mine.check()) == 1, "nothing is new: the last one"
    mine.git("checkout", "--quiet", "-b", "work")
    first = mine.commit(LONG)
    mine.commit(GOOD)
    refused = mine.check()
    assert refused.returncode == 1
    assert first[:10] in refused.stderr
    assert "1 " not in refused.stdout
    mine.git("reset", "--quiet", "--hard", "main")
    mine.commit(GOOD)
    repository.commit(LONG)
    mine.git("fetch", "--quiet")
    mine.git("merge", "--quiet", "--no-edit", "origin/main")
    assert looked_at(mine.check()) == 1, "what the remote has is not of this branch"


def test_history_from_before_the_rule_is_never_refused(repository: Repository) -> None:
    mine = clone(repository, "mine")
    mine.git("checkout", "--quiet", "-b", "old", "main~1")
    mine.commit(LONG)
    mine.add_script()  # not committed
    assert looked_at(mine.check()) == 0


def test_without_a_remote_the_local_main_counts(repository: Repository) -> None:
    repository.git("checkout", "--quiet", "-b", "work")
    repository.commit(GOOD)
    repository.commit(GOOD)
    assert looked_at(repository.check()) == 2
    repository.git("branch", "--quiet", "-D", "main")
    assert looked_at(repository.check()) == 1, "the last one alone"


def test_of_a_shallow_clone_the_last_commit_is_looked_at(repository: Repository) -> None:
    repository.commit(LONG)
    repository.commit(GOOD)
    assert looked_at(clone(repository, "one", "--depth=1").check()) == 1
    assert looked_at(clone(repository, "three", "--depth=3").check()) == 1
    repository.commit(LONG)
    assert clone(repository, "long", "--depth=1").check().returncode == 1


def test_a_folder_that_is_no_repository_has_no_titles(tmp_path: Path) -> None:
    outer = Repository(tmp_path / "outer").begin()
    outer.commit(LONG)
    inner = outer.folder / "unpacked"
    (inner / ".ci").mkdir(parents=True)
    shutil.copy(ROOT / SCRIPT, inner / SCRIPT)
    for arguments in ((), ("--install",)):
        done = outer.run(sys.executable, f"unpacked/{SCRIPT}", *arguments)
        assert done.returncode == 0, done.stderr
    assert not (outer.folder / ".git" / "hooks" / "commit-msg").exists()
    alone = {**outer.environment, "PATH": ""}
    done = subprocess.run(
        [sys.executable, inner / SCRIPT], env=alone, cwd=inner, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def test_setup_installs_it_and_lint_looks_at_new_commits() -> None:
    assert f"{SCRIPT} --install" in (ROOT / "compose" / "setup.sh").read_text()
    lint = (ROOT / "Makefile").read_text().partition("\nlint: ")[2].partition("\n\n")[0]
    assert SCRIPT in lint
