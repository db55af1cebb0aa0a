"""The journal for programs in other languages: a file of each to copy, with the events of `json_events`."""

from __future__ import annotations

from harness.model.config.built_in_files import built_in_files
from harness.model.errors import BadInput, did_you_mean

LANGUAGES = {
    "go": "journal.go",
    "javascript": "journal.mjs",
    "java": "Journal.java",
    "rust": "journal.rs",
    "csharp": "Journal.cs",
}
"""The file of each language."""
_ALSO = {"typescript": "javascript", "kotlin": "java"}
"""Languages that use the file of another one."""


def language_file(language: str) -> str:
    """The text of the file for programs in this language.

    Raises:
        BadInput: there is none.
    """
    name = LANGUAGES.get(_ALSO.get(language, language))
    if name is None:
        known = (*LANGUAGES, *_ALSO)
        raise BadInput(
            f"there is no journal for the language {language!r}",
            where="--language",
            expected=f"one of {', '.join(known)}",
            next_step=did_you_mean(
                language,
                known,
                "a program in Python uses kafka_chaos.journaled or kafka_chaos.Journal; for any other "
                "language docs/how-to/own-producer.md describes the events",
            ),
        )
    return built_in_files(f"workloads/own/languages/{name}").read_text(encoding="utf-8")
