#!/usr/bin/env python3
"""Titles of commits have at most 72 characters, since tools cut what is longer.

commit_titles.py                 check the commits that are new here (`make lint`, so CI too)
commit_titles.py --message FILE  check a message that is being written (the hook commit-msg)
commit_titles.py --install       make the hook, unless this repository has another one (`make setup`)
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

LONGEST = 72
OURS = "Installed by `make setup` of kafka-chaos"
HOOK = f"""#!/bin/sh
# {OURS}: titles of commits (.ci/commit_titles.py). Branches without that file commit as they like.
check=$(git rev-parse --show-toplevel)/.ci/commit_titles.py
[ ! -f "$check" ] || ! command -v python3 >/dev/null || exec python3 "$check" --message "$1"
"""
SCISSORS = "------------------------ >8 ------------------------"
"""Below this line `git commit --verbose` shows the diff."""


def git(*arguments: str, text: str | None = None) -> str | None:
    """What git prints; None if it fails or is not installed."""
    command = ["git", *arguments]
    try:
        done = subprocess.run(
            command, input=text, capture_output=True, encoding="utf-8", errors="replace", check=False
        )
    except OSError:
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def is_own_repository() -> bool:
    """Whether this checkout is one, and not a folder in a repository of something else."""
    top = git("rev-parse", "--show-toplevel")
    return top is not None and Path(top).resolve() == Path(__file__).resolve().parents[1]


def long_part(title: str) -> str:
    """The part of a title that people write, if it is too long, else nothing.

    `fixup! TITLE` and `Revert "TITLE"` are measured without what git adds, and a merge's title is git's own.
    """
    if title.startswith("Merge "):
        return ""
    for prefix in ("fixup! ", "squash! ", "amend! "):
        title = title.removeprefix(prefix)
    for prefix in ('Revert "', 'Reapply "'):
        while title.startswith(prefix) and title.endswith('"'):
            title = title[len(prefix) : -1]
    return title if len(title) > LONGEST else ""


def written_title(message: str) -> str:
    """The title of a message as git will take it: the lines up to the first empty one, without comments."""
    above = message.split(SCISSORS)[0]
    kept = git("stripspace", "--strip-comments", text=above)
    return " ".join((above if kept is None else kept).split("\n\n")[0].splitlines())


def main_branch() -> str | None:
    """The main branch of the first remote that has one, else the local one."""
    remotes = sorted((git("remote") or "").split(), key=lambda name: name != "origin")
    refs = [f"refs/remotes/{name}/{branch}" for name in remotes for branch in ("HEAD", "main", "master")]
    refs += ["refs/heads/main", "refs/heads/master"]
    return next((ref for ref in refs if git("rev-parse", "--verify", "--quiet", f"{ref}^{{commit}}")), None)


def new_commits() -> list[str]:
    """The commits that the main branch lacks; the last one alone if there are none, or if nobody can know.

    A commit counts if this file is in its tree: what was committed before there was a rule stays as it is.
    """
    commits = [git("rev-parse", "--verify", "--quiet", "HEAD") or ""]
    main = main_branch()
    if main is not None and git("rev-parse", "--is-shallow-repository") == "false":
        commits = (git("rev-list", "--no-merges", "HEAD", "--not", main) or "").split() or commits
    file = Path(__file__).resolve().parent.name + "/" + Path(__file__).name
    return [commit for commit in commits if commit and git("cat-file", "-e", f"{commit}:{file}") is not None]


def refusal(title: str) -> str:
    return (
        f"a title has at most {LONGEST} characters, and this one has {len(title)}:\n"
        f"  {title[:LONGEST]}|{title[LONGEST:]}\n"
        "say what holds now, and put the rest below an empty line"
    )


def check_message(path: str) -> int:
    title = long_part(written_title(Path(path).read_text(encoding="utf-8", errors="replace")))
    if title:
        print(refusal(title), file=sys.stderr)
    return 1 if title else 0


def check_commits() -> int:
    if not is_own_repository():
        print("titles of commits: this folder is no repository of its own, so there are none to look at")
        return 0
    wrong = 0
    for commit in (commits := new_commits()):
        title = long_part(git("show", "--no-patch", "--format=%s", commit) or "")
        if title:
            wrong += 1
            print(f"{commit[:10]}: {refusal(title)}", file=sys.stderr)
    if wrong:
        print("`git commit --amend` or `git rebase --interactive` changes a title", file=sys.stderr)
    else:
        print(f"titles of commits: {len(commits)} looked at, none has more than {LONGEST} characters")
    return 1 if wrong else 0


def install() -> int:
    """Makes the hook in the repository's own folder of hooks; a hook or a folder of the user stays."""
    if not is_own_repository():
        return 0
    if git("config", "--get", "core.hooksPath"):
        print("hook: core.hooksPath is set, so that for titles of commits is not installed (CONTRIBUTING.md)")
        return 0
    folder = git("rev-parse", "--git-path", "hooks")
    hook = Path(folder or ".git/hooks") / "commit-msg"
    if hook.is_symlink() or (
        hook.exists() and OURS not in hook.read_text(encoding="utf-8", errors="replace")
    ):
        print(
            f"hook: {hook} is another one, so that for titles of commits is not installed (CONTRIBUTING.md)"
        )
        return 0
    if hook.exists() and hook.read_text(encoding="utf-8") == HOOK:
        return 0
    try:
        hook.parent.mkdir(parents=True, exist_ok=True)
        hook.write_text(HOOK, encoding="utf-8")
        hook.chmod(0o755)
    except OSError as error:
        print(f"hook: {hook} cannot be written ({error.strerror}), so titles of commits are not checked here")
        return 0
    print(f"hook: {hook} keeps titles of commits to {LONGEST} characters")
    return 0


def main(arguments: list[str]) -> int:
    if not arguments:
        return check_commits()
    if arguments == ["--install"]:
        return install()
    if len(arguments) == 2 and arguments[0] == "--message":
        return check_message(arguments[1])
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
