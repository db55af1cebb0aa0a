"""An audit as text."""

from __future__ import annotations

from collections.abc import Iterator

from harness.model.defaults import DEFAULT_VERSION
from harness.tools.audit.audit_result import Audit, AuditFinding
from harness.tools.audit.kafka_version import NEWEST, OLDEST, read_version


def lines(found: Audit) -> Iterator[str]:
    """What was read, the promise of each setting, then the findings, the worst first. Of several files each
    setting has the one that it stands in, and its line there."""
    yield from found.read
    several = sum(line.startswith("read ") for line in found.read) > 1
    newer = (
        ""
        if read_version(found.kafka) <= NEWEST
        else f", of which only changes up to {DEFAULT_VERSION} are known"
    )
    by = f"of {found.kafka_from}; " if found.kafka_from else ""
    yield f"for Kafka {found.kafka} ({by}--kafka-version names another one, from {OLDEST} on){newer}"
    yield ""
    whose = None
    for setting in found.settings:
        if setting.of != whose:
            whose = setting.of
            yield f"{whose or 'the rest'}:"
        located = several or setting.where.startswith("the default of")
        yield f"{setting.name}={setting.value}" + (f"  ({setting.where})" if located else "")
        if setting.promise is not None:
            yield f"    {setting.promise}"
            yield f"    [{setting.source}]"
    quiet = sum(1 for setting in found.settings if setting.promise is None)
    if quiet:
        yield f"({quiet} of them promise nothing about records)"
    for unknown in found.unknown:
        yield ""
        meant = f"; did you mean {unknown.did_you_mean!r}?" if unknown.did_you_mean else ""
        yield f"UNKNOWN {unknown.name} ({unknown.where}): {unknown.says}{meant}"
    for finding in found.findings:
        yield ""
        yield from _finding_lines(finding, several)
    if not found.findings and not found.unknown:
        yield ""
        rest = " in what was given" if found.notes else ", and no setting that is known to lose records"
        yield f"no contradictions{rest}"
    for note in found.notes:
        yield ""
        yield f"NOTE {note}"


def _finding_lines(one: AuditFinding, several: bool) -> Iterator[str]:
    yield f"{one.severity.upper()} {one.rule}{f' ({one.of})' if one.of else ''}: {one.says}"
    where = {name: f" ({where})" for name, where in one.where.items()} if several else {}
    yield "    " + ", ".join(f"{name}={value}{where.get(name, '')}" for name, value in one.settings.items())
    yield f"    do: {one.do}"
    yield f"    source: {one.source}"
    if one.versions is not None:
        yield f"    versions: {one.versions}"
    if one.experiment is not None:
        arms = "".join(f" --arm {arm}" for arm in one.arms)
        shows = f" (findings of class {one.finding})" if one.finding else ""
        yield f"    shown by: kafka-chaos run {one.experiment}{arms}{shows}"
    elif one.finding is not None:
        yield f"    would show as: {one.finding}"
