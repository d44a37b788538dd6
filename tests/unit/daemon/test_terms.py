"""What an offer tells beyond the shape: what a cluster needs to bid, and nothing of what is the job's own business."""

import orjson
import pytest

from rainbow_protocol.job import Dependency, JobRequest, Shape
from rainbow_protocol.messages.agent import Offer
from rainbow_protocol.resources import Constraint, Need, Requirement, Resource
from rainbowd.resources.terms import terms_of

NEED = Need(alternatives=[[Resource(type="slot", count=2, children=[Resource(type="core", count=4)])]])


def offered(request: JobRequest) -> Offer:
    rest = {"job": "0" * 12, "attempt": 1, "shape": {}, "deadline_ms": 1, "hold_s": 1.0}
    return Offer.model_validate(rest | orjson.loads(terms_of(request)))


def test_a_job_that_its_shape_describes_has_no_terms() -> None:
    assert terms_of(JobRequest(command=["x"], shape=Shape(tasks=9), env={"A": "b"}, name="n", clusters=["a"])) == b""


def test_everything_that_a_bid_depends_on_is_told() -> None:
    request = JobRequest(
        command=["a secret"],
        env={"TOKEN": "secret"},
        needs=[NEED],
        requires=[Requirement(subsystem="io")],
        constraint=Constraint(op="properties", values=["gpu"]),
        queue="batch",
    )
    offer = offered(request)
    assert (offer.needs, offer.requires, offer.constraint) == (request.needs, request.requires, request.constraint)
    assert offer.queue == "batch"
    assert b"secret" not in terms_of(request)


@pytest.mark.parametrize(
    ("request_", "told"),
    [
        (JobRequest(command=["x"], image="quay.example/private:1"), (True, False)),
        (JobRequest(command=["x"], dependencies=[Dependency(scheme="afterok", value="ƒ1")]), (False, True)),
    ],
)
def test_that_there_is_an_image_or_a_dependency_is_told_and_not_which(
    request_: JobRequest, told: tuple[bool, bool]
) -> None:
    offer = offered(request_)
    assert (offer.image, offer.dependencies) == told
    assert b"quay" not in terms_of(request_)


def test_jobs_that_ask_for_the_same_share_what_is_sent() -> None:
    first, second = (JobRequest(command=[name], needs=[NEED]) for name in ("a", "b"))
    assert terms_of(first) is terms_of(second)
