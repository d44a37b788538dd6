"""`rainbow up` and `rainbow down`: a federation on this machine."""

import asyncio
import os
import shlex
from pathlib import Path

import click

from rainbow_client.cli.frame import Invocation, common_options, note
from rainbow_client.cli.json_lines import print_json
from rainbow_client.cli.screen import print_line, print_table, styled
from rainbow_client.config_search import default_federation_dir
from rainbow_client.errors import FederationError, RainbowError
from rainbow_client.local.federation import CLUSTERS_MAX, Federation
from rainbow_client.local.interruption import Interruption
from rainbow_client.local.layout import DAEMON
from rainbow_client.local.processes import Process, reap
from rainbow_client.wording import count

CANCEL_S_MAX = 30.0

_directory = click.option(
    "--dir",
    "directory",
    type=click.Path(path_type=Path, file_okay=False),
    help="Where the federation lives.  [default: ~/.local/state/rainbow/local]",
)


@click.command()
@_directory
@click.option(
    "--clusters",
    type=click.IntRange(0, CLUSTERS_MAX),
    help="How many clusters there should be; 0 is the daemon alone.  [default: those that are there, or 3]",
)
@click.option("--detach", is_flag=True, help="Return when all is running, instead of staying until Ctrl-C.")
@common_options
@click.pass_obj
def up(invocation: Invocation, directory: Path | None, clusters: int | None, detach: bool) -> int:
    """Start a federation on this machine: a daemon, and clusters of different size and price.

    In a directory that has one already, whatever is not running is started again.
    """
    federation = _federation(directory, invocation)
    return asyncio.run(_up(federation, clusters, detach, invocation.json, standard=directory is None))


async def _up(federation: Federation, clusters: int | None, detach: bool, as_json: bool, standard: bool) -> int:
    interruption = Interruption()
    try:
        if not await interruption.spares(federation.up(clusters)):
            await federation.down(federation.started)
            return 130
    except RainbowError:
        # A federation that did not come up is not left half running; what ran before goes on.
        await federation.down(federation.started)
        raise
    await _show(federation, as_json, standard)
    if detach:
        return 0
    if not as_json:
        note("Ctrl-C stops it.")
    return await _stay(federation, interruption)


async def _show(federation: Federation, as_json: bool, standard: bool) -> None:
    path = federation.layout.client_config
    async with federation.client() as client:
        found = await client.clusters()
    if as_json:
        document = {
            "dir": str(federation.layout.root),
            "daemon": federation.config.daemon,
            "config": str(path),
            "clusters": [cluster.name for cluster in found],
            "started": [process.name for process in federation.started],
        }
        print_json(document)
        return
    started = {process.name for process in federation.started}
    rows = []
    for process in federation.running():
        what = (
            "the daemon"
            if process.name == DAEMON
            else next(
                (
                    f"{count(one.resources.nodes, 'node')} of {count(one.resources.cores_per_node, 'core')}"
                    + (f" and {count(one.resources.gpus_per_node, 'gpu')}" if one.resources.gpus_per_node else "")
                    for one in found
                    if one.name == process.name and one.resources
                ),
                "",
            )
        )
        rows.append((process.name, str(process.pid), "started" if process.name in started else "was running", what))
    print_table(["PROCESS", ">PID", "", "WHAT"], rows)
    print_line("")
    if not standard and Path.cwd() != federation.layout.root:
        print_line("Use it:   ", styled(f"export RAINBOW_CONFIG={shlex.quote(str(path))}", "bold"))
    print_line("Try:      ", styled("rainbow submit -n 2 -- hostname", "bold"))
    where = "" if standard else f" --dir {shlex.quote(str(federation.layout.root))}"
    print_line("Stop it:  ", styled(f"rainbow down{where}", "bold"))


async def _stay(federation: Federation, interruption: Interruption) -> int:
    """Until Ctrl-C, or until the daemon is gone. Then what this command started is stopped."""
    living = {asyncio.create_task(process.ended()): process for process in federation.running()}
    stop = asyncio.create_task(interruption.wait())
    daemon_gone = False
    while not stop.done() and not daemon_gone:
        await asyncio.wait({stop, *living}, return_when=asyncio.FIRST_COMPLETED)
        reap()
        for ended in [task for task in living if task.done()]:
            process = living.pop(ended)
            note(f"rainbow: {process.name} has stopped; `rainbow up` starts it again")
            daemon_gone = daemon_gone or process.name == DAEMON
    for task in (stop, *living):
        task.cancel()
    await _report_jobs(federation)
    await federation.down(federation.started)
    return 71 if daemon_gone else 0


@click.command()
@_directory
@click.option("--cancel-jobs", is_flag=True, help="Cancel the jobs that are not over, and wait for their end, first.")
@common_options
@click.pass_obj
def down(invocation: Invocation, directory: Path | None, cancel_jobs: bool) -> int:
    """Stop the federation: the agents, then the daemon. Jobs that run go on and are found again by `rainbow up`."""
    federation = _federation(directory, invocation)
    if not federation.exists:
        raise FederationError(f"there is no federation in {federation.layout.root}", "Name its directory with --dir.")
    stopped = asyncio.run(_down(federation, cancel_jobs))
    if invocation.json:
        print_json({"dir": str(federation.layout.root), "stopped": [process.name for process in stopped]})
    elif not stopped:
        print_line("Nothing was running.")
    return 0


async def _down(federation: Federation, cancel_jobs: bool) -> list[Process]:
    if cancel_jobs:
        left = await federation.cancel_jobs(CANCEL_S_MAX)
        if left:
            note(f"rainbow: {count(left, 'job')} did not end within {CANCEL_S_MAX:g} s and goes on")
    else:
        await _report_jobs(federation)
    return await federation.down()


async def _open_jobs(federation: Federation) -> list[str]:
    try:
        return await federation.open_jobs()
    except RainbowError as error:
        note(f"rainbow: the daemon does not tell whether jobs are still running: {error.message}")
        return []


async def _report_jobs(federation: Federation) -> None:
    jobs = await _open_jobs(federation)
    if jobs:
        note(
            f"rainbow: {count(len(jobs), 'job')} not over yet; what runs goes on, and `rainbow up` finds it again"
            " (`rainbow down --cancel-jobs` would end them)"
        )


def _federation(directory: Path | None, invocation: Invocation) -> Federation:
    root = directory or default_federation_dir(os.environ)
    return Federation(root, (lambda _: None) if invocation.json else (lambda words: print_line(words)))
