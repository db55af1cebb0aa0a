"""The result of an experiment, with assertions whose messages hold the evidence."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from harness.model.errors import KafkaChaosError
from harness.model.finding_class import FindingClass
from harness.model.result import ArmResult, ExperimentResult, VerdictWord
from harness.pytest_plugin.delivery_report import Committed, describe, nothing_processed
from harness.pytest_plugin.processed import Seen, positions_read, positions_seen
from harness.report.arms_table import explanation
from workloads.own.consumer_journal import ConsumerJournal

_LOOK_SECONDS = 0.2


@dataclass(frozen=True, slots=True)
class ChaosResult:
    """An experiment's result, for assertions in a test.

    `result` is all of it, `folder` holds journals, result.json and report.html while the test runs (and
    afterwards, if it fails). Every `assert_...` checks each arm, or the arm named, and fails if its verdict
    is `unknown`: such an arm proves nothing, in particular not that nothing was lost.

    `committed` asks the run's cluster for the offsets that consumer groups have committed for a topic (None:
    there is none to ask); `failures` are the messages of its assertions that failed. `parseable` says of an
    arm whether its records hold a payload of the user's; `thread_errors` ended threads of the test;
    `members` are the journals of the consumers that the test has wrapped.
    """

    result: ExperimentResult
    folder: Path
    committed: Callable[[str], Committed] | None = field(default=None, repr=False, compare=False)
    failures: list[str] = field(default_factory=list, repr=False, compare=False)
    parseable: Callable[[str], bool] = field(default=lambda _: False, repr=False, compare=False)
    thread_errors: list[str] = field(default_factory=list, repr=False, compare=False)
    members: list[ConsumerJournal] = field(default_factory=list, repr=False, compare=False)

    @property
    def arms(self) -> tuple[ArmResult, ...]:
        return self.result.arms

    def arm(self, name: str) -> ChaosResult:
        """The same of one arm.

        Raises:
            KeyError: no such arm was run.
        """
        arms = tuple(arm for arm in self.arms if name in (arm.folder, arm.meta.arm))
        if not arms:
            raise KeyError(f"no arm {name!r} was run; there are {[arm.folder for arm in self.arms]}")
        return replace(self, result=self.result.model_copy(update={"arms": arms}))

    @property
    def verdict(self) -> str:
        """`invalid` if one arm is, else `unknown` if one is, else `valid`."""
        words = {arm.judgement.verdict for arm in self.arms}
        order = (VerdictWord.INVALID, VerdictWord.UNKNOWN)
        return str(next((word for word in order if word in words), VerdictWord.VALID))

    @property
    def as_promised(self) -> bool:
        """Whether every arm did what the experiment promises; an unknown verdict is not as promised."""
        return self.result.exit_code() == 0

    @property
    def sent(self) -> int:
        return sum(arm.summary.sent for arm in self.arms if arm.summary is not None)

    @property
    def acked(self) -> int:
        return sum(arm.summary.outcomes.get("acked", 0) for arm in self.arms if arm.summary is not None)

    @property
    def lost(self) -> int:
        return self.count(FindingClass.LOST)

    @property
    def duplicates(self) -> int:
        return self.count(FindingClass.DUPLICATE)

    @property
    def faults(self) -> int:
        """The number of faults that were injected."""
        return sum(len(arm.meta.windows) for arm in self.arms)

    def count(self, finding: FindingClass | str) -> int:
        """The number of findings of a class over all arms; `kafka-chaos findings` lists the classes."""
        wanted = FindingClass(finding)
        return sum(arm.summary.count(wanted) for arm in self.arms if arm.summary is not None)

    def explain(self) -> str:
        """Verdicts, reasons and the worst examples."""
        return "\n".join([*(explanation(arm) for arm in self.arms), f"report: {self.folder / 'report.html'}"])

    def assert_as_promised(self) -> None:
        """Every arm did what the experiment promises of it."""
        __tracebackhide__ = True
        for arm in self.arms:
            if arm.judgement.as_promised is not True:
                unknown = arm.judgement.as_promised is None
                how = "cannot be shown to have kept" if unknown else "did not keep"
                raise self._failure(f"arm {arm.folder} {how} its promise\n{explanation(arm)}")

    def assert_valid(self) -> None:
        """Every verdict is `valid`: there is no finding that the arm's settings rule out."""
        __tracebackhide__ = True
        for arm in self.arms:
            if arm.judgement.verdict is not VerdictWord.VALID:
                raise self._failure(f"expected verdict valid\n{explanation(arm)}")

    def assert_lost(self, bound: int | str = 0) -> None:
        """The number of acknowledged records that each arm lost: `0`, `N`, `">= N"`, `"<= N"`."""
        __tracebackhide__ = True
        self.assert_count(FindingClass.LOST, bound)

    def assert_duplicates(self, bound: int | str = 0) -> None:
        """The number of records of each arm at two or more offsets: `0`, `N`, `">= N"`, `"<= N"`."""
        __tracebackhide__ = True
        self.assert_count(FindingClass.DUPLICATE, bound)

    def assert_count(self, finding: FindingClass | str, bound: int | str) -> None:
        """The number of findings of a class in each arm: `0`, `N`, `">= N"`, `"<= N"`.

        Raises:
            ValueError: no such class. BadInput: a bound that cannot be read.
        """
        from checkers import parse_promise

        __tracebackhide__ = True
        wanted, allowed = FindingClass(finding), parse_promise(str(bound))
        for arm in self.arms:
            count = _summary_of(arm).count(wanted)
            if not allowed.holds(count):
                raise self._failure(
                    f"expected {bound} {wanted} in arm {arm.folder}, found {count:,}\n{explanation(arm)}"
                )

    def assert_unavailable(self, *, at_most: float) -> None:
        """No partition of any arm was without a success report for longer than `at_most` seconds while a
        write step was running. Gaps below one second are not counted. Where that is not known, it fails."""
        __tracebackhide__ = True
        for arm in self.arms:
            seconds = _summary_of(arm).unavailable_seconds
            if seconds is None:
                raise self._failure(
                    f"arm {arm.folder} proves nothing about it: how long there was no success report is not "
                    f"known, since no send of a write step has times\n{explanation(arm)}"
                )
            if seconds > at_most:
                raise self._failure(
                    f"expected at most {at_most} s without a success report in arm {arm.folder}, "
                    f"found {seconds} s\n{explanation(arm)}"
                )

    def assert_delivered(
        self,
        seen: Seen | Callable[[], Seen] | None = None,
        *,
        within: float = 0.0,
        exactly_once: bool = False,
        last_error: object = None,
    ) -> None:
        """Your own consumer got every record of the final read.

        A failure names ranges of offsets, when their records were sent, the faults that were open meanwhile,
        and what consumer groups have committed. If nothing at all was processed, it says what may be the
        reason, with the last error of the application.

        Args:
            seen: (partition, offset) of every record that your application has processed, or the
                `ConsumerJournal` of each of its members: then commits that are lost, ahead or foreign, and
                partitions with two owners, are failures too. Or a function that returns one of these, called
                until none is missing or `within` seconds have passed. None: the consumers that
                `Running.delivered` has wrapped.
            within: seconds for the application to catch up.
            exactly_once: also fail if a record was processed twice.
            last_error: the last error of your application, as an exception or text, or a function that
                returns it; None: the error that ended a thread of this test during the run, if one did.

        Raises:
            ValueError: more than one arm, or a transactional one; or nothing to judge was named or wrapped.
        """
        __tracebackhide__ = True
        if seen is None:
            if not self.members:
                raise ValueError("name what was processed, or wrap your consumers: run.delivered(consumer)")
            seen = partial(list[ConsumerJournal], self.members)
        if len(self.arms) != 1:
            raise ValueError(f"name one arm with .arm(...): {[arm.folder for arm in self.arms]}")
        arm = self.arms[0]
        _summary_of(arm)
        if arm.meta.transactional:
            raise ValueError("what a transactional run delivers depends on the reader's isolation.level")
        run = self.folder / arm.folder
        there = positions_read(run, arm.meta.topic)
        deadline = time.monotonic() + within
        got, journals = positions_seen(seen)
        while callable(seen) and there - got.keys() and time.monotonic() < deadline:
            time.sleep(_LOOK_SECONDS)
            got, journals = positions_seen(seen)
        progress = self._progress(arm, journals)
        once = set(got)
        missing, strange = sorted(there - once), sorted(once - there)
        for what, positions in (("were never processed", missing), ("are not in the topic", strange)):
            if positions:
                none = positions is missing and not once
                hint = nothing_processed(self._last_error(last_error), self.parseable(arm.meta.arm))
                raise self._failure(
                    f"{len(positions):,} record(s) {what}, of {len(there):,} in the topic: "
                    + (f"{hint}\n" if none else "")
                    + describe(positions, arm.meta, run, self._committed(arm), missed=positions is missing)
                    + progress
                )
        if progress:
            raise self._failure(f"every record was processed, but progress was not kept:{progress}")
        twice = sorted(position for position, times in got.items() if times > 1)
        if exactly_once and twice:
            raise self._failure(
                f"{len(twice):,} record(s) were processed more than once: "
                + describe(twice, arm.meta, run, self._committed(arm), missed=False)
            )

    def assert_processed(self, *, exactly_once: bool = False) -> None:
        """The application under test of each arm has processed every input: its output was read to its end,
        and has what belongs to every acknowledged record, and nothing that belongs to none. Outputs that are
        doubled are a failure only with `exactly_once`.

        Raises:
            ValueError: an arm has no application.
        """
        __tracebackhide__ = True
        wrong = [FindingClass.UNPROCESSED, FindingClass.PREMATURE, FindingClass.INVENTED]
        wrong += [FindingClass.REPROCESSED] if exactly_once else []
        for arm in self.arms:
            if arm.meta.application is None:
                raise ValueError(f"arm {arm.folder} has no application: use chaos.application(...)")
            summary = _summary_of(arm)
            found = [f"{summary.count(finding):,} {finding}" for finding in wrong if summary.count(finding)]
            if found:
                once = "exactly once" if exactly_once else "at least once"
                raise self._failure(
                    f"expected every input of arm {arm.folder} to be processed {once}, "
                    f"found {', '.join(found)}\n{explanation(arm)}"
                )

    def _progress(self, arm: ArmResult, journals: list[ConsumerJournal]) -> str:
        """What broke the progress of the application's groups, a line each; empty: nothing did."""
        if not journals:
            return ""
        from harness.pytest_plugin.own_group import group_problems

        problems = group_problems(journals, arm.meta, self.folder / arm.folder, lambda: self._committed(arm))
        return "".join(f"\n  {problem}" for problem in problems)

    def _failure(self, message: str) -> AssertionError:
        """The error of an assertion that fails; if it fails the test, the report shows its message."""
        self.failures.append(message)
        return AssertionError(message)

    def _last_error(self, reported: object) -> str | None:
        """The last error of the application under test, as far as it is known."""
        error = reported() if callable(reported) else reported
        if isinstance(error, BaseException):
            return f"{type(error).__name__}: {error}"
        if error is not None:
            return str(error).strip() or None
        return self.thread_errors[-1] if self.thread_errors else None

    def _committed(self, arm: ArmResult) -> Committed | str | None:
        """The offsets that groups have committed for the arm's topic, or why they are not known."""
        if self.committed is None:
            return None
        try:
            return self.committed(arm.meta.topic)
        except KafkaChaosError as error:
            return f"{error.what} ({error.found})" if error.found else error.what


def _summary_of(arm: ArmResult) -> Any:
    """The summary of an arm whose verdict is known."""
    __tracebackhide__ = True
    if arm.summary is None or arm.judgement.verdict is VerdictWord.UNKNOWN:
        raise AssertionError(f"arm {arm.folder} proves nothing: its verdict is unknown\n{explanation(arm)}")
    return arm.summary
