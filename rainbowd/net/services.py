"""What every session works with."""

from dataclasses import dataclass

from rainbow_protocol import ids
from rainbowd.engine import Engine
from rainbowd.net.auth import Credentials
from rainbowd.net.describing import Describing
from rainbowd.net.pending import PendingAnswers
from rainbowd.net.relay import OutputRelay
from rainbowd.net.session import Session
from rainbowd.net.spool import SpoolFolder
from rainbowd.net.watchers import Watchers
from rainbowd.policies import Policies, Site
from rainbowd.store.repo import Repo


@dataclass(slots=True)
class Services:
    engine: Engine
    repo: Repo
    credentials: Credentials
    watchers: Watchers
    pending: PendingAnswers
    relay: OutputRelay
    sessions: dict[int, Session]
    job_ids: ids.JobIds
    describing: Describing
    spools: SpoolFolder
    policies: Policies
    site: Site

    def online(self) -> frozenset[str]:
        return frozenset(self.engine.core.world.sessions.values())
