"""Which faults of a menu this machine can do."""

from __future__ import annotations

from harness.lab.explore.menu import ExploreMenu, experiment_of
from harness.many.docker_backend import DockerBackend, Feasibility
from harness.model.errors import BadInput
from harness.spec.fault_index import located_faults


def possible_faults(menu: ExploreMenu, backend: DockerBackend) -> tuple[ExploreMenu, dict[str, str]]:
    """The menu, in which the proxies cause what this kernel lacks; and the faults that are impossible
    nevertheless, each with the reason.

    Raises:
        BadInput: no fault of the menu is possible, or one that may not be left out is not.
        PrerequisiteMissing: no Java, no engine, no image.
    """
    alone = {fault.name: fault.alone() for fault in menu.faults}
    # With another version or image than the menu's own.
    refused = {name: why for name, trial in alone.items() if (why := menu.why_impossible(trial))}
    possible = [experiment_of(menu, trial, arm=name) for name, trial in alone.items() if name not in refused]
    feasibility = backend.feasibility(possible) if possible else Feasibility()
    left_out = refused | feasibility.impossible
    caused = {
        name: each.fault
        for name, (experiment, _) in feasibility.possible.items()
        for each in located_faults(experiment)
    }
    menu = menu.with_faults(caused)
    needed = [name for name in left_out if menu.fault(name).if_impossible == "refuse"]
    if needed or all(fault.name in left_out for fault in menu.faults):
        name = (needed or list(left_out))[0]
        what = f"the fault {name!r} is not" if needed else "no fault of the menu is"
        raise BadInput(
            f"{what} possible here",
            where=menu.name,
            found=left_out[name],
            next_step="leave it out; `kafka-chaos faults` lists what this machine can do",
        )
    return menu, left_out
