"""`rainbow-agent receive`: for sites that cannot keep an agent running."""

import asyncio
import json
import signal
from collections import Counter
from pathlib import Path

import click
import structlog

from rainbow_agent.app import Agent
from rainbow_agent.config import AgentSettings
from rainbow_agent.description import DescriptionError
from rainbow_agent.exits import (
    EXIT_CODES,
    EXIT_CONFIG,
    EXIT_FAILED,
    EXIT_IN_USE,
    EXIT_REFUSED,
    config_from_environment,
    give_up,
)
from rainbow_agent.job_filter import NAMES, FilterError, JobFilter
from rainbow_agent.journal import JournalError
from rainbow_agent.received_jobs import LISTED_MAX, Entry
from rainbow_agent.receiving import Mode, Receiving, UnreachableError, receive
from rainbow_agent.session import RefusedError
from rainbow_agent.site_file import SiteFileError
from rainbow_agent.state_dir import StateDir, StateDirError, StateDirInUseError
from rainbow_protocol.service.logs import set_up_logs
from rainbow_protocol.service.settings import ConfigError

WAIT_S = 10.0
WAIT_S_MAX = 24 * 3600.0
JOBS_MAX = 1_000_000

log = structlog.get_logger()
_Count = click.IntRange(1, JOBS_MAX)


@click.command("receive", epilog=EXIT_CODES)
@click.option("--config", type=click.Path(path_type=Path), help="YAML file with settings.")
@click.option("--state-dir", type=click.Path(path_type=Path), help="Where the journal and jobs' output live.")
@click.option("--max-jobs", type=_Count, help="Take, or list, at most so many.")
@click.option("--filter", "wanted", help=f"Only jobs for which this is true; it knows {', '.join(NAMES)}.")
@click.option("--accept", type=_Count, help="Accept so many and run none: a later receive or run does.")
@click.option("--no-run", is_flag=True, help="Only list what is offered and assigned. Nothing is taken.")
@click.option(
    "--wait",
    "wait_s",
    type=click.FloatRange(0, WAIT_S_MAX, min_open=True),
    default=WAIT_S,
    show_default=True,
    help="Leave when no new job came for so many seconds.",
)
@click.option("--json", "as_json", is_flag=True, help="For programs: one JSON object.")
def receive_command(
    config: Path | None,
    state_dir: Path | None,
    max_jobs: int | None,
    wanted: str | None,
    accept: int | None,
    no_run: bool,
    wait_s: float,
    as_json: bool,
) -> None:
    """Connect once, take the jobs that come, run them, wait for their end, and leave.

    Jobs that an earlier one accepted, or left running, are looked after too.
    """
    try:
        settings = AgentSettings.load(config or config_from_environment(), {"state_dir": state_dir})
        settings.read_secret()
        settings.check_workdir()
        settings.check_nodes_json()
        settings.load_price_function()
        filtered = None if wanted is None else JobFilter(wanted)
    except (ConfigError, FilterError) as cause:
        give_up(str(cause), EXIT_CONFIG)
    if accept is not None and max_jobs is not None:
        give_up("give --accept N or --max-jobs N, not both: each says how many", EXIT_CONFIG)
    mode: Mode = "accept" if accept is not None else "look" if no_run else "run"
    set_up_logs(settings.log_format, settings.log_level)
    receiving = Receiving(mode, settings.totals(), accept or max_jobs, filtered)
    cluster = _serve(settings, receiving, wait_s)
    entries = receiving.jobs.entries()
    if as_json:
        click.echo(json.dumps({"cluster": cluster, "jobs": entries, "left_off": receiving.jobs.left_off}))
    else:
        _show(entries, receiving.jobs.left_off)


def _serve(settings: AgentSettings, receiving: Receiving, wait_s: float) -> str:
    try:
        state_dir = StateDir(settings.state_dir)
    except StateDirInUseError as cause:
        give_up(str(cause), EXIT_IN_USE)
    except StateDirError as cause:
        give_up(str(cause), EXIT_CONFIG)
    try:
        return asyncio.run(_run(settings, state_dir, receiving, wait_s))
    except (JournalError, SiteFileError, DescriptionError) as cause:
        give_up(str(cause), EXIT_CONFIG)
    except RefusedError as cause:
        give_up(str(cause), EXIT_REFUSED)
    except UnreachableError as cause:
        give_up(f"{cause}; is {settings.daemon} the right address?", EXIT_FAILED)
    except Exception:
        log.exception("the agent failed")
        raise SystemExit(EXIT_FAILED) from None
    finally:
        state_dir.close()


async def _run(settings: AgentSettings, state_dir: StateDir, receiving: Receiving, wait_s: float) -> str:
    agent = Agent(settings, state_dir, receiving)
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, agent.stop)
    living = asyncio.create_task(agent.run())
    errand = asyncio.create_task(receive(agent, receiving, wait_s))
    await asyncio.wait({living, errand}, return_when=asyncio.FIRST_COMPLETED)
    agent.stop()
    errand.cancel()
    results = await asyncio.gather(living, errand, return_exceptions=True)
    for result in results:
        if isinstance(result, Exception):
            raise result
    return agent.name


def _show(entries: list[Entry], left_off: int) -> None:
    for entry in entries:
        kinds = [kind for kind in ("node", "core", "gpu") if entry[f"{kind}s"]]
        size = ", ".join(_count(entry[f"{kind}s"], kind) for kind in kinds)
        code = "" if entry["exit_code"] is None else f"  exit code {entry['exit_code']}"
        reason = f"  ({entry['reason']})" if entry["reason"] else ""
        click.echo(f"{entry['job']}  {entry['state']:<10} {entry['user'] or '-':<12} {size}{code}{reason}")
    states = Counter(entry["state"] for entry in entries)
    told = ", ".join(f"{count} {state}" for state, count in sorted(states.items()))
    click.echo(f"{_count(len(entries), 'job')}: {told}" if entries else "no jobs came")
    if left_off:
        click.echo(f"and {left_off} more than the {LISTED_MAX} that are listed")


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
