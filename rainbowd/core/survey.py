"""Which clusters could take a job, which could take it now, and why the others were left out."""

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

from rainbowd.core.grants import deleted_name
from rainbowd.core.state import Cluster, Job, World
from rainbowd.core.wishes import left_out


@dataclass(slots=True)
class Survey:
    """`candidates` can be asked now. `left_out` maps every other cluster to its reason."""

    candidates: list[str] = field(default_factory=list)
    offline: list[str] = field(default_factory=list)
    undescribed: list[str] = field(default_factory=list)
    left_out: dict[str, str] = field(default_factory=dict)

    @property
    def could_ever(self) -> bool:
        return bool(self.candidates or self.offline or self.undescribed)

    def impossible_words(self) -> str:
        if not self.left_out:
            return "none of the clusters that it may use is registered"
        return "no cluster could ever run it: " + "; ".join(f"{name}: {why}" for name, why in self.left_out.items())

    def as_data(self, asked: Collection[str], why_later: str = "not in this round") -> list[dict[str, Any]]:
        """For the history: who is asked, and why each of the others is not."""
        rows = [{"cluster": name, "verdict": "asked", "reason": ""} for name in asked]
        later = [name for name in self.candidates if name not in asked]
        rows += [{"cluster": name, "verdict": "filtered", "reason": why_later} for name in later]
        rows += [{"cluster": name, "verdict": "filtered", "reason": why} for name, why in self.left_out.items()]
        return rows


def survey(world: World, job: Job) -> Survey:
    found = Survey()
    described: list[Cluster] = []
    for name in job.grants:
        cluster = world.clusters.get(name)
        if cluster is None:
            if (gone := deleted_name(name)) is not None:
                found.left_out[gone] = "was deleted"
        elif job.wishes.group is not None and job.wishes.group not in world.settings.groups:
            # The site's people changed the groups since: that is no reason to give the job up.
            found.undescribed.append(name)
            found.left_out[name] = f"the group {job.wishes.group!r} is not known here any more"
        elif (unwanted := left_out(job.wishes, name, world.settings.groups)) is not None:
            found.left_out[name] = unwanted
        elif cluster.resources is None:
            found.undescribed.append(name)
            found.left_out[name] = "offline, and has not described its resources yet"
        else:
            described.append(cluster)
    verdicts = world.matcher.match_all(job.ask, [cluster.resources for cluster in described])
    for cluster, verdict in zip(described, verdicts, strict=True):
        if not verdict.fits:
            found.left_out[cluster.name] = verdict.reason
        elif cluster.online:
            found.candidates.append(cluster.name)
        else:
            found.offline.append(cluster.name)
            found.left_out[cluster.name] = "offline"
    return found
