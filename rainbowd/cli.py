"""The command `rainbowd`. Kept free of the daemon's heavy imports until they are needed."""

import asyncio
import sys
from pathlib import Path
from typing import Any

import click

from rainbow_protocol.service.logs import set_up_logs
from rainbow_protocol.service.settings import ConfigError
from rainbowd import __version__
from rainbowd.config import DaemonSettings
from rainbowd.policies import PolicyRefusedError, of_site

EXIT_FAILED, EXIT_CONFIG = 1, 2


@click.command(
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Exit codes: 0 stopped as asked, 1 could not start or go on, 2 wrong usage or configuration.",
)
@click.option("--config", type=click.Path(path_type=Path), help="YAML file with the settings.")
@click.option("--listen", help="host:port to listen on; port 0 takes any free one.")
@click.option("--database", type=click.Path(path_type=Path), help="SQLite file that holds all state.")
@click.option("--registration-secret-file", type=click.Path(path_type=Path), help="What clusters register with.")
@click.option("--ready-file", type=click.Path(path_type=Path), help="Gets the URL once sessions are accepted.")
@click.option("--log-format", type=click.Choice(["auto", "text", "json"]))
@click.option("--log-level", type=click.Choice(["debug", "info", "warning", "error"]))
@click.option("--check-config", is_flag=True, help="Check the settings, say what is wrong, and leave.")
@click.version_option(__version__, prog_name="rainbowd", message="%(prog)s %(version)s")
def main(config: Path | None, check_config: bool, **flags: Any) -> None:
    """The Rainbow daemon: auctions jobs among the clusters that are connected to it.

    Settings come from flags, then RAINBOW_* variables, then the file given with --config.
    """
    try:
        settings = DaemonSettings.load(config, flags)
        settings.read_registration_secret()
        if check_config:
            of_site(settings.policy, settings.policies_allowed, settings.policy_options)
    except (ConfigError, PolicyRefusedError) as problem:
        _leave(EXIT_CONFIG, str(problem))
    if check_config:
        click.echo("the configuration is valid")
        return
    set_up_logs(settings.log_format, settings.log_level)
    try:
        from rainbowd.app import StartRefusedError, run
        from rainbowd.store.db import DatabaseRefusedError
    except ModuleNotFoundError as missing:
        hint = "install the daemon's libraries: pip install 'rainbowd[daemon]'"
        _leave(EXIT_FAILED, f"the module {missing.name!r} is not installed; {hint}")
    try:
        asyncio.run(run(settings))
    except (StartRefusedError, DatabaseRefusedError, OSError) as problem:
        _leave(EXIT_FAILED, str(problem))


def _leave(code: int, words: str) -> None:
    for line in words.splitlines():
        click.echo(f"rainbowd: {line}", err=True)
    sys.exit(code)
