"""What the core remembers: jobs, clusters, auctions, and the settings it works under."""

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import Any, Literal, NamedTuple

from rainbowd.core.line import Line, Shares
from rainbowd.core.ports import Matcher
from rainbowd.core.selection.base import NO_FACTS, Bid, Facts, Policy
from rainbowd.core.transitions import JobState
from rainbowd.core.wishes import NO_WISHES, After, Wishes


@dataclass(frozen=True, slots=True)
class Settings:
    """The knobs of the core. Limits that the protocol fixes are handed in by the application."""

    bid_window_s: float = 1.0
    fanout: int = 16
    award_window_s: float = 10.0
    restart_grace_s: float = 3.0
    lost_after_s: float = 24 * 3600.0
    retry_first_s: float = 1.0
    retry_longest_s: float = 60.0
    auctions_open_max: int = 1_000
    live_jobs_max: int = 500_000
    history_events_max: int = 400
    reason_chars_max: int = 500
    groups: Mapping[str, frozenset[str]] = field(default_factory=dict)
    policy_options: Mapping[str, Facts] = field(default_factory=dict)  # the site's, by policy
    site_keys_max: int = 64
    choose_offline: bool = False  # may a policy that asks nobody choose a cluster that is away?
    queue_ahead_max: int = 4  # jobs of ours that may wait in a cluster's queue; 0: any number
    bind_within_s: float = 300.0  # a job that starts so soon goes there all the same
    kept_retry_s: float = 1_800.0
    kept_pause_s: float = 10.0  # at most, before a kept job is offered again
    wake_max: int = 32  # jobs that are offered anew when a cluster changes
    move_gain_s: float = 60.0  # a waiting job moves only if it starts so much sooner,
    move_gain_share: float = 0.1  # and by so much of what it would still wait
    moves_max: int = 10  # of one job; 0 switches moving off
    move_pause_s: float = 30.0  # before another cluster is asked again about the same job
    move_asks_max: int = 8  # jobs that are offered to a cluster which has become freer


@dataclass(frozen=True, slots=True)
class Shape:
    """What a job needs: `tasks` equal tasks, on exactly `nodes` nodes if that is given."""

    nodes: int | None = None
    tasks: int = 1
    cores_per_task: int = 1
    gpus_per_task: int = 0
    time_limit_s: float | None = None
    exclusive: bool = False


@dataclass(slots=True)
class Job:
    """A job that has not ended, or ended in this very batch. `payload` is the user's request, opaque here.

    So are `ask`, what the matcher makes of it, and `terms`, what an offer tells of it beyond the shape.
    """

    id: str
    owner: str
    grants: tuple[str, ...]
    key: str | None
    name: str
    shape: Shape
    payload: bytes
    submitted_at: float
    ask: Any = None
    terms: bytes = b""
    user: str = ""
    wishes: Wishes = NO_WISHES
    facts: Facts = field(default_factory=lambda: NO_FACTS)  # what policies may know of it
    array: str | None = None
    array_index: int | None = None
    array_at_once: int | None = None
    moves: int = 0
    promised_at: float | None = None  # when the cluster that has it said that it would start
    state: JobState = JobState.PENDING
    attempt: int = 0
    cluster: str | None = None
    reason: str = ""
    exit_code: int | None = None
    native_id: str | None = None
    assigned_at: float | None = None
    started_at: float | None = None
    finished_at: float | None = None
    cancel_requested: bool = False
    report_seq: int = 0
    history_len: int = 0
    numbered: int = 0  # the highest number that an attempt, or a question about one, has had
    # What a restart may forget: how often auctions failed, when the next one may be, what was said about moving.
    asked_at: float = float("-inf")
    stay_told: str = ""
    kept: int = 0  # auctions in a row after which it was better to wait here
    is_out: bool = False  # has one of its array's places
    unmet: list[After] = field(default_factory=list)  # what it still waits for of the jobs that it comes after
    has_begun: bool = False  # and was counted as such in its array
    is_counted: bool = False  # as over, in its array
    is_charged: bool = False  # to its user's share
    failures: int = 0
    not_before: float = 0.0
    retry_at: float | None = None
    is_ready: bool = False


RESERVED = frozenset({"online", "draining"})  # of a cluster's state: what the daemon itself knows


@dataclass(slots=True)
class Cluster:
    """A registered cluster. `resources` belongs to the matcher; the core only hands it on.

    `revision` is new with every description and is never used again, not even by another cluster of that name.
    `generation` counts the clusters that had the name before.
    """

    name: str
    registered_at: float
    secret_hash: bytes = b""
    token_hash: bytes = b""
    resources: Any = None
    form: str | None = None  # "graph", "limits" or "totals"
    described_by: Literal["registration", "agent"] | None = None
    described_at: float | None = None
    digest: str | None = None
    revision: int = 0
    generation: int = 0
    session: int | None = None
    agent_id: str | None = None
    free: Any = None
    facts: Facts = field(default_factory=lambda: NO_FACTS)  # what is free, and the keys that its agent tells
    site_keys: dict[str, Any] = field(default_factory=dict)  # set by the site's people
    state: Facts = field(default_factory=lambda: NO_FACTS)
    draining: str | None = None
    missed: int = 0  # deadlines, fewer again with each sign of life
    missed_at: float = float("-inf")
    times_asked: int = 0
    offline_since: float = 0.0
    lost_armed: bool = False
    jobs: set[str] = field(default_factory=set)  # awarded to it and not yet over
    running: int = 0  # of these

    @property
    def waiting_here(self) -> int:
        """Our own jobs in its queue, or on their way there."""
        return len(self.jobs) - self.running

    @property
    def online(self) -> bool:
        return self.session is not None

    def restate(self) -> None:
        """What policies see of it. What the site's people say goes before what the agent tells."""
        known = {"online": self.online, "draining": self.draining is not None}
        self.state = {**self.facts, **self.site_keys, **known}


@dataclass(slots=True)
class Auction:
    """The bidding for one attempt. `asked` holds who has not answered yet."""

    job: str
    attempt: int
    round: int = 0
    asked: set[str] = field(default_factory=set)
    bids: list[Bid] = field(default_factory=list)
    noes: list[Bid] = field(default_factory=list)
    queue: list[str] = field(default_factory=list)  # candidates of later rounds
    deadline: float = 0.0  # of the round, then of the award
    silent: bool = False  # somebody let a deadline pass
    ranking: list[Bid] = field(default_factory=list)  # after selection: whom to try next
    moved_from: str | None = None  # the cluster that gave the job back so that it can be awarded here


@dataclass(slots=True)
class Move:
    """A job waits in a cluster's queue, and others are asked whether they would start it sooner.

    `auction` is never the job's own: it becomes that only when the cluster has given the job back.
    """

    auction: Auction
    here: Bid | None = None  # what the cluster says that has it
    withdrawing: bool = False


@dataclass(slots=True)
class Tally:
    """How far an array has got: members that are alive, those of them that have not begun, and how the others ended."""

    alive: int = 0
    unbegun: int = 0
    failed: bool = False


@dataclass(slots=True)
class ArrayLine:
    """The members of an array of which only so many may be out at a time."""

    at_once: int
    out: int = 0
    held: deque[str] = field(default_factory=deque)


class Timer(NamedTuple):
    """`kind` says who cares; `job` (or a cluster's name) and `number` fence a timer that came too late."""

    at: float
    order: int
    kind: str
    name: str
    number: int


@dataclass(slots=True)
class World:
    """All state of the core. Only the functions of this package change it."""

    settings: Settings
    matcher: Matcher
    policy: Policy
    policies: Mapping[str, Policy] = field(default_factory=dict)
    jobs: dict[str, Job] = field(default_factory=dict)
    keys: dict[tuple[str, str], str] = field(default_factory=dict)
    clusters: dict[str, Cluster] = field(default_factory=dict)
    generations: dict[str, int] = field(default_factory=dict)  # of names whose cluster was deleted: the next one
    revision: int = 0  # the newest of all clusters
    deletions: int = 0
    deleted: dict[str, int] = field(default_factory=dict)  # name → which deletion it was, since the start
    sessions: dict[int, str] = field(default_factory=dict)
    auctions: dict[str, Auction] = field(default_factory=dict)
    open_auctions: int = 0
    ended: dict[str, JobState] = field(default_factory=dict)  # how the latest ones ended, oldest first
    shares: Shares = field(default_factory=Shares)
    ready: Line = field(init=False)  # pending, and to be offered as soon as there is room for one more auction
    waiting: Line = field(init=False)  # pending, and woken when something changes
    held: dict[str, None] = field(default_factory=dict)  # pending, and not to be offered before other jobs got on
    followers: dict[str, list[str]] = field(default_factory=dict)  # job → those held for it
    arrays: dict[str, ArrayLine] = field(default_factory=dict)  # that may not be out as a whole
    tallies: dict[str, Tally] = field(default_factory=dict)  # of every array that is not over
    stirred: deque[str] = field(default_factory=deque)  # began to run or ended: who follows them may be free to go
    queued: dict[str, None] = field(default_factory=dict)  # at a cluster and not running, oldest first
    moves: dict[str, Move] = field(default_factory=dict)
    over: list[str] = field(default_factory=list)  # ended since the last `forget_over`
    awaited: set[str] = field(default_factory=set)  # not back yet since the restart, and still within the grace
    sweep_armed: bool = False  # the look at kept jobs once in a long while
    timers: list[Timer] = field(default_factory=list)
    timer_count: int = 0

    def __post_init__(self) -> None:
        self.ready, self.waiting = Line(self.shares), Line(self.shares)

    def remember_end(self, name: str, state: JobState) -> None:
        """For those who ask a moment too late. The newest are kept."""
        self.ended.pop(name, None)
        self.ended[name] = state

    def arm(self, at: float, kind: str, name: str, number: int = 0) -> None:
        self.timer_count += 1
        heappush(self.timers, Timer(at, self.timer_count, kind, name, number))

    def due(self, now: float) -> Timer | None:
        if self.timers and self.timers[0].at <= now:
            return heappop(self.timers)
        return None
