"""Everything that can happen to the agent's machine. `AgentMachine.step` takes one of these at a time.

From the session:  SessionOpened, SessionWelcomed, then any of Offers, Awards, Starts, Releases, Withdrawals, Cancels,
                   Acks, at last SessionClosed
From the backend:  RunBegan → RunEnded, and RunFenced for a run that provably never began
From the process:  Tick when `next_deadline()` has come, Enough, Stop once
From the site:     SiteChanged, which is on disk already
"""

from dataclasses import dataclass
from typing import Literal

from rainbow_agent.core.model import Asked, Key, Shape
from rainbow_agent.core.site_state import SiteState


@dataclass(frozen=True, slots=True)
class SessionOpened:
    """The handshake is done. Answered by SendHello and SendInventory; nothing else is sent before the welcome."""


@dataclass(frozen=True, slots=True)
class SessionWelcomed:
    """The daemon has taken the inventory: reports without an ack are sent again, and bidding may begin."""


@dataclass(frozen=True, slots=True)
class SessionClosed:
    """The session is gone, and with it every bid that was not awarded."""


@dataclass(frozen=True, slots=True)
class Offer:
    key: Key
    shape: Shape
    hold_s: float
    objection: str | None = None  # why the cluster would not run it, whatever is free
    waits_here: int | None = None  # an attempt of the same job in our own queue: when would that one start?
    user: str = ""
    queue: str | None = None

    @property
    def asked(self) -> Asked:
        return Asked(self.shape, self.user, self.queue)


@dataclass(frozen=True, slots=True)
class Offers:
    """Answered by one SendBids with an answer to each, in the same order."""

    items: tuple[Offer, ...]


@dataclass(frozen=True, slots=True)
class Award:
    """`work` is what the backend needs to run it (the request as text); the machine never looks inside."""

    key: Key
    shape: Shape
    work: str
    objection: str | None = None
    queue: str | None = None
    user: str = ""


@dataclass(frozen=True, slots=True)
class Awards:
    """Answered by one SendAwardAnswers; an accept comes together with SaveAttempt, which must be durable first."""

    items: tuple[Award, ...]


@dataclass(frozen=True, slots=True)
class Starts:
    """Run these accepted attempts. Again for one already started: nothing. For an unknown one: SendError."""

    keys: tuple[Key, ...]


@dataclass(frozen=True, slots=True)
class Releases:
    """Drop these holds and acceptances. One that was started goes on, or stays until its end is acknowledged."""

    keys: tuple[Key, ...]


@dataclass(frozen=True, slots=True)
class Withdrawals:
    """Hand back those of these that only wait: reported as returned. One that is on its way to run, or runs, stays."""

    keys: tuple[Key, ...]


@dataclass(frozen=True, slots=True)
class Cancels:
    keys: tuple[Key, ...]


@dataclass(frozen=True, slots=True)
class Ack:
    key: Key
    seq: int


@dataclass(frozen=True, slots=True)
class Acks:
    items: tuple[Ack, ...]


@dataclass(frozen=True, slots=True)
class RunBegan:
    """The backend has this run going: started just now, or found alive after a restart."""

    key: Key
    run: int
    native_id: str | None = None
    at: float | None = None  # when it began, if that was not now


# `returned`: it could not begin, by the cluster's own fault and not the job's, so it may run elsewhere.
Fate = Literal["completed", "failed", "cancelled", "lost", "returned"]


@dataclass(frozen=True, slots=True)
class RunEnded:
    key: Key
    run: int
    fate: Fate
    exit_code: int | None = None
    reason: str = ""
    at: float | None = None  # when it ended, if that was not now


@dataclass(frozen=True, slots=True)
class RunFenced:
    """This run never began and never can: the machine launches the attempt again under the next run number."""

    key: Key
    run: int


@dataclass(frozen=True, slots=True)
class Tick:
    """Time has passed."""


@dataclass(frozen=True, slots=True)
class Enough:
    """No more jobs are taken in this life. What was taken goes on."""


@dataclass(frozen=True, slots=True)
class Stop:
    """The process is about to end: no more bids, what is queued is handed back, what runs goes on without us."""


@dataclass(frozen=True, slots=True)
class SiteChanged:
    """Told to the daemon; while it drains every offer is refused, and what is here goes on."""

    site: SiteState


Command = (
    SessionOpened
    | SessionWelcomed
    | SessionClosed
    | Offers
    | Awards
    | Starts
    | Releases
    | Withdrawals
    | Cancels
    | Acks
    | RunBegan
    | RunEnded
    | RunFenced
    | Tick
    | Enough
    | Stop
    | SiteChanged
)
