"""An application under test in the words of a plan."""

from __future__ import annotations

from workloads.applications.application_spec import ApplicationSpec


def describe_application(application: ApplicationSpec) -> str:
    """An application under test in words, on one line."""
    run = application.run
    if run.container is not None:
        what = f"container {run.container.image}"
    elif run.builtin is not None:
        what = f"built-in {run.builtin}"
    else:
        what = f"process {' '.join(run.process or ())}"
    instances = f"{application.instances} instances of " if application.instances > 1 else ""
    group = f", group {application.group}" if application.group is not None else ""
    output = "a topic" if application.output.table is None else f"a table ({application.output.table})"
    if application.output.cluster is not None:
        output += ", with a second cluster"
    given = application.input
    source = f", reads {given.file or given.http}" if given is not None else ""
    return f"{instances}{what}{group}{source}, writes {output}, {application.guarantee}"
