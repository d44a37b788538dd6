"""Plays a scenario: lines that begin with `>` are what happens, what follows is what the core does about it.

`docs` of the commands: see `Stage._COMMANDS` below and any file in `golden/`.
"""

import shlex
from ast import literal_eval
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from rainbowd.core import commands as cmd
from rainbowd.core import effects as fx
from rainbowd.core.invariants import check
from rainbowd.core.machine import Core
from rainbowd.core.selection.cheapest import Cheapest
from rainbowd.core.selection.earliest import Earliest
from rainbowd.core.selection.first import First
from rainbowd.core.selection.spillover import Spillover
from rainbowd.core.state import Cluster, Job, Settings, Shape
from rainbowd.core.transitions import TERMINAL
from rainbowd.core.wishes import URGENCY_DEFAULT, After, Wishes
from tests.sim.daemon import on_disk
from tests.sim.described import told
from tests.totals import Totals, TotalsMatcher

GRANTS = ("large", "medium", "small", "tiny")


def play(text: str) -> str:
    """The scenario again, with what really happened after each `>` line."""
    stage = Stage()
    lines: list[str] = []
    for line in text.splitlines():
        if line.startswith("> "):
            lines += [line, *stage.do(line[2:]), ""]
        elif line.startswith("#"):
            lines.append(line)
    return "\n".join(lines).rstrip() + "\n"


class Stage:
    def __init__(self) -> None:
        self._settings = Settings()
        self._now = 0.0
        self._sessions: dict[str, int] = {}
        self._next_session = 0
        self._disk_jobs: dict[str, Job] = {}
        self._disk_clusters: dict[str, Cluster] = {}
        self._generations: dict[str, int] = {}
        self._origin = cmd.Origin(0, 0)
        self._restart()

    def do(self, line: str) -> list[str]:
        verb, *words = shlex.split(line)
        command: Callable[..., cmd.Command | list[fx.Effect]] = getattr(self, f"_{verb}")
        positional = [word for word in words if "=" not in word]
        named = dict(word.split("=", 1) for word in words if "=" in word)
        result = command(*positional, **named)
        effects = result if isinstance(result, list) else self._core.step(result, self._now)
        self._save(effects)
        self._core.forget_over()
        check(self._core.world)
        return list(self._tell(effects)) or ["  nothing"]

    # --- what can happen --------------------------------------------------

    def _settings_are(self, **values: str) -> list[fx.Effect]:
        groups = {name[1:]: frozenset(values.pop(name).split(",")) for name in list(values) if name.startswith("@")}
        changed = {name: type(getattr(self._settings, name))(_literal(value)) for name, value in values.items()}
        self._settings = replace(self._settings, **changed, groups=groups or self._settings.groups)
        return self._restart()

    def _register(self, name: str, size: str = "") -> cmd.Command:
        return cmd.RegisterCluster(
            self._origin, name, told(_totals(size)) if size else None, name.encode(), name.encode()
        )

    def _connect(self, name: str, size: str, *held: str, agent: str = "", generation: str = "") -> cmd.Command:
        self._next_session += 1
        self._sessions[name] = self._next_session
        items: list[cmd.Held] = []
        for word in held:
            ref, phase = word.split(":")
            items.append(cmd.Held(*_ref(ref), phase))  # type: ignore[arg-type]
        known = self._core.world.clusters.get(name)
        number = int(generation) if generation else known.generation if known else 0
        return cmd.AgentReady(
            self._next_session, name, agent or f"agent-{name}", told(_totals(size), "agent"), None, items, None, number
        )

    def _describe(self, name: str, size: str, basis: str = "") -> cmd.Command:
        """A subsystem was added, say: the description comes anew, and was made from what is known now (or was)."""
        known = self._core.world.clusters.get(name)
        revision = int(basis) if basis else known.revision if known else 0
        return cmd.DescribeCluster(self._origin, name, told(_totals(size)), revision)

    def _delete(self, name: str, how: str = "") -> cmd.Command:
        return cmd.DeleteCluster(self._origin, name, how == "force")

    def _gone(self, name: str) -> cmd.Command:
        return cmd.AgentGone(self._sessions[name])

    def _state(self, name: str, draining: str | None = None, **facts: str) -> cmd.Command:
        told_facts = {key: _literal(value) for key, value in facts.items()}
        return cmd.AgentState(self._sessions[name], None, told_facts, draining)

    def _site(self, name: str, *unset: str, **keys: str) -> cmd.Command:
        return cmd.SetState(self._origin, name, {key: _literal(value) for key, value in keys.items()}, unset)

    def _submit(self, job: str, **given: str) -> cmd.Command:
        numbers = {
            name: int(given[name]) for name in ("nodes", "tasks", "cores_per_task", "gpus_per_task") if name in given
        }
        grants = tuple(given["on"].split(",")) if "on" in given else GRANTS
        payload = repr(sorted(given.items())).encode()
        shape = Shape(**numbers)
        item = cmd.NewJob(
            job,
            "me",
            grants,
            given.get("key"),
            job,
            shape,
            payload,
            shape,
            user=given.get("user", ""),
            wishes=_wishes(given),
            ends={name: one.state for name, one in self._disk_jobs.items() if one.state in TERMINAL},
        )
        if "array" not in given:
            return cmd.Submit(self._origin, [item], {})
        count, _, at_once = given["array"].partition("%")
        members = [
            replace(item, id=f"{job}.{place}", array=job, array_index=place, array_at_once=int(at_once) or None)
            for place in range(1, int(count) + 1)
        ]
        return cmd.Submit(self._origin, [replace(members[0], array_begins=True), *members[1:]], {})

    def _cancel(self, *jobs: str) -> cmd.Command:
        return cmd.Cancel(self._origin, jobs)

    def _yes(self, name: str, ref: str, eta: str, cost: str) -> cmd.Command:
        item = cmd.BidItem(*_ref(ref), True, float(eta), float(cost), "")
        return cmd.BidsReceived(self._sessions[name], [item])

    def _no(self, name: str, ref: str, reason: str) -> cmd.Command:
        return cmd.BidsReceived(self._sessions[name], [cmd.BidItem(*_ref(ref), False, 0.0, 0.0, reason)])

    def _accept(self, name: str, ref: str) -> cmd.Command:
        return cmd.AwardsAnswered(self._sessions[name], [cmd.AnswerItem(*_ref(ref), True, "")])

    def _refuse(self, name: str, ref: str, reason: str) -> cmd.Command:
        return cmd.AwardsAnswered(self._sessions[name], [cmd.AnswerItem(*_ref(ref), False, reason)])

    def _report(self, name: str, ref: str, seq: str, event: Any, exit_code: str = "", reason: str = "") -> cmd.Command:
        code = int(exit_code) if exit_code else None
        item = cmd.ReportItem(*_ref(ref), int(seq), event, self._now, code, reason)
        return cmd.ReportsReceived(self._sessions[name], [item])

    def _wait(self, seconds: str) -> cmd.Command:
        self._now += float(seconds)
        return cmd.Tick()

    def _restart(self) -> list[fx.Effect]:
        """The daemon dies and starts again with what is on disk."""
        policies = {policy.name: policy for policy in (Earliest(), Cheapest(), First(), Spillover())}
        self._core = Core(self._settings, TotalsMatcher(), policies["earliest"], policies)
        gone = {"session": None, "agent_id": None, "running": 0}
        clusters = [replace(cluster, **gone, jobs=set()) for cluster in self._disk_clusters.values()]
        live = [on_disk(job) for job in self._disk_jobs.values() if job.state not in TERMINAL]
        ends = {name: one.state for name, one in self._disk_jobs.items() if one.state in TERMINAL}
        bad = (one for one in self._disk_jobs.values() if one.state in TERMINAL and one.state != "completed")
        failed = {one.array for one in bad if one.array is not None}
        return self._core.restore(clusters, live, self._now, self._generations, ends, failed)

    # --- what came of it --------------------------------------------------

    def _save(self, effects: list[fx.Effect]) -> None:
        for effect in effects:
            if isinstance(effect, fx.SaveJob):
                self._disk_jobs[effect.job.id] = on_disk(effect.job)
            elif isinstance(effect, fx.SaveCluster):
                self._disk_clusters[effect.cluster.name] = replace(effect.cluster)
            elif isinstance(effect, fx.RetireCluster):
                del self._disk_clusters[effect.name]
                self._generations[effect.name] = effect.generation + 1

    def _tell(self, effects: list[fx.Effect]) -> Iterator[str]:
        names = {number: name for name, number in self._sessions.items()}
        for effect in effects:
            match effect:
                case fx.Happened():
                    yield f"  {effect.job} is {effect.state}: {_words(effect)}"
                case (
                    fx.SendOffer()
                    | fx.SendAward()
                    | fx.SendStart()
                    | fx.SendRelease()
                    | fx.SendWithdraw()
                    | fx.SendCancel()
                ):
                    kind = type(effect).__name__.removeprefix("Send").lower()
                    here = effect.waits_here if isinstance(effect, fx.SendOffer) else None
                    about = f", when would {effect.job}/{here} start there?" if here else ""
                    yield f"  → {names.get(effect.session, 'old session')}: {kind} {effect.job}/{effect.attempt}{about}"
                case fx.SendAck():
                    yield f"  → {names[effect.session]}: ack {effect.job}/{effect.attempt} seq {effect.seq}"
                case fx.SendWelcome():
                    yield f"  → {effect.cluster}: welcome"
                case fx.EndSession():
                    yield f"  ✗ session of {names.get(effect.session, 'old session')} ended: {effect.message}"
                case fx.AnswerSubmit():
                    for item in effect.items:
                        again = " (again)" if item.duplicate else ""
                        yield f"  ← {item.job}: {item.state}{again}" if item.job else f"  ← {item.code}: {item.message}"
                case fx.AnswerCancel():
                    for answer in effect.items:
                        yield f"  ← {answer.job}: {answer.outcome}"
                case fx.Settled():
                    yield f"  ← {effect.code}: {effect.message}" if effect.code else _done(effect)
                case fx.RetireCluster():
                    yield f"  {effect.name} is no more; its jobs are those of {effect.retired}"
                case fx.Complain():
                    yield f"  ! {effect.message}"


def _done(settled: fx.Settled) -> str:
    return f"  ← {settled.cluster} is registered" if settled.created else f"  ← {settled.cluster}: done"


def _words(happened: fx.Happened) -> str:
    data = happened.data
    match happened.event:
        case "offered":
            return f"attempt {data['attempt']} round {data['round']}: {_verdicts(data['clusters'])}"
        case "waiting" | "rejected":
            return f"{happened.event}: {data['reason']}"
        case "awarded":
            return f"awarded to {data['winner']}: {data['why']}"
        case "declined":
            return "declined: " + ", ".join(f"{bid['cluster']} says {bid['reason']}" for bid in data["bids"])
        case "submitted":
            return "submitted"
        case "reconsidered":
            return f"reconsidered, {data['decision']}: {data['why']}"
        case "moved":
            return f"moved from {data['from']} to {data['to']}, to start {data['gain_s']:g} s sooner"
    details = [f"{key} {data[key]}" for key in ("cluster", "exit_code", "reason") if data.get(key) not in (None, "")]
    return " ".join([happened.event, *details])


def _literal(text: str) -> Any:
    try:
        return literal_eval(text)
    except (SyntaxError, ValueError):
        return text


def _wishes(given: dict[str, str]) -> Wishes:
    after = [word.split(":") for word in given.get("after", "").split(",") if word]
    return Wishes(
        policy=given.get("policy"),
        options={name[1:]: _literal(value) for name, value in given.items() if name.startswith("-")},
        max_cost=float(given["max_cost"]) if "max_cost" in given else None,
        start_within_s=float(given["start_within"]) if "start_within" in given else None,
        not_clusters=frozenset(given.get("not_on", "").split(",")) - {""},
        group=given.get("group"),
        urgency=int(given.get("urgency", URGENCY_DEFAULT)),
        move=given.get("move") != "no",
        after=tuple(After(job, until) for job, until in after),
    )


def _verdicts(rows: list[dict[str, str]]) -> str:
    return ", ".join(
        row["cluster"] + (" asked" if row["verdict"] == "asked" else f" not ({row['reason']})") for row in rows
    )


def _ref(text: str) -> tuple[str, int]:
    job, attempt = text.split("/")
    return job, int(attempt)


def _totals(size: str) -> Totals:
    nodes, _, cores = size.partition("x")
    cores, _, gpus = cores.partition("+")
    return Totals(int(nodes), int(cores), int(gpus or 0))
