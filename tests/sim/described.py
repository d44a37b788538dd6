"""Clusters described by totals, for the matcher of totals: enough for whoever does not care what a cluster has."""

from typing import Literal

from rainbowd.core.commands import Description
from tests.totals import Totals


def told(totals: Totals, by: Literal["registration", "agent"] = "registration") -> Description:
    size = f"{totals.nodes}x{totals.cores_per_node}+{totals.gpus_per_node}"
    return Description(totals, "totals", by, size, digest=size)
