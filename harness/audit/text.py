"""An audit as text."""

from __future__ import annotations

from collections.abc import Iterator

from harness.audit.audit import Audit, AuditFinding

_NOTHING = "no contradictions, and no setting that is known to lose records"


def lines(audit: Audit) -> Iterator[str]:
    """The lines of an audit: the promise of each setting, then the findings, the worst first."""
    yield f"read as settings of the client {audit.client} (--client names another one)"
    yield ""
    for setting in audit.settings:
        yield f"{setting.name}={setting.value}"
        if setting.promise is not None:
            yield f"    {setting.promise}"
            yield f"    [{setting.source}]"
    quiet = sum(1 for setting in audit.settings if setting.promise is None)
    if quiet:
        yield f"({quiet} of them promise nothing about records)"
    for unknown in audit.unknown:
        yield ""
        meant = f"; did you mean {unknown.did_you_mean!r}?" if unknown.did_you_mean else ""
        yield f"UNKNOWN {unknown.name} ({unknown.where}): {unknown.says}{meant}"
    for finding in audit.findings:
        yield ""
        yield from _finding(finding)
    if not audit.findings and not audit.unknown:
        yield ""
        yield _NOTHING


def _finding(one: AuditFinding) -> Iterator[str]:
    yield f"{one.severity.upper()} {one.rule}: {one.says}"
    yield "    " + ", ".join(f"{name}={value}" for name, value in one.settings.items())
    yield f"    do: {one.do}"
    yield f"    source: {one.source}"
    if one.experiment is not None:
        arms = "".join(f" --arm {arm}" for arm in one.arms)
        shows = f" (findings of class {one.finding})" if one.finding else ""
        yield f"    shown by: kafka-chaos run {one.experiment}{arms}{shows}"
    elif one.finding is not None:
        yield f"    would show as: {one.finding}"
