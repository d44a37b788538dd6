"""The agent put together: socket → decode → command → step → effects → one transaction → socket and backend."""

import asyncio
import time
from dataclasses import dataclass, replace

import structlog

from rainbow_agent import __version__, translate
from rainbow_agent.announcer import Announcer
from rainbow_agent.backends.base import Backend, RunNews
from rainbow_agent.backends.local import LocalBackend
from rainbow_agent.backends.processes import boot_id
from rainbow_agent.clock import WallClock
from rainbow_agent.config import AgentSettings
from rainbow_agent.control import Control
from rainbow_agent.core import commands as c
from rainbow_agent.core import effects as e
from rainbow_agent.core.effects import Phase
from rainbow_agent.core.machine import AgentMachine
from rainbow_agent.core.model import Key
from rainbow_agent.errand import Errand
from rainbow_agent.identity import Identity
from rainbow_agent.inbox import Inbox
from rainbow_agent.journal import Journal
from rainbow_agent.output import OutputDesk
from rainbow_agent.performing import Performer
from rainbow_agent.session import Connector, Link, Target
from rainbow_agent.site_file import Site, SiteFile
from rainbow_agent.state_dir import StateDir
from rainbow_agent.wiring import local_settings, machine_settings
from rainbow_protocol.limits import INBOX_COMMANDS_MAX
from rainbow_protocol.messages import agent as wire
from rainbow_protocol.messages.common import Error, Goodbye
from rainbow_protocol.service.notify import keep_watchdog_fed, notify

BATCH_COMMANDS_MAX = 1_000  # stepped before one commit

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Envelope:
    """A command and, if a session brought it, that session's way out."""

    command: c.Command
    link: Link | None = None


class Agent:
    def __init__(self, settings: AgentSettings, state_dir: StateDir, errand: Errand | None = None) -> None:
        self._settings = settings
        self._errand = errand
        site_file = SiteFile(state_dir.site)
        site = site_file.load()
        self._inbox: Inbox[Envelope] = Inbox(INBOX_COMMANDS_MAX)
        self._to_wall_s = WallClock().offset_s
        self._journal = Journal(state_dir.journal, self._to_wall_s)
        self._identity = Identity(settings.name, self._journal.cluster())
        self._backend: Backend = LocalBackend(
            local_settings(settings, state_dir, lambda: self._identity.name),
            self._post_news,
            self._fail,
            self._to_wall_s,
        )
        machine = machine_settings(settings, self._backend.totals(), self._to_wall_s)
        if errand is not None:
            machine = replace(machine, take_max=errand.take_max, launches=errand.runs_jobs)
        self._machine = AgentMachine(machine, site.state())
        self._control = Control(state_dir.path, site, site_file, self._site_changed, self._machine.keys_beneath)
        self._performer = Performer(self._journal, self._backend, self._hello, self._to_wall_s, self._fail)
        self._desk = OutputDesk(self._backend, self._phase_of)
        self._announcer = Announcer(self._backend.describe, self._tell_status, self._fail)
        target = Target(settings.daemon, settings.read_secret(), settings.ca_file)
        self._connector = Connector(target, self)
        self._link: Link | None = None
        self._welcomed = False
        self._connected_as: str | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._stop_asked = asyncio.Event()
        self._handed_over = asyncio.Event()
        self._stopping = False
        self._failure: BaseException | None = None

    def stop(self) -> None:
        """Ask it to end gracefully; `run` then returns."""
        self._stop_asked.set()

    def take_no_more(self) -> None:
        """Take no more jobs in this life; those that are here go on."""
        self._inbox.post(Envelope(c.Enough()))

    def rows(self) -> list[e.AttemptRow]:
        """All attempts in the journal, but for the writing of this moment."""
        return self._machine.rows()

    @property
    def name(self) -> str:
        return self._identity.name

    @property
    def has_work(self) -> bool:
        """Something runs here, or is to run."""
        return any(row.phase in ("queued", "launching", "running") for row in self.rows())

    def look_again(self) -> None:
        """The cluster may have changed: describe it anew."""
        self._announcer.look_again()

    async def run(self) -> None:
        """Until stopped. Raises session.RefusedError if the daemon will not have us, and
        description.DescriptionError if the document that should describe this cluster cannot be sent."""
        watchdog = asyncio.create_task(keep_watchdog_fed())
        connecting: asyncio.Task[None] | None = None
        engine: asyncio.Task[None] | None = None
        try:
            await self._announcer.look()
            await self._restore()
            await self._control.open()
            engine = asyncio.create_task(self._engine())
            connecting = asyncio.create_task(self._connector.run())
            notify("READY=1\nSTATUS=connecting to the daemon")
            asked = asyncio.create_task(self._stop_asked.wait())
            await asyncio.wait({engine, connecting, asked}, return_when=asyncio.FIRST_COMPLETED)
            asked.cancel()
            for task in (engine, connecting):
                if task.done():
                    task.result()  # raises what ended it
            notify("STOPPING=1")
            if self._failure is not None:
                raise self._failure
            await self._hand_over()
        finally:
            tasks = [task for task in (connecting, engine, watchdog) if task is not None]
            for task in tasks:
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
            await self._close()

    # --- what the session brings (session.Receiver)

    async def opened(self, link: Link) -> None:
        await self._inbox.put(Envelope(c.SessionOpened(), link))

    async def received(self, message: wire.ToAgent, link: Link) -> None:
        match message:
            case wire.AgentWelcome(cluster=cluster, version=version, send_graph=send_graph):
                await self._learn_name(cluster)
                log.info("welcomed by the daemon", cluster=cluster, daemon_version=version)
                self._connected_as = cluster
                self._tell_status()
                await self._inbox.put(Envelope(c.SessionWelcomed(), link))
                self._announcer.welcomed(link, send_graph)
            case wire.GraphTaken():
                self._announcer.taken(message)
            case wire.ReadOutput():
                self._desk.ask(message, link)
            case Goodbye() | Error():
                pass  # the session has dealt with them
            case _:
                await self._inbox.put(Envelope(translate.command(message, self._objection), link))

    def _objection(self, asked: wire.Offer | wire.Award) -> str | None:
        unwanted = None if self._errand is None else self._errand.objection(asked)
        return self._backend.objection(asked.request if isinstance(asked, wire.Award) else asked) or unwanted

    async def _learn_name(self, cluster: str) -> None:
        if self._identity.learn(cluster, deliberate="name" in self._settings.model_fields_set):
            await self._performer.write(self._journal.remember_cluster, cluster)

    async def closed(self, link: Link) -> None:
        self._connected_as = None
        self._tell_status()
        self._announcer.gone()
        self._inbox.post(Envelope(c.SessionClosed(), link))

    def _tell_status(self) -> None:
        words = f"connected as {self._connected_as}" if self._connected_as else "not connected to the daemon"
        trouble = self._announcer.trouble
        notify(f"STATUS={words}" + (f"; {trouble}" if trouble else ""))

    def _post_news(self, news: RunNews) -> None:
        self._inbox.post(Envelope(news))

    def _site_changed(self, site: Site) -> None:
        self._inbox.post(Envelope(c.SiteChanged(site.state())))

    # --- the engine

    async def _restore(self) -> None:
        rows, reports = self._journal.load()
        now = time.monotonic()
        boot = boot_id()
        same_boot = self._journal.boot_id() == boot
        steps = [self._machine.restore(rows, reports, now)]
        in_flight = self._machine.in_flight()
        alive = frozenset(row.key for row in self._machine.rows())
        steps += [self._machine.step(news, now) for news in await self._backend.recover(in_flight, alive, same_boot)]
        steps.append(self._machine.step(c.Tick(), now))
        await self._performer.perform([(None, effects) for effects in steps], boot)
        self._arm()
        log.info("journal restored", agent_id=self._journal.agent_id, attempts=len(rows), in_flight=len(in_flight))

    async def _engine(self) -> None:
        while True:
            batch = await self._inbox.drain(BATCH_COMMANDS_MAX)
            now = time.monotonic()
            performed = []
            for envelope in batch:
                self._follow(envelope)
                performed.append((self._link, self._machine.step(envelope.command, now)))
            await self._performer.perform(performed)
            if self._errand is not None:
                for envelope, (_, effects) in zip(batch, performed, strict=True):
                    self._errand.saw(envelope.command, effects)
            if self._stopping and self._machine.handed_over:
                self._handed_over.set()
            self._arm()

    def _follow(self, envelope: Envelope) -> None:
        """Which session is the current one, in the order in which the commands are stepped."""
        match envelope.command:
            case c.SessionOpened():
                self._link = envelope.link
                self._welcomed = False
            case c.SessionWelcomed():
                self._welcomed = True
            case c.SessionClosed():
                self._link = None
                self._welcomed = False

    def _arm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        deadline = self._machine.next_deadline()
        if deadline is not None:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_at(deadline, self._inbox.post, Envelope(c.Tick()))

    def _hello(self, state: e.State) -> wire.AgentHello:
        return wire.AgentHello(
            agent_id=self._journal.agent_id,
            version=__version__,
            backend=self._backend.name,
            resources=translate.totals(self._backend.totals()),
            free=translate.free(state.free),
            keys=dict(state.keys),
            draining=state.draining,
            graph=self._announcer.introduce(),
        )

    def _fail(self, cause: BaseException) -> None:
        """End at once. What runs goes on, and the next process finds it."""
        self._failure = cause
        self._stop_asked.set()

    def _phase_of(self, key: Key) -> Phase | None:
        return self._machine.phase_of(key)

    # --- ending

    async def _hand_over(self) -> None:
        """Give back what has not begun, and wait a little for the daemon to know; the journal has the rest."""
        log.info("stopping", running=self._machine.free().running)
        self._stopping = True
        hands_back = self._errand is None or self._errand.runs_jobs
        self._inbox.post(Envelope(c.Stop() if hands_back else c.Enough()))
        try:
            async with asyncio.timeout(self._settings.stop_timeout_s):
                if self._welcomed:
                    await self._handed_over.wait()
                if self._link is not None:
                    self._link.send(Goodbye(reason="the agent is stopping"))
                    await self._link.close()
        except TimeoutError:
            log.warning("the daemon has not acknowledged everything; the rest is told after the next start")

    async def _close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        await self._control.close()
        await self._announcer.close()
        await self._desk.close()
        await self._performer.launched()
        await self._backend.close()
        self._performer.close()
        self._journal.close()
