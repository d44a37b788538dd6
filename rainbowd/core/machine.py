"""The core itself: `step` takes one command and returns what is to be done about it."""

from collections.abc import Collection, Iterable, Mapping

from rainbowd.core import assignments, auctions, clusters, deletion, descriptions, following, jobs, moving, waiting
from rainbowd.core.commands import (
    AgentGone,
    AgentReady,
    AgentState,
    AwardsAnswered,
    BidsReceived,
    Cancel,
    Command,
    DeleteCluster,
    DescribeCluster,
    RegisterCluster,
    ReportsReceived,
    SetState,
    Submit,
    Tick,
)
from rainbowd.core.effects import Effect
from rainbowd.core.ports import Matcher
from rainbowd.core.selection.base import Policy
from rainbowd.core.state import Cluster, Job, Settings, World
from rainbowd.core.transitions import STARTED, TERMINAL, JobState
from rainbowd.core.turn import Turn

ENDED_MAX = 10_000  # how many ends are remembered for those who ask a moment too late


class Core:
    """`policy` is the site's; `policies` are all that jobs may name."""

    def __init__(
        self, settings: Settings, matcher: Matcher, policy: Policy, policies: Mapping[str, Policy] | None = None
    ) -> None:
        self.world = World(settings, matcher, policy, policies or {policy.name: policy})

    def restore(
        self,
        known: Iterable[Cluster],
        live: Iterable[Job],
        now: float,
        generations: Mapping[str, int] | None = None,
        ends: Mapping[str, JobState] | None = None,
        failed_arrays: Collection[str] = (),
    ) -> list[Effect]:
        """Take up what the disk holds. Auctions and awards did not survive; started jobs wait for their clusters.

        `generations` are those of names that were used before and may be used again, `ends` how the jobs and arrays
        ended that live ones come after, `failed_arrays` those of which a member has not ended well.
        """
        turn = Turn(self.world, now)
        world = self.world
        world.generations = dict(generations or {})
        for cluster in known:
            cluster.offline_since = now
            cluster.restate()
            world.clusters[cluster.name] = cluster
            world.revision = max(world.revision, cluster.revision)
        world.awaited = set(world.clusters)
        world.arm(now + world.settings.restart_grace_s, "grace", "")
        world.ended.update(ends or {})
        pending: list[Job] = []
        for job in live:
            world.jobs[job.id] = job
            following.joined(world, job)
            if job.key is not None:
                world.keys[job.owner, job.key] = job.id
            if job.state in STARTED and job.cluster is not None:
                world.clusters[job.cluster].jobs.add(job.id)
                following.count_out(world, job)
                if job.state is JobState.RUNNING:
                    world.clusters[job.cluster].running += 1
                else:
                    world.queued[job.id] = None
                    moving.arm_late(turn, job)
                continue
            if job.state is not JobState.PENDING:
                # Not a step of the job's life but the end of ours: the attempt's number fences what is left of it.
                job.state, job.cluster = JobState.PENDING, None
                job.reason = "the daemon was restarted before the job was assigned"
                turn.save(job)
            pending.append(job)
        for array in failed_arrays:
            if array in world.tallies:
                world.tallies[array].failed = True
        for job in pending:  # only now is known who else is there
            following.admit(turn, job)
        for cluster in world.clusters.values():
            if cluster.jobs:
                cluster.lost_armed = True
                world.arm(now + world.settings.lost_after_s, "lost", cluster.name)
        auctions.open_ready(turn)
        return turn.done()

    def step(self, command: Command, now: float) -> list[Effect]:
        turn = Turn(self.world, now)
        match command:
            case BidsReceived():
                auctions.take_bids(turn, command)
            case AwardsAnswered():
                assignments.take_answers(turn, command)
            case ReportsReceived():
                assignments.take_reports(turn, command)
            case Submit():
                jobs.submit(turn, command)
            case Cancel():
                jobs.cancel(turn, command)
            case AgentState():
                clusters.agent_state(turn, command)
            case SetState():
                clusters.set_state(turn, command)
            case AgentReady():
                clusters.agent_ready(turn, command)
            case AgentGone():
                clusters.agent_gone(turn, command)
            case RegisterCluster():
                descriptions.register(turn, command)
            case DescribeCluster():
                descriptions.describe(turn, command)
            case DeleteCluster():
                deletion.delete(turn, command)
            case Tick():
                self._tick(turn)
        return turn.done()

    def next_deadline(self) -> float | None:
        return self.world.timers[0].at if self.world.timers else None

    def forget_over(self) -> None:
        """Let go of jobs that have ended. The engine calls this once their end is on disk."""
        world = self.world
        for job_id in world.over:
            job = world.jobs.pop(job_id, None)
            if job is not None:
                world.remember_end(job_id, job.state)
            if job is not None and job.key is not None and world.keys.get((job.owner, job.key)) == job_id:
                del world.keys[job.owner, job.key]
        world.over.clear()
        while len(world.ended) > ENDED_MAX:
            del world.ended[next(iter(world.ended))]

    def _tick(self, turn: Turn) -> None:
        while (timer := self.world.due(turn.now)) is not None:
            if timer.kind == "grace":
                waiting.grace_over(turn)
            elif timer.kind == "sweep":
                waiting.sweep(turn)
            elif timer.kind == "lost":
                clusters.lost_due(turn, timer.name)
            elif (job := self.world.jobs.get(timer.name)) is not None and job.state not in TERMINAL:
                if timer.kind == "bids":
                    auctions.bids_due(turn, job, timer.number)
                elif timer.kind == "award":
                    assignments.award_due(turn, job, timer.number)
                elif timer.kind == "retry":
                    waiting.retry_due(turn, job)
                elif timer.kind == "move":
                    moving.due(turn, job, timer.number)
                elif timer.kind == "late":
                    moving.late_due(turn, job, timer.number)
        auctions.open_ready(turn)
