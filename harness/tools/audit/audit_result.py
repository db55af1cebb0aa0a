"""The result of an audit: the settings that were read, findings and unknown names."""

from __future__ import annotations

from collections.abc import Iterable

from harness.model.frozen import Frozen
from harness.tools.audit.known_settings import ClientLibrary
from harness.tools.audit.rule import RuleProof, Severity

_ORDER = list(Severity)


class AuditedSetting(Frozen):
    """One setting as written (secrets masked), and its promise (None: none about records). `of` says whose it
    is, if the files have several clients or topics."""

    name: str
    value: str
    where: str
    promise: str | None
    source: str | None
    of: str | None = None


class AuditFinding(Frozen):
    """A rule that applies. `where` has the file and line of those of its `settings` that are written there.
    `versions` are those of Kafka that it is about (None: all), `finding` the class of findings that it would
    cause, `experiment` and `arms` the built-in experiment that shows it."""

    rule: str
    severity: Severity
    says: str
    do: str
    source: str
    settings: dict[str, str]
    where: dict[str, str] = {}
    versions: str | None = None
    finding: str | None = None
    experiment: str | None = None
    arms: tuple[str, ...] = ()
    of: str | None = None


class UnknownSetting(Frozen):
    """A name that neither this client nor topics and brokers have in this version of Kafka; its value is not
    shown."""

    name: str
    where: str
    did_you_mean: str | None
    says: str


class Audit(Frozen):
    """The result of an audit; `kafka` is the version of the brokers and of the Java client, `kafka_from` what
    in the files names it, `read` says which files were read as what, `notes` what they leave open."""

    client: ClientLibrary
    kafka: str
    settings: tuple[AuditedSetting, ...]
    findings: tuple[AuditFinding, ...]
    unknown: tuple[UnknownSetting, ...]
    read: tuple[str, ...] = ()
    kafka_from: str | None = None
    notes: tuple[str, ...] = ()

    def exit_code(self) -> int:
        """1 if something is refused, contradictory or misspelt; else 0, with or without risks."""
        bad = any(finding.severity is not Severity.RISK for finding in self.findings)
        return 1 if bad or any(setting.did_you_mean for setting in self.unknown) else 0

    def proofs(self) -> tuple[RuleProof, ...]:
        """The experiments that would show the findings, each once, with the arms of all findings (empty:
        all)."""
        wanted: dict[str, list[tuple[str, ...]]] = {}
        for finding in self.findings:
            if finding.experiment is not None:
                wanted.setdefault(finding.experiment, []).append(finding.arms)
        return tuple(
            RuleProof(name, () if () in arms else tuple(dict.fromkeys(arm for some in arms for arm in some)))
            for name, arms in wanted.items()
        )


def by_severity(findings: Iterable[AuditFinding]) -> tuple[AuditFinding, ...]:
    """The findings, the worst first."""
    return tuple(sorted(findings, key=lambda finding: _ORDER.index(finding.severity)))
