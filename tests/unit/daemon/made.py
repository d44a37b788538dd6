"""Jobs, clusters and submissions to test with: valid, and plain unless told otherwise."""

from itertools import count
from typing import Any

import orjson

from rainbow_protocol.ids import JobIds
from rainbow_protocol.job import JobRequest
from rainbowd.core import effects as fx
from rainbowd.core.commands import NewJob, Origin, Submit
from rainbowd.core.machine import Core
from rainbowd.core.selection.earliest import Earliest
from rainbowd.core.state import Cluster, Job, Settings, Shape
from rainbowd.core.transitions import JobState
from rainbowd.net.auth import fingerprint, owner_of
from rainbowd.requested import facts_of, wishes_of
from tests.totals import TotalsMatcher

_ids = JobIds()
_serials = count(1)


def job_id() -> str:
    return _ids.next(2_000_000_000.0)


def payload(*command: str, **request: Any) -> bytes:
    return orjson.dumps({"command": list(command or ("true",)), **request}, option=orjson.OPT_SORT_KEYS)


def job(grants: tuple[str, ...] = ("red",), **fields: Any) -> Job:
    """A pending job. Its shape, wishes and payload agree, as they do when they come over the wire."""
    given = {"id": job_id(), "key": None, "name": "true", "shape": Shape(), "submitted_at": 1.0}
    given |= {"payload": payload(), **fields}
    request = JobRequest.model_validate_json(given["payload"])
    given = {"ask": given["shape"], "wishes": wishes_of(request), "facts": facts_of(request)} | given
    return Job(grants=grants, owner=owner_of(frozenset(grants)), **given)


def cluster(name: str = "red", resources: Any = None, **fields: Any) -> Cluster:
    hashes = {"secret_hash": fingerprint(f"secret of {name}"), "token_hash": fingerprint(f"token of {name}")}
    return Cluster(name=name, registered_at=1.0, resources=resources, **(hashes | fields))


def saved(*jobs: Job) -> list[fx.StoreEffect]:
    """What makes these jobs new on disk: each with the first line of its history."""
    effects: list[fx.StoreEffect] = []
    for each in jobs:
        each.history_len = max(each.history_len, 1)
        effects += [fx.Happened(each.id, 1, 1.0, "submitted", JobState.PENDING, {}), fx.SaveJob(each)]
    return effects


def new_job(key: str | None = None, grants: tuple[str, ...] = ("red",), **fields: Any) -> NewJob:
    given = {"id": job_id(), "name": "true", "shape": Shape(), "payload": payload(), **fields}
    given |= {"ask": given["shape"]}
    return NewJob(owner=owner_of(frozenset(grants)), grants=grants, key=key, **given)


def submit(*items: NewJob, session: int = 1) -> Submit:
    return Submit(Origin(session, next(_serials), next(_serials)), items, {})


def core(*clusters: Cluster, **settings: Any) -> Core:
    made = Core(Settings(**settings), TotalsMatcher(), Earliest())
    made.restore(clusters, [], 0.0)
    return made
