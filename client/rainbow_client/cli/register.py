"""`rainbow register cluster`."""

import os
from dataclasses import replace
from pathlib import Path

import click

from rainbow_client.cli.frame import Invocation, common_options, load, note
from rainbow_client.cli.json_lines import print_json
from rainbow_client.cli.options import naming_options
from rainbow_client.cli.screen import print_line, print_table
from rainbow_client.config import Config, ConfiguredCluster, read_config, write_config
from rainbow_client.config_search import find_file, user_config_path
from rainbow_client.errors import ConfigError, Unauthorized
from rainbow_client.requests import invalid
from rainbow_protocol.job import Totals

_HOW_TO_GIVE_IT = (
    "Give the secret of the daemon's registration_secret_file with --secret-file or $RAINBOW_REGISTRATION_SECRET."
)


@click.group()
def register() -> None:
    """Register with the daemon."""


@register.command()
@click.option("--nodes", type=int, metavar="N", help="Totals, so that jobs can wait for it before its agent is up.")
@click.option("--cores-per-node", type=int, metavar="N", default=1, show_default=True)
@click.option("--gpus-per-node", type=int, metavar="N", default=0, show_default=True)
@click.option(
    "--secret-file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="File with the registration secret.  [default: $RAINBOW_REGISTRATION_SECRET, then the configuration]",
)
@click.option("--save", is_flag=True, help="Add the cluster to the configuration file.")
@common_options
@click.argument("name")
@click.pass_obj
def cluster(
    invocation: Invocation,
    nodes: int | None,
    cores_per_node: int,
    gpus_per_node: int,
    secret_file: Path | None,
    save: bool,
    name: str,
) -> None:
    """Make a cluster known. Shows, this once, its secret (for its agent) and its token (for its users)."""
    import asyncio

    from rainbow_client.client import Client

    config = load(invocation)
    secret = _registration_secret(secret_file, config)
    with naming_options({key: f"--{key.replace('_', '-')}" for key in Totals.model_fields}):
        resources = _totals(nodes, cores_per_node, gpus_per_node)
    target = _save_target(invocation) if save else None

    async def register_it() -> ConfiguredCluster:
        try:
            async with Client(config.daemon, registration_secret=secret) as client:
                registered = await client.register_cluster(name, resources)
        except Unauthorized as refused:
            refused.hint = _HOW_TO_GIVE_IT
            raise
        return ConfiguredCluster(registered.cluster, registered.token, registered.secret)

    made = asyncio.run(register_it())
    if target is not None:
        saved = read_config(target) if target.exists() else replace(config, clusters=())
        write_config(target, saved.with_cluster(made))
    if invocation.json:
        saved_to = str(target) if target else None
        print_json({"cluster": made.name, "secret": made.secret, "token": made.token, "saved": saved_to})
        return
    print_line(f"Cluster {made.name} is registered. These are shown only now:")
    print_table(
        ["", "", ""],
        [
            ("secret", made.secret or "", "for its agent, to bid and to receive jobs"),
            ("token", made.token or "", "for its users, to submit"),
        ],
    )
    if target is not None:
        note(f"Saved in {target}.")


def _registration_secret(path: Path | None, config: Config) -> str:
    if path is not None:
        try:
            secret = path.read_text().strip()
        except (OSError, UnicodeDecodeError) as cause:
            words = cause.strerror if isinstance(cause, OSError) else "it is not text"
            raise ConfigError(f"{path}: cannot be read: {words}", "Name the file with --secret-file.") from None
        if not secret:
            raise ConfigError(f"{path}: is empty", "It must hold the registration secret.")
        return secret
    secret = os.environ.get("RAINBOW_REGISTRATION_SECRET", "") or config.registration_secret or ""
    if not secret:
        raise ConfigError(
            "registering needs the site's registration secret",
            "Give it with --secret-file, $RAINBOW_REGISTRATION_SECRET, or registration_secret in the configuration.",
        )
    return secret


def _totals(nodes: int | None, cores_per_node: int, gpus_per_node: int) -> Totals | None:
    if nodes is None:
        return None
    from pydantic import ValidationError

    try:
        return Totals(nodes=nodes, cores_per_node=cores_per_node, gpus_per_node=gpus_per_node)
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
