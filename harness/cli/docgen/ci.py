"""The page on CI systems, which is written by hand but for the files that it shows and the inputs of the
action: these are put in from harness/ci_files and .github/actions/chaos/action.yml."""

from __future__ import annotations

import re

import yaml

from harness.cli.docgen import files
from harness.cli.init import FOLDER, TEST_FILE, WRITTEN
from harness.model.config.built_in_files import built_in_files
from harness.report.page.markdown import cell, table

PAGE = files.DOCS / "how-to" / "ci.md"
_ACTION = files.DOCS.parent / ".github/actions/chaos/action.yml"
_LANGUAGES = {"Jenkinsfile": "groovy", "chaos-cron.sh": "bash", "test_chaos.py": "python"}
_PART = re.compile(r"<!-- ([\w.-]+):begin -->\n.*?<!-- \1:end -->", re.DOTALL)


def ci_page(text: str) -> str:
    """The page `text` with its generated parts made anew. Each is between two comments with its name.

    Raises:
        KeyError: the page has a part that does not exist.
    """
    parts = {"inputs": _inputs()} | {
        name: _block(name) for name in (*(file for file, _ in WRITTEN.values()), TEST_FILE.partition("/")[2])
    }
    return _PART.sub(
        lambda found: f"<!-- {found[1]}:begin -->\n{parts[found[1]]}<!-- {found[1]}:end -->", text
    )


def _block(name: str) -> str:
    """A file as a block of code."""
    text = built_in_files(f"{FOLDER}/{name}").read_text()
    return f"```{_LANGUAGES.get(name, 'yaml')}\n{text}```\n"


def _inputs() -> str:
    """The inputs of the action, which are those of the reusable workflow too."""
    inputs = yaml.safe_load(_ACTION.read_text())["inputs"]
    rows = [
        (f"`{name}`", cell(one["description"]), f"`{one['default']}`" if one["default"] else "")
        for name, one in inputs.items()
    ]
    return table(("input", "meaning", "default"), rows, str)


CI_PAGES = files.Pages(PAGE.parent, lambda: {PAGE.name: ci_page(PAGE.read_text())})
