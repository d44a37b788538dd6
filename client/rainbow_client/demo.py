"""`python -m rainbow_client.demo`: Rainbow in half a minute, for someone who has never seen it.

A real daemon and three real clusters on this machine, in a directory that is
gone afterwards; a handful of real jobs; every auction as it happens.
"""

import asyncio
import shutil
import sys
import tempfile
import textwrap
from collections.abc import Sequence
from pathlib import Path

from rich.text import Text

from rainbow_client.cli.explain import print_auction
from rainbow_client.cli.screen import console, print_line, print_table, state_text, styled
from rainbow_client.client import Client
from rainbow_client.errors import RainbowError, Refused
from rainbow_client.local.federation import Federation
from rainbow_client.local.interruption import Interruption
from rainbow_client.local.presets import Preset
from rainbow_client.printable import printable
from rainbow_client.requests import job_request
from rainbow_client.sentences import sentence
from rainbow_client.story import auctions
from rainbow_client.wording import count, reason_words
from rainbow_protocol.job import JobRequest
from rainbow_protocol.messages.client import Event

COLUMNS = 88
CLEAN_UP_S_MAX = 10.0
PLAY_S_MAX = 60.0
SCENE_PAUSE_S = 1.0

# `small` lets one job wait, so that it soon has to say No.
CLUSTERS = (
    Preset("small", 1, 2, 0, per_node_hour=0.0, per_core_hour=0.5, per_gpu_hour=0.0, queue_max=1),
    Preset("medium", 2, 4, 0, per_node_hour=0.0, per_core_hour=1.0, per_gpu_hour=0.0),
    Preset("large", 4, 8, 1, per_node_hour=0.0, per_core_hour=2.0, per_gpu_hour=8.0),
)


class Demo:
    def __init__(self, client: Client) -> None:
        self._client = client
        self._scenes = 0
        self._jobs: list[str] = []

    async def play(self) -> None:
        await self._meet_the_clusters()
        await self._the_cheaper_wins_a_tie()
        await self._the_earliest_wins()
        await self._a_no()
        await self._who_cannot_is_not_asked()
        await self._too_big()
        await self._a_failure()
        await self._curtain()

    async def _meet_the_clusters(self) -> None:
        await self._scene(
            "Three clusters",
            "Each runs its own agent, which opened one connection to the daemon. They differ in size and price.",
        )
        online = {cluster.name for cluster in await self._client.clusters() if cluster.state == "online"}
        print_table(
            ["CLUSTER", "STATE", ">NODES", ">CORES", ">GPUS", ">PRICE OF A CORE-HOUR"],
            [
                (
                    one.name,
                    state_text("online" if one.name in online else "offline"),
                    str(one.nodes),
                    str(one.nodes * one.cores_per_node),
                    str(one.nodes * one.gpus_per_node),
                    f"{one.per_core_hour:.2f}",
                )
                for one in CLUSTERS
            ],
            indent=2,
        )

    async def _the_cheaper_wins_a_tie(self) -> None:
        await self._scene(
            "The cheaper wins a tie",
            "One job, submitted to one place. All three clusters could start it now, so the lowest cost decides.",
        )
        await self._run(_job('echo "hello from $RAINBOW_CLUSTER"', "hello"))

    async def _the_earliest_wins(self) -> None:
        await self._scene(
            "The earliest wins",
            "Now small is busy: a job that was meant for it alone fills both of its cores. The next job could start"
            " there later, or elsewhere now. Starting early counts more than the cost.",
        )
        await self._occupy(_job("sleep 30", "fill-small", cores=2, minutes=10, only="small"), "running")
        await self._run(_job('echo "no waiting on $RAINBOW_CLUSTER"', "in-a-hurry"))

    async def _a_no(self) -> None:
        await self._scene(
            "A cluster says No",
            "A second job for small has to wait there, and small lets only one wait. Asked again, it says No and why.",
        )
        await self._occupy(_job("true", "wait-for-small", cores=2, minutes=10, only="small"), "queued")
        await self._run(_job('echo "then on $RAINBOW_CLUSTER"', "turned-down"))

    async def _who_cannot_is_not_asked(self) -> None:
        await self._scene(
            "Who cannot is not even asked",
            "Two tasks on two nodes, with a gpu each: only large has gpus, so the others are left alone.",
        )
        request = job_request(
            ["sh", "-c", 'echo "a task on $RAINBOW_CLUSTER"'],
            name="two-gpus",
            nodes=2,
            gpus_per_task=1,
            time_limit_s=60,
        )
        await self._run(request)

    async def _too_big(self) -> None:
        await self._scene(
            "Too big for everybody",
            "A thousand tasks fit nowhere, and never will. Rainbow says so at once, with the reason of each cluster.",
        )
        await self._run(job_request(["true"], name="huge", tasks=1000, time_limit_s=60))

    async def _a_failure(self) -> None:
        await self._scene("A job that fails", "The exit code of the job is what `rainbow submit --wait` exits with.")
        await self._run(_job('echo "the disk is full" >&2; exit 3', "unlucky"))

    async def _curtain(self) -> None:
        await self._scene("All jobs of this demo", "The two that kept small busy are cancelled now.")
        going = [status.job for status in await self._client.status(self._jobs) if status.finished_at is None]
        if going:
            await self._client.cancel(going)
        statuses = await self._client.wait(self._jobs)
        print_table(
            ["JOB", "NAME", "STATE", "CLUSTER", ">EXIT"],
            [
                (
                    one.job,
                    one.name,
                    state_text(one.state),
                    one.cluster or "-",
                    "-" if one.exit_code is None else str(one.exit_code),
                )
                for one in statuses
            ],
            indent=2,
        )

    # --- how a job is shown -------------------------------------------------

    async def _occupy(self, request: JobRequest, until: str) -> None:
        job = await self._submit(request)
        async for event in self._client.watch(job):
            if event.event == until:
                _tell(sentence(event))
                return

    async def _run(self, request: JobRequest) -> None:
        job = await self._submit(request)
        history: list[Event] = []
        async for event in self._client.watch(job):
            history.append(event)
            if event.event in ("awarded", "declined"):
                print_auction(auctions(history)[-1], "The auction", indent=4)
            elif event.event == "rejected":
                _tell("rejected before any auction:")
                rows = event.data.get("clusters") or []
                print_table(
                    ["CLUSTER", "WHY IT CANNOT"],
                    [(str(row.get("cluster")), reason_words(row)) for row in rows],
                    indent=4,
                )
            elif event.event not in ("submitted", "queued", "assigned"):
                _tell(sentence(event))
        await self._show_output(job)

    async def _submit(self, request: JobRequest) -> str:
        job = str((await self._client.submit(request)).job)
        self._jobs.append(job)
        only = f" --cluster {request.clusters[0]}" if request.clusters else ""
        print_line("  ", styled(f"$ rainbow submit{only} {_options(request)}-- {_command(request)}", "bold cyan"))
        return job

    async def _show_output(self, job: str) -> None:
        try:
            async for piece in self._client.logs(job):
                for line in piece.data.decode(errors="replace").splitlines():
                    print_line("  ", styled(f"{piece.stream} │ ", "dim"), printable(line))
        except Refused:
            return  # it never ran: there is no output, and the reason has been told

    async def _scene(self, title: str, caption: str) -> None:
        if self._scenes and sys.stdout.isatty():
            await asyncio.sleep(SCENE_PAUSE_S)  # for the eye, not for the machine
        self._scenes += 1
        print_line("")
        print_line(styled(f"━━ {self._scenes}  {title} ".ljust(COLUMNS, "━"), "bold magenta"))
        for line in textwrap.wrap(caption, COLUMNS):
            print_line(line)
        print_line("")


def _job(script: str, name: str, *, cores: int = 1, minutes: float = 1.0, only: str | None = None) -> JobRequest:
    return job_request(
        ["sh", "-c", script],
        name=name,
        cores_per_task=cores,
        time_limit_s=minutes * 60,
        clusters=[only] if only else None,
    )


def _options(request: JobRequest) -> str:
    shape = request.shape
    options = [f"-N {shape.nodes}"] if shape.nodes else []
    options += [f"-n {shape.tasks}"] if shape.tasks > 1 and not shape.nodes else []
    options += [f"-c {shape.cores_per_task}"] if shape.cores_per_task > 1 else []
    options += [f"-g {shape.gpus_per_task}"] if shape.gpus_per_task else []
    options += [f"-t {round((shape.time_limit_s or 0) / 60)}m"] if shape.time_limit_s else []
    return "".join(f"{option} " for option in options)


def _command(request: JobRequest) -> str:
    return f"sh -c '{request.command[-1]}'" if request.command[0] == "sh" else " ".join(request.command)


def _tell(words: str) -> None:
    for line in textwrap.wrap(words, COLUMNS - 4):
        print_line("  ", Text("· ", style="dim"), line)


async def _perform(federation: Federation) -> None:
    print_line(
        styled("Rainbow", "bold"), ": one place to submit to, many clusters that bid, the best bid runs the job."
    )
    print_line(styled("Starting a daemon and three clusters on this machine…", "dim"))
    await federation.up(len(CLUSTERS), CLUSTERS.__getitem__)

    async def play() -> None:
        async with federation.client() as client:
            await Demo(client).play()

    await federation.unless_dead(federation.running(), play(), PLAY_S_MAX, "the demo has not come to its end")


async def _clean_up(federation: Federation) -> None:
    try:
        left = await federation.cancel_jobs(CLEAN_UP_S_MAX) if federation.started else 0
        if left:
            print_line(f"{count(left, 'job')} did not end in time")
    except RainbowError as error:
        print_line(f"the jobs could not be cancelled: {error.message}")
    await federation.down(federation.started)
    shutil.rmtree(federation.layout.root)


async def _main() -> int:
    interruption = Interruption()
    federation = Federation(Path(tempfile.mkdtemp(prefix="rainbow-demo-")))
    try:
        finished = await interruption.spares(_perform(federation))
    except RainbowError as error:
        print(f"rainbow: {error.message}\n  {error.hint}", file=sys.stderr)
        return 1
    finally:
        await _clean_up(federation)
    if not finished:
        print_line("")
        print_line("Interrupted; everything that was started is stopped.")
        return 130
    _what_next()
    return 0


def _what_next() -> None:
    print_line("")
    print_line(styled("Everything is stopped and removed again. Now by hand:", "bold"))
    rows: Sequence[tuple[str, str]] = (
        ("rainbow up --detach", "the same three clusters, to stay"),
        ("rainbow submit -n 2 -- hostname", "a job; prints its id"),
        ("rainbow explain JOB", "who was asked, each bid, who won and why"),
        ("rainbow down", "stop them"),
    )
    print_table(["", ""], [(styled(command, "bold cyan"), what) for command, what in rows], indent=2)
    if shutil.which("rainbow") is None:
        print_line(f"(the command lies in {Path(sys.executable).parent})")


if __name__ == "__main__":
    console()
    sys.exit(asyncio.run(_main()))
