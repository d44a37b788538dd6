"""`rainbow clusters`."""

import click

from rainbow_client.cli.documents import cluster_document
from rainbow_client.cli.frame import Invocation, common_options, with_client
from rainbow_client.cli.json_lines import print_json
from rainbow_client.cli.screen import print_line, print_table, state_text


@click.command()
@common_options
@click.pass_obj
def clusters(invocation: Invocation) -> None:
    """List the clusters that you may use, with what they have and what is free."""
    found = [cluster_document(cluster) for cluster in with_client(invocation, lambda client: client.clusters())]
    if invocation.json:
        print_json(found)
        return
    if not found:
        print_line("No clusters. `rainbow register cluster NAME` makes one known to the daemon.")
        return
    print_table(
        ["CLUSTER", "STATE", ">NODES", ">CORES", ">GPUS", ">FREE CORES", ">FREE GPUS", ">RUNNING", ">QUEUED"],
        [
            (
                cluster["name"],
                state_text(cluster["state"]),
                *(_number(cluster[key]) for key in ("nodes", "cores", "gpus")),
                *(_number(cluster["free"].get(key)) for key in ("cores", "gpus", "running", "queued")),
            )
            for cluster in found
        ],
    )


def _number(value: int | None) -> str:
    return "-" if value is None else str(value)
