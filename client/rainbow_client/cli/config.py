"""`rainbow config init` and `rainbow config add-cluster`."""

import os
import sys
from dataclasses import replace
from pathlib import Path

import click

from rainbow_client.cli.frame import Invocation, common_options, note
from rainbow_client.cli.json_lines import print_json
from rainbow_client.cli.screen import print_line
from rainbow_client.config import Config, ConfiguredCluster, daemon_url, read_config, write_config
from rainbow_client.config_search import find_file, user_config_path
from rainbow_client.errors import ConfigError

_token_file = click.option(
    "--token-file",
    type=click.Path(path_type=Path, dir_okay=False, allow_dash=True),
    help="The file with the cluster's token; - is stdin.",
)


@click.group()
def config() -> None:
    """The configuration of this command."""


@config.command()
@click.option("--daemon", metavar="URL", help="The daemon's address.  [default: $RAINBOW_DAEMON]")
@click.option("--cluster", "name", metavar="NAME", help="The cluster that the token belongs to.")
@_token_file
@click.option("--force", is_flag=True, help="Replace a file that exists.")
@common_options
@click.pass_obj
def init(invocation: Invocation, daemon: str | None, name: str | None, token_file: Path | None, force: bool) -> None:
    """Write a configuration file (mode 0600): --config FILE, or the one in your configuration directory."""
    target = invocation.config or Path(os.environ.get("RAINBOW_CONFIG") or user_config_path(os.environ))
    address = daemon or os.environ.get("RAINBOW_DAEMON")
    if not address:
        raise click.UsageError("Name the daemon with --daemon ws://HOST:PORT.")
    if (name is None) != (token_file is None):
        raise click.UsageError("--cluster and --token-file go together.")
    if target.exists() and not force:
        raise ConfigError(
            f"{target}: exists already", "Add to it with `rainbow config add-cluster`, or replace it with --force."
        )
    clusters = (ConfiguredCluster(name, _token(token_file)),) if name and token_file else ()
    written = Config(daemon_url(address, "--daemon"), clusters=clusters)
    write_config(target, written)
    if invocation.json:
        print_json({"config": str(target), "daemon": written.daemon})
        return
    print_line(f"Wrote {target}.")
    if not clusters:
        note("Add your clusters' tokens with `rainbow config add-cluster NAME --token-file FILE`.")


@config.command("add-cluster")
@_token_file
@common_options
@click.argument("name")
@click.pass_obj
def add_cluster(invocation: Invocation, token_file: Path | None, name: str) -> None:
    """Add a cluster's token to the configuration file; one of the same name gets the new token."""
    if token_file is None:
        raise click.UsageError("Name the token's file with --token-file; - is stdin.")
    target = find_file(invocation.config, os.environ, Path.cwd())
    if target is None or not target.exists():
        raise ConfigError("there is no configuration to add to", "`rainbow config init --daemon URL` writes one.")
    known = read_config(target)
    before = next((cluster for cluster in known.clusters if cluster.name == name), ConfiguredCluster(name))
    write_config(target, known.with_cluster(replace(before, token=_token(token_file))))
    if invocation.json:
        print_json({"config": str(target), "cluster": name})
        return
    print_line(f"{target} has the token of {name}; `rainbow clusters` shows whether the daemon knows it.")


def _token(path: Path) -> str:
    try:
        text = sys.stdin.readline() if str(path) == "-" else path.read_text()
    except (OSError, UnicodeDecodeError) as cause:
        words = cause.strerror if isinstance(cause, OSError) else "it is not text"
        raise ConfigError(f"{path}: cannot be read: {words}", "Name a file that holds the token.") from None
    if not text.strip():
        raise ConfigError(f"{path}: is empty", "It must hold the cluster's token.")
    return text.strip()
