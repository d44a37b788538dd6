"""`rainbow delete cluster` and `rainbow delete subsystem`."""

from pathlib import Path

import click

from rainbow_client.cli.frame import Invocation, common_options
from rainbow_client.cli.json_lines import print_json
from rainbow_client.cli.registrar import secret_option, with_registrar
from rainbow_client.cli.screen import print_line


@click.group()
def delete() -> None:
    """Delete what was registered with the daemon."""


@delete.command()
@click.option("--force", is_flag=True, help="Even if jobs are assigned to it; they then count as lost.")
@secret_option
@common_options
@click.argument("name")
@click.pass_obj
def cluster(invocation: Invocation, force: bool, secret_file: Path | None, name: str) -> None:
    """Delete a cluster and all that is known of it. Its secret opens nothing any more; its users still see their jobs.

    Jobs that wait and could run nowhere else are rejected. Its agent is told to stop.
    """
    with_registrar(invocation, secret_file, lambda client: client.delete_cluster(name, force=force))
    if invocation.json:
        print_json({"cluster": name, "deleted": True})
        return
    print_line(f"Cluster {name} is deleted.")


@delete.command()
@click.option("--cluster", required=True, metavar="CLUSTER", help="The cluster that it belongs to.")
@secret_option
@common_options
@click.argument("name")
@click.pass_obj
def subsystem(invocation: Invocation, cluster: str, secret_file: Path | None, name: str) -> None:
    """Delete a subsystem of a cluster."""
    with_registrar(invocation, secret_file, lambda client: client.delete_subsystem(cluster, name))
    if invocation.json:
        print_json({"cluster": cluster, "subsystem": name, "deleted": True})
        return
    print_line(f"Subsystem {name} of {cluster} is deleted.")
