"""Commands for Kafka on Kubernetes."""

from __future__ import annotations

from typing import Annotated

import typer


def add(app: typer.Typer) -> None:
    """Add these commands to the command line."""
    app.command("chaos-mesh")(chaos_mesh)


def chaos_mesh(
    experiment: Annotated[str, typer.Argument(help="A built-in experiment or a YAML file.")],
    namespace: Annotated[str, typer.Option(help="Namespace of Kafka's pods.")] = "kafka",
    pod: Annotated[str, typer.Option(help="Name of a broker's pod, its id for {broker}.")] = "kafka-{broker}",
) -> None:
    """Print an experiment whose faults are custom resources of Chaos Mesh, applied with kubectl.

    Run what it prints with `run FILE --bootstrap-servers`: docs/how-to/own-cluster.md. A fault that Chaos
    Mesh has no equal for is refused.
    """
    from harness import chaos_mesh as mesh
    from harness import loading

    place = mesh.Place(namespace, pod)
    typer.echo(mesh.text_of(mesh.converted(loading.load(experiment), place)), nl=False)
