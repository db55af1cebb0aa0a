"""What the check of one subject has found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from pyspark.sql import DataFrame


@dataclass(frozen=True)
class Found:
    """Findings as `checkers.evidence.findings.FINDINGS` (None: there are none), reasons for an unknown
    verdict, and values of other fields of a `Summary` that the subject knows, by their names."""

    findings: DataFrame | None = None
    problems: tuple[str, ...] = ()
    summary: Mapping[str, Any] = field(default_factory=dict)

    def with_problems(self, *problems: str | None) -> Found:
        """The same with these problems before its own (None: there is none)."""
        return replace(
            self, problems=(*(problem for problem in problems if problem is not None), *self.problems)
        )

    def with_findings(self, findings: DataFrame | None) -> Found:
        """The same with more findings (None: there are none)."""
        if findings is not None and self.findings is not None:
            findings = self.findings.unionByName(findings)
        return replace(self, findings=self.findings if findings is None else findings)

    def with_summary(self, **summary: Any) -> Found:
        """The same with values of fields of a `Summary`."""
        return replace(self, summary={**self.summary, **summary})
