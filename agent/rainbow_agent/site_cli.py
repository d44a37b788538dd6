"""`rainbow-agent drain`, `resume` and `state`: the site's people, to the agent of this account, running or not."""

import json
import math
import os
import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import click
from pydantic import ValidationError

from rainbow_agent.config import AgentSettings
from rainbow_agent.control import socket_address
from rainbow_agent.core.site_state import Value
from rainbow_agent.exits import EXIT_CONFIG, EXIT_FAILED, config_from_environment, give_up
from rainbow_agent.site_file import SITE_KEYS_MAX, SiteFile, SiteFileError
from rainbow_agent.site_orders import Drain, Order, OrderError, Resume, SetKeys, Show, Shown, UnsetKeys, obey
from rainbow_agent.state_dir import StateDir, StateDirError, StateDirInUseError
from rainbow_protocol.service.settings import ConfigError

ANSWER_BYTES_MAX = 1024 * 1024
ANSWER_TIMEOUT_S = 10.0
TRIES_MAX = 20  # an agent that has just begun holds its directory before it listens
TRY_AGAIN_S = 0.25

_CODES = """
\b
Exit codes:
  0  done
  1  the agent refused, or did not answer
  2  wrong usage or configuration, or an unusable state directory
"""


def _where(command: Callable[..., Any]) -> Callable[..., Any]:
    command = click.option("--state-dir", type=click.Path(path_type=Path), help="The agent's state directory.")(command)
    return click.option("--config", type=click.Path(path_type=Path), help="The agent's YAML file.")(command)


@click.command(epilog=_CODES)
@click.option("--reason", required=True, help="Why, in words that users will read.")
@_where
def drain(reason: str, config: Path | None, state_dir: Path | None) -> None:
    """Take no new jobs. What runs and waits here goes on. It holds until `rainbow-agent resume`, restarts included."""
    shown = _give(_checked(lambda: Drain(reason=reason)), config, state_dir)
    click.echo(f"draining: {shown.draining}{_when(shown)}")


@click.command(epilog=_CODES)
@_where
def resume(config: Path | None, state_dir: Path | None) -> None:
    """Take new jobs again."""
    click.echo(f"taking jobs{_when(_give(Resume(), config, state_dir))}")


@click.group(invoke_without_command=True, epilog=_CODES)
@click.option("--json", "as_json", is_flag=True, help="For programs: one JSON object.")
@_where
@click.pass_context
def state(context: click.Context, as_json: bool, config: Path | None, state_dir: Path | None) -> None:
    """Show what the daemon is told of this cluster, or set keys of its own, which policies see."""
    context.obj = (config, state_dir)
    if context.invoked_subcommand is None:
        _show(_give(Show(), config, state_dir), as_json)


@state.command("set", epilog=_CODES)
@click.argument("pairs", metavar="KEY=VALUE...", nargs=-1, required=True)
@_where
@click.pass_context
def set_keys(context: click.Context, pairs: tuple[str, ...], config: Path | None, state_dir: Path | None) -> None:
    """Set keys: numbers, true, false, or text. They stay until they are unset."""
    keys = dict(_pair(pair) for pair in pairs)
    _show(_give(_checked(lambda: SetKeys(keys=keys)), *_either(context, config, state_dir)), as_json=False)


@state.command("unset", epilog=_CODES)
@click.argument("keys", metavar="KEY...", nargs=-1, required=True)
@_where
@click.pass_context
def unset_keys(context: click.Context, keys: tuple[str, ...], config: Path | None, state_dir: Path | None) -> None:
    """Remove keys that were set here."""
    _show(_give(_checked(lambda: UnsetKeys(keys=list(keys))), *_either(context, config, state_dir)), as_json=False)


def _either(context: click.Context, config: Path | None, state_dir: Path | None) -> tuple[Path | None, Path | None]:
    """The options may stand before `set` or after it."""
    above_config, above_state_dir = context.obj
    return config or above_config, state_dir or above_state_dir


def _pair(text: str) -> tuple[str, Value]:
    key, equals, value = text.partition("=")
    if not equals or not key:
        give_up(f"{text!r} is not KEY=VALUE, such as cost_per_node_hour=1.5", EXIT_CONFIG)
    return key, _value(value)


def _value(text: str) -> Value:
    if text in ("true", "false"):
        return text == "true"
    for kind in (int, float):
        try:
            number = kind(text)
        except ValueError:
            continue
        if math.isfinite(number):
            return number
    return text


def _checked(make: Callable[[], Order]) -> Order:
    try:
        return make()
    except ValidationError as cause:
        first = cause.errors(include_url=False)[0]
        where = first["loc"]
        if first["type"] == "too_long":
            give_up(f"at most {SITE_KEYS_MAX} keys", EXIT_CONFIG)
        if first["type"] == "string_pattern_mismatch" and (where[-1] == "[key]" or isinstance(where[-1], int)):
            rule = "a key is letters, digits and underscores, and does not begin with a digit"
            give_up(f"{first['input']!r}: {rule}", EXIT_CONFIG)
        give_up(f"{'.'.join(str(part) for part in where[:2])}: {first['msg']}", EXIT_CONFIG)


# --- to the agent, or to its file


def _give(order: Order, config: Path | None, state_dir: Path | None) -> Shown:
    try:
        directory = AgentSettings.load(config or config_from_environment(), {"state_dir": state_dir}).state_dir
    except ConfigError as cause:
        give_up(str(cause), EXIT_CONFIG)
    _check_owner(directory)
    for _ in range(TRIES_MAX):
        shown = _ask(directory, order)
        if shown is None:
            shown = _write(directory, order)
        if shown is not None:
            return shown
        time.sleep(TRY_AGAIN_S)
    return _no_answer(f"the agent that uses {directory} does not listen; stop it, do this, and start it again")


def _check_owner(directory: Path) -> None:
    if directory.exists() and directory.stat().st_uid != os.geteuid():
        owner = directory.stat().st_uid
        give_up(
            f"{directory} belongs to another account (uid {owner}); run this as that one: sudo -u '#{owner}' …",
            EXIT_CONFIG,
        )


def _ask(directory: Path, order: Order) -> Shown | None:
    """None if nobody listens there."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as talk:
        talk.settimeout(ANSWER_TIMEOUT_S)
        try:
            with socket_address(directory) as address:
                talk.connect(address)
        except (FileNotFoundError, ConnectionRefusedError):
            return None
        except OSError as cause:
            _no_answer(f"the agent's socket in {directory} cannot be used: {cause.strerror}")
        try:
            talk.sendall(order.model_dump_json().encode() + b"\n")
            with talk.makefile("rb") as answers:
                line = answers.readline(ANSWER_BYTES_MAX)
            shown = Shown.model_validate_json(line)
        except (OSError, ValidationError):
            _no_answer("the agent took the order and did not answer; `rainbow-agent state` shows how it stands")
    if shown.error is not None:
        give_up(shown.error, EXIT_FAILED)
    return shown


def _write(directory: Path, order: Order) -> Shown | None:
    """No agent runs, so the file is ours for a moment; None if one has just begun."""
    if isinstance(order, Show) and not directory.exists():
        return Shown()
    try:
        held = StateDir(directory)
    except StateDirInUseError:
        return None
    except StateDirError as cause:
        give_up(str(cause), EXIT_CONFIG)
    try:
        file = SiteFile(held.site)
        before = file.load()
        site = obey(order, before)
        if site != before:
            file.save(site)
    except (OrderError, SiteFileError) as cause:
        give_up(str(cause), EXIT_FAILED)
    finally:
        held.close()
    return Shown(draining=site.draining, keys=site.keys, told=site.keys)


def _no_answer(words: str) -> NoReturn:
    give_up(words, EXIT_FAILED)


# --- for people


def _when(shown: Shown) -> str:
    return "" if shown.running else " (no agent runs here now: from its next start on)"


def _show(shown: Shown, as_json: bool) -> None:
    if as_json:
        keys = {"draining": shown.draining, "keys": dict(shown.keys), "told": dict(shown.told)}
        click.echo(json.dumps({**keys, "running": shown.running}))
        return
    click.echo(f"draining: {shown.draining}" if shown.draining is not None else "taking jobs")
    for key in sorted({**shown.told, **shown.keys}):
        mine = "" if key in shown.keys else "   (told by the agent itself)"
        value = shown.told.get(key, shown.keys.get(key))
        click.echo(f"{key}={json.dumps(value) if isinstance(value, bool) else value}{mine}")
    if not shown.running:
        click.echo("(no agent runs here now)")
