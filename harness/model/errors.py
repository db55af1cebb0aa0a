"""Every error that a user can meet, and words for its parts.

    KafkaChaosError           exit code 3: the harness could not do its work
    ├── BadInput              exit code 2: something the user wrote cannot be used
    ├── PrerequisiteMissing   Docker, Java, a kernel feature or an image is not available
    ├── ClusterError          a cluster did not come up, or a node of it failed
    ├── FaultError            a fault could not be injected, verified or healed
    ├── JournalError          a run folder is missing, truncated or of another version
    └── CheckError            the check failed; the journals are untouched

An error says what went wrong, where, what was expected against what was found, and what to do next.
The command line prints exactly that and no traceback.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any

from harness.model.patterns import pattern_words

if TYPE_CHECKING:
    from pydantic import ValidationError


class KafkaChaosError(Exception):
    """Base of all errors shown to users; `exit_code` is what the process returns."""

    exit_code = 3

    def __init__(
        self,
        what: str,
        *,
        where: str | None = None,
        expected: str | None = None,
        found: str | None = None,
        next_step: str | None = None,
        others: Sequence[KafkaChaosError] = (),
    ) -> None:
        super().__init__(what)
        self.what = what
        self.where = where
        self.expected = expected
        self.found = found
        self.next_step = next_step
        self.others = tuple(others)
        """Further errors of the same kind, for which the same next step holds."""

    @classmethod
    @contextmanager
    def for_errors(
        cls,
        kinds: type[Exception] | tuple[type[Exception], ...],
        what: str,
        *,
        where: object,
        expected: str | None = None,
        found: Callable[[Any], str] = str,
        next_step: str | None = None,
    ) -> Iterator[None]:
        """An error of these kinds in the block is raised as this error; `found` makes words of it."""
        try:
            yield
        except kinds as error:
            raise cls(
                what, where=str(where), expected=expected, found=found(error), next_step=next_step
            ) from error

    @classmethod
    def for_os_errors(
        cls, what: str, *, where: object, expected: str | None = None, next_step: str | None = None
    ) -> AbstractContextManager[None]:
        """An OSError of the block is raised as this error, with what the system says of it as `found`."""
        return cls.for_errors(
            OSError,
            what,
            where=where,
            expected=expected,
            found=lambda error: error.strerror or str(error),
            next_step=next_step,
        )

    def __str__(self) -> str:
        return "\n".join((*self._without_next_step(), *_labelled("next", self.next_step)))

    def _without_next_step(self) -> Iterator[str]:
        yield self.what
        yield from _labelled("where", self.where)
        yield from _labelled("expected", self.expected)
        yield from _labelled("found", self.found)
        for other in self.others:
            yield from other._without_next_step()


class BadInput(KafkaChaosError):
    """A file, option or value from the user that cannot be used."""

    exit_code = 2


class PrerequisiteMissing(KafkaChaosError):
    """Something that must be installed or permitted on this machine is not."""


class ClusterError(KafkaChaosError):
    """A cluster did not come up, or one of its nodes failed when it should not have."""


class FaultError(KafkaChaosError):
    """A fault could not be injected, shown to have taken effect, or healed."""


class JournalError(KafkaChaosError):
    """A run folder or journal that cannot be read."""


class CheckError(KafkaChaosError):
    """Spark could not be started, or failed while checking; the journals are untouched."""


DENIED = r"(?i)access.?denied|forbidden|permission denied|status code:? 403|credentials"
"""What the message of a system contains that was not given rights or keys."""


def _labelled(label: str, text: str | None) -> Iterator[str]:
    if text is not None:
        yield f"  {label + ':':<10}{text}"


def first_line(error: Exception) -> str:
    """The first line of an error, or its type if it has none."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


def words_of(error: ValidationError) -> str:
    """The message of the first validation error, in the words of someone who writes a file."""
    first = error.errors()[0]
    if first["type"] == "string_pattern_mismatch":
        return f"{pattern_words(first['ctx']['pattern'])} is expected"
    return _WORDS.get(first["type"]) or str(first["msg"]).removeprefix("Value error, ")


_WORDS = {
    "extra_forbidden": "there is no such key",
    "string_type": "a text is expected: put it in quotes",
}
"""Messages by pydantic's type of an error, where its own are about Python."""


def located_words_of(error: ValidationError) -> str:
    """As `words_of`, preceded by the path of the refused value, if it has one."""
    where = ".".join(map(str, error.errors()[0]["loc"]))
    return f"{where}: {words_of(error)}" if where else words_of(error)


def closest(name: str, known: Iterable[str], cutoff: float = 0.6) -> str | None:
    """The known name most similar to `name`; None if the similarity of all (0 to 1) is below `cutoff`."""
    return next(iter(difflib.get_close_matches(name, tuple(known), n=1, cutoff=cutoff)), None)


def did_you_mean(name: str, known: Iterable[str], otherwise: str) -> str:
    """A question that offers the known name closest to `name`; `otherwise` if none is close."""
    close = closest(name, known)
    return f"did you mean {close!r}?" if close else otherwise
