"""`rainbow up` and `rainbow down`: a federation on this machine."""

import asyncio
import os
import shlex
import signal
from contextlib import suppress
from pathlib import Path

import click

from rainbow_client.cli.frame import Invocation, common_options, note
from rainbow_client.cli.json_lines import print_json
from rainbow_client.cli.screen import print_line, print_table, styled
from rainbow_client.config_search import default_federation_dir
from rainbow_client.errors import FederationError, RainbowError
from rainbow_client.local.federation import CLUSTERS_MAX, Federation
from rainbow_client.local.layout import DAEMON
from rainbow_client.local.processes import Process, reap
from rainbow_client.wording import count
from rainbow_protocol.job import JOB_STATES, TERMINAL_STATES

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
    interrupted = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, interrupted.set)
    starting = asyncio.create_task(federation.up(clusters))
    stop = asyncio.create_task(interrupted.wait())
    await asyncio.wait({starting, stop}, return_when=asyncio.FIRST_COMPLETED)
    try:
        if not starting.done():
            starting.cancel()
            await asyncio.wait({starting})
            await federation.down(federation.started)
            return 130
        await starting
    except BaseException:
        # A federation that did not come up is not left half running; what ran before stays.
        await federation.down(federation.started)
        raise
    finally:
        if starting.done() and not stop.done() and detach:
            stop.cancel()
    await _show(federation, as_json, standard)
    if detach:
        return 0
    if not as_json:
        note("Ctrl-C stops it.")
    return await _stay(federation, stop, as_json)


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


async def _stay(federation: Federation, stop: "asyncio.Task[bool]", as_json: bool) -> int:
    """Until Ctrl-C, or until the daemon is gone."""
    living = {asyncio.create_task(process.ended()): process for process in federation.running()}
    code = 0
    while not stop.done():
        await asyncio.wait({stop, *living}, return_when=asyncio.FIRST_COMPLETED)
        reap()
        for ended in [task for task in living if task.done()]:
            process = living.pop(ended)
            note(f"rainbow: {process.name} has stopped; `rainbow up` starts it again")
            if process.name == DAEMON:
                stop.cancel()
                code = 71
                with suppress(asyncio.CancelledError):
                    await stop
    for task in living:
        task.cancel()
    await _report_jobs(federation)
    await federation.down(federation.started)
    return code


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
        await cancel_all(federation)
    else:
        await _report_jobs(federation)
    return await federation.down()


async def open_jobs(federation: Federation) -> list[str] | None:
    """The jobs that are not over; None if there is no daemon to tell."""
    if not any(process.name == DAEMON for process in federation.running()):
        return None
    states = [state for state in JOB_STATES if state not in TERMINAL_STATES]
    try:
        async with federation.client() as client:
            return [status.job for status in await client.jobs(states=states, limit=10_000)]
    except RainbowError as error:
        note(f"rainbow: the daemon does not tell whether jobs are still running: {error.message}")
        return None


async def cancel_all(federation: Federation) -> None:
    jobs = await open_jobs(federation)
    if not jobs:
        return
    async with federation.client() as client:
        await client.cancel(jobs)
        try:
            async with asyncio.timeout(CANCEL_S_MAX):
                await client.wait(jobs)
        except TimeoutError:
            note(f"rainbow: some jobs did not end within {CANCEL_S_MAX:g} s; they are left to their clusters")


async def _report_jobs(federation: Federation) -> None:
    jobs = await open_jobs(federation)
    if jobs:
        note(
            f"rainbow: {count(len(jobs), 'job')} not over yet; what runs goes on, and `rainbow up` finds it again"
            " (`rainbow down --cancel-jobs` would end them)"
        )


def _federation(directory: Path | None, invocation: Invocation) -> Federation:
    root = directory or default_federation_dir(os.environ)
    return Federation(root, (lambda _: None) if invocation.json else (lambda words: print_line(words)))
