"""How an application's outputs name their inputs: from the experiment to the function that finds them."""

from __future__ import annotations

from harness.model.errors import BadInput
from harness.spec.application import ApplicationSpec, CallableIdentity, HeaderIdentity, JsonIdentity
from workloads.outputs.output_identity import OutputIdentity


def identity_of(spec: ApplicationSpec) -> OutputIdentity:
    """What maps the outputs of an application to their inputs.

    Raises:
        BadInput: the path cannot be read, the function cannot be imported, or a table has no headers.
    """
    match spec.identity:
        case HeaderIdentity():
            if spec.output.table is not None:
                raise BadInput(
                    "an application's outputs cannot name their inputs in a header",
                    where="application.identity.header",
                    expected="value, key, json or callable, since the output is a table",
                    found=f"header {spec.identity.header}",
                    next_step="write the identity into a column, and name it with json or callable",
                )
            return OutputIdentity("header", spec.identity.header)
        case JsonIdentity():
            return OutputIdentity("json", spec.identity.json_)
        case CallableIdentity():
            return OutputIdentity("callable", spec.identity.callable)
    return OutputIdentity(spec.identity)
