"""`rainbow register cluster` and `rainbow register subsystem`."""

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rainbow_client.cli.frame import Invocation, common_options, note
from rainbow_client.cli.json_lines import print_json
from rainbow_client.cli.options import naming_options
from rainbow_client.cli.registrar import DOCUMENT, Meter, document_source, secret_option, with_registrar
from rainbow_client.cli.screen import print_line, print_table, print_words
from rainbow_client.config import ConfiguredCluster, read_config, write_config
from rainbow_client.config_search import find_file, user_config_path
from rainbow_client.errors import ConfigError
from rainbow_client.printable import printable
from rainbow_client.requests import invalid
from rainbow_protocol.amounts import amount_words
from rainbow_protocol.job import Totals

if TYPE_CHECKING:
    from rainbow_client.client import Client
    from rainbow_protocol.messages.client import Registered


@click.group()
def register() -> None:
    """Register with the daemon, or describe anew what is registered."""


@register.command()
@click.option(
    "--nodes-json",
    "document",
    type=DOCUMENT,
    metavar="FILE",
    help="What the cluster has: a graph, Flux's R, a list of nodes, or limits; - reads standard input.",
)
@click.option("--nodes", type=int, metavar="N", help="Totals, so that jobs can wait for it before its agent is up.")
@click.option("--cores-per-node", type=int, metavar="N", help="Cores of each of them.  [default: 1]")
@click.option("--gpus-per-node", type=int, metavar="N", help="GPUs of each of them.  [default: 0]")
@secret_option
@click.option("--save", is_flag=True, help="Add the cluster to the configuration file.")
@common_options
@click.argument("name")
@click.pass_obj
def cluster(
    invocation: Invocation,
    document: Path | None,
    nodes: int | None,
    cores_per_node: int | None,
    gpus_per_node: int | None,
    secret_file: Path | None,
    save: bool,
    name: str,
) -> None:
    """Make a cluster known. Shows, this once, its secret (for its agent) and its token (for its users).

    A cluster that is registered already gets the new description and keeps its secret and token.
    """
    if document is not None and nodes is not None:
        raise click.UsageError("give --nodes-json or --nodes, not both")
    if nodes is None:
        for option, given in (("--cores-per-node", cores_per_node), ("--gpus-per-node", gpus_per_node)):
            if given is not None:
                raise click.UsageError(f"{option} needs --nodes: without it nothing says how many nodes there are")
    with naming_options({key: f"--{key.replace('_', '-')}" for key in Totals.model_fields}):
        resources = _totals(nodes, cores_per_node, gpus_per_node)
    target = _save_target(invocation) if save else None
    meter = Meter()

    async def register_it(client: "Client") -> "Registered":
        try:
            return await client.register_cluster(name, resources, document=document_source(document), on_progress=meter)
        finally:
            meter.done()

    made, config = with_registrar(invocation, secret_file, register_it)
    if made.secret is None or made.token is None:
        target = None  # nothing new to be saved
    elif target is not None:
        saved = read_config(target) if target.exists() else replace(config, clusters=())
        write_config(target, saved.with_cluster(ConfiguredCluster(made.cluster, made.token, made.secret)))
    if invocation.json:
        known = {"cluster": made.cluster, "secret": made.secret, "token": made.token}
        saved_to = str(target) if target else None
        print_json(known | {"saved": saved_to, "counts": made.counts, "warnings": made.warnings})
        return
    _tell(made)
    if target is not None:
        note(f"Saved in {target}.")


@register.command()
@click.option("--cluster", required=True, metavar="CLUSTER", help="The cluster that it belongs to.")
@click.option(
    "--nodes-json",
    "document",
    type=DOCUMENT,
    required=True,
    metavar="FILE",
    help="Its graph, whose edges attach it to the cluster's vertices; - reads standard input.",
)
@secret_option
@common_options
@click.argument("name")
@click.pass_obj
def subsystem(invocation: Invocation, cluster: str, document: Path, secret_file: Path | None, name: str) -> None:
    """Attach a subsystem (io, spack, os…) to a cluster, in the place of the one that has this name."""
    meter = Meter()

    async def register_it(client: "Client") -> "Registered":
        try:
            return await client.register_subsystem(cluster, name, document_source(document), on_progress=meter)
        finally:
            meter.done()

    made, _ = with_registrar(invocation, secret_file, register_it)
    if invocation.json:
        print_json({"cluster": made.cluster, "subsystem": name, "warnings": made.warnings})
        return
    _warn(made)
    print_line(f"Subsystem {name} is attached to {made.cluster}.")


def _tell(made: "Registered") -> None:
    _warn(made)
    has = ", ".join(amount_words(kind, amount) for kind, amount in made.counts.items())
    described = f" It has {has}." if has else ""
    if made.secret is None:
        print_words(f"Cluster {made.cluster} is described anew; its secret and token stay the same.{described}")
        return
    print_words(f"Cluster {made.cluster} is registered.{described} These are shown only now:")
    print_table(
        ["", "", ""],
        [
            ("secret", made.secret, "for its agent, to bid and to receive jobs"),
            ("token", made.token or "", "for its users, to submit"),
        ],
    )


def _warn(made: "Registered") -> None:
    for warning in made.warnings:
        note(f"warning: {printable(warning)}")


def _totals(nodes: int | None, cores_per_node: int | None, gpus_per_node: int | None) -> Totals | None:
    if nodes is None:
        return None
    from pydantic import ValidationError

    try:
        cores = 1 if cores_per_node is None else cores_per_node
        return Totals(nodes=nodes, cores_per_node=cores, gpus_per_node=gpus_per_node or 0)
    except ValidationError as cause:
        raise invalid(cause) from None


def _save_target(invocation: Invocation) -> Path:
    """Where --save writes; told before the registration, so that its secret is never lost for want of a place."""
    target = find_file(invocation.config, os.environ, Path.cwd()) or user_config_path(os.environ)
    if target.exists():
        read_config(target)
    if not os.access(target if target.exists() else _nearest_directory(target), os.W_OK):
        raise ConfigError(f"{target}: cannot be written", "Name another file with --config.")
    return target


def _nearest_directory(path: Path) -> Path:
    return next(parent for parent in path.absolute().parents if parent.exists())
