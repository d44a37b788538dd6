"""The `rainbow-agent` command."""

import asyncio
import os
import signal
import sys
from pathlib import Path
from typing import Any

import click
import structlog

from rainbow_agent import __version__
from rainbow_agent.app import Agent
from rainbow_agent.config import AgentSettings
from rainbow_agent.description import DescriptionError
from rainbow_agent.exits import (
    EXIT_CODES,
    EXIT_CONFIG,
    EXIT_FAILED,
    EXIT_IN_USE,
    EXIT_OK,
    EXIT_REFUSED,
    config_from_environment,
    give_up,
)
from rainbow_agent.journal import JournalError
from rainbow_agent.receive_cli import receive_command
from rainbow_agent.session import RefusedError
from rainbow_agent.site_cli import drain, resume, state
from rainbow_agent.site_file import SiteFileError
from rainbow_agent.state_dir import StateDir, StateDirError, StateDirInUseError
from rainbow_protocol.service.logs import set_up_logs
from rainbow_protocol.service.settings import ConfigError

log = structlog.get_logger()


@click.group(epilog=EXIT_CODES, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="rainbow-agent")
def cli() -> None:
    """Offer this cluster to a Rainbow daemon: bid on jobs, run those that are won, report back."""


@cli.command(epilog=EXIT_CODES)
@click.option("--config", type=click.Path(path_type=Path), help="YAML file with settings.")
@click.option("--daemon", help="Address of rainbowd: ws://HOST:PORT or wss://HOST:PORT.")
@click.option("--name", help="The cluster's name.")
@click.option("--secret-file", type=click.Path(path_type=Path), help="File with the cluster's secret, mode 0600.")
@click.option("--ca-file", type=click.Path(path_type=Path), help="Certificates to trust for wss://.")
@click.option("--state-dir", type=click.Path(path_type=Path), help="Where the journal and jobs' output live.")
@click.option("--workdir", type=click.Path(path_type=Path), help="Where jobs run that name no directory.")
@click.option("--nodes", type=int, help="Declared nodes of this cluster.")
@click.option("--cores-per-node", type=int, help="Declared cores of each node.")
@click.option("--gpus-per-node", type=int, help="Declared gpus of each node.")
@click.option("--nodes-json", type=click.Path(path_type=Path), help="Document that describes this cluster's resources.")
@click.option("--queue-max", type=int, help="How many jobs may wait here.")
@click.option("--log-level", help="debug, info, warning or error.")
@click.option("--log-format", help="auto, text or json.")
@click.option("--check-config", is_flag=True, help="Check the settings, say what they are, and stop.")
def run(config: Path | None, check_config: bool, **flags: Any) -> None:
    """Run the agent until it is told to stop (SIGTERM or Ctrl-C). Running jobs go on without it."""
    try:
        settings = AgentSettings.load(config or config_from_environment(), flags)
        settings.read_secret()
        settings.check_workdir()
        settings.check_nodes_json()
        settings.load_price_function()
    except ConfigError as cause:
        give_up(str(cause), EXIT_CONFIG)
    if check_config:
        click.echo(_summary(settings))
        return
    set_up_logs(settings.log_format, settings.log_level)
    sys.exit(_serve(settings))


for command in (drain, resume, state, receive_command):
    cli.add_command(command)


def main() -> None:
    # `rainbow-agent --check-config …` is what people try first; it means the same as `run --check-config …`.
    arguments = sys.argv[1:]
    if arguments and arguments[0] == "--check-config":
        arguments = ["run", *arguments]
    cli.main(args=arguments, prog_name="rainbow-agent")


def _serve(settings: AgentSettings) -> int:
    try:
        state_dir = StateDir(settings.state_dir)
    except StateDirInUseError as cause:
        give_up(str(cause), EXIT_IN_USE)
    except StateDirError as cause:
        give_up(str(cause), EXIT_CONFIG)
    if not os.access(settings.job_workdir(), os.W_OK):
        log.warning("jobs that name no directory cannot write in theirs", workdir=str(settings.job_workdir()))
    try:
        asyncio.run(_run(settings, state_dir))
    except (JournalError, SiteFileError, DescriptionError) as cause:
        give_up(str(cause), EXIT_CONFIG)
    except RefusedError as cause:
        give_up(str(cause), EXIT_REFUSED)
    except Exception:
        log.exception("the agent failed")
        return EXIT_FAILED
    finally:
        state_dir.close()
    return EXIT_OK


async def _run(settings: AgentSettings, state_dir: StateDir) -> None:
    agent = Agent(settings, state_dir)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, agent.stop)
    loop.add_signal_handler(signal.SIGHUP, agent.look_again)
    await agent.run()


def _summary(settings: AgentSettings) -> str:
    totals = settings.totals()
    return (
        f"ok: cluster {settings.name}, {totals.nodes} x {totals.cores_per_node} cores, "
        f"{totals.gpus_per_node} gpus a node; daemon {settings.daemon}; state in {settings.state_dir}"
    )
