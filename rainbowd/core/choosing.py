"""From Yeses to a ranking: the user's wishes first, then the job's policy."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from rainbowd.core.selection.base import Bid, Facts, JobFacts, Policy, Ranking
from rainbowd.core.state import Cluster, Job, World
from rainbowd.core.wishes import objection


@dataclass(frozen=True, slots=True)
class Choice:
    """`unwanted` maps those who said Yes, and are not wanted, to the reason."""

    policy: Policy
    ranking: Ranking
    unwanted: dict[str, str]


def policy_of(world: World, job: Job) -> Policy:
    """The site's, if the job names none, or one that is not there any more."""
    return world.policies.get(job.wishes.policy or "", world.policy)


def asks(world: World, job: Job) -> bool:
    return policy_of(world, job).asks or job.wishes.need_answers


def informed(world: World, job: Job, bid: Bid, policy: Policy) -> Bid:
    """The bid with what the daemon knows of the cluster at this moment."""
    cluster = world.clusters[bid.cluster]
    match = measured(world, job, cluster) if policy.measures else bid.match
    return replace(bid, load=len(cluster.jobs), groups=groups_of(world, bid.cluster), state=cluster.state, match=match)


def groups_of(world: World, cluster: str) -> frozenset[str]:
    return frozenset(name for name, members in world.settings.groups.items() if cluster in members)


def measured(world: World, job: Job, cluster: Cluster) -> Facts:
    verdict = world.matcher.measure(job.ask, cluster.resources)
    return {**verdict.numbers, "instances": verdict.instances, "nodes_matched": verdict.nodes_matched}


def choose(world: World, job: Job, attempt: int, bids: Sequence[Bid]) -> Choice:
    policy = policy_of(world, job)
    unwanted = {bid.cluster: words for bid in bids if (words := objection(job.wishes, bid)) is not None}
    wanted = [informed(world, job, bid, policy) for bid in bids if bid.cluster not in unwanted]
    if not wanted:
        return Choice(policy, Ranking((), "no answer is as the job wishes"), unwanted)
    options = {**world.settings.policy_options.get(policy.name, {}), **job.wishes.options}
    ranking = _ranked(policy, wanted, JobFacts(job.id, attempt, options, job.facts))
    return Choice(policy, ranking, unwanted | dict(ranking.passed_over))


def _ranked(policy: Policy, bids: Sequence[Bid], job: JobFacts) -> Ranking:
    """A policy may be somebody else's code: if it fails, that job waits and says so, and the others go on."""
    try:
        ranking = policy.rank(bids, job)
        asked = {bid.cluster for bid in bids}
        order = tuple(bid for bid in ranking.order if bid.cluster in asked)
        return Ranking(order, str(ranking.why), dict(ranking.scores), dict(ranking.passed_over))
    except Exception as bug:
        return Ranking((), f"the policy {policy.name!r} failed, which is a bug of it: {type(bug).__name__}: {bug}")
