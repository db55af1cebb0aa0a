"""What a report says of the user's programs that a run has started."""

from __future__ import annotations

from harness.model.program_meta import ProgramMeta
from harness.model.run import RunMeta
from harness.report.page.blocks import Table, grid
from harness.report.run_times import since_start
from harness.report.workload_words import WorkloadWords


def programs_table(meta: RunMeta) -> Table:
    """The programs, how each ended, and what it printed last."""
    rows = (
        {
            "program": program.name,
            "from": since_start(program.started_ns, meta) if program.started_ns else "not started",
            "to": "" if program.ended_ns is None else since_start(program.ended_ns, meta),
            "its end": _end(program),
            "output": f"{program.output}",
            "last lines": "\n".join(line.strip() for line in program.last_lines.split("\n")),
        }
        for program in meta.programs
    )
    return Table(*grid(rows), title="Programs that the run started", cards=True)


def _end(program: ProgramMeta) -> str:
    if not program.started_ns:
        return "it could not be started"
    if program.ended_ns is None:
        return "it was running"
    return f"{'by the run' if program.stopped else 'by itself'}, code {program.code}"


PROGRAMS = WorkloadWords("programs", events=lambda meta: (programs_table(meta),))
