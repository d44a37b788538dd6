"""The newest jobs with each array as one: read on past its members, but not for ever."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rainbow_client.whole import Whole, folded
from rainbow_protocol import limits
from rainbow_protocol.job import JobState
from rainbow_protocol.messages.client import JobStatus

if TYPE_CHECKING:
    from rainbow_client.client import Client

JOBS_READ_MAX = 2 * limits.ARRAY_JOBS_MAX  # that one list looks at


async def newest_folded(
    client: "Client", states: Sequence[JobState] | None, cluster: str | None, rows_max: int
) -> list[JobStatus | Whole]:
    """At most so many rows. The jobs of an array got their ids one after the other, so they are listed together."""
    found: list[JobStatus] = []
    page = rows_max
    while True:
        before = found[-1].job if found else None
        items = await client.jobs(states=states, cluster=cluster, before=before, limit=page)
        found += items
        rows = list(folded(found))
        if len(rows) > rows_max or len(items) < page:
            return rows[:rows_max]
        last = rows[-1]
        if len(rows) == rows_max and not isinstance(last, Whole):
            return rows
        if len(found) >= JOBS_READ_MAX:
            if isinstance(last, Whole):
                last.more = True
            return rows
        page = limits.JOBS_PAGE_MAX
