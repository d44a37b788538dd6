"""The clusters that `rainbow up` makes: they differ in size and price, so that their auctions are interesting."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Preset:
    name: str
    nodes: int
    cores_per_node: int
    gpus_per_node: int
    per_node_hour: float
    per_core_hour: float
    per_gpu_hour: float
    queue_max: int | None = None  # jobs that may wait there; the agent's own default if None

    @property
    def summary(self) -> str:
        nodes = "1 node" if self.nodes == 1 else f"{self.nodes} nodes"
        gpus = f" and {self.gpus_per_node} gpu" if self.gpus_per_node else ""
        return f"{nodes} of {self.cores_per_node} cores{gpus}, {self.per_core_hour:g} per core-hour"


_FIRST = (
    Preset("small", 1, 2, 0, per_node_hour=0.0, per_core_hour=0.5, per_gpu_hour=0.0),
    Preset("medium", 2, 4, 0, per_node_hour=0.0, per_core_hour=1.0, per_gpu_hour=0.0),
    Preset("large", 4, 8, 1, per_node_hour=0.0, per_core_hour=2.0, per_gpu_hour=8.0),
)


def preset(position: int) -> Preset:
    """The first three have names; those after them repeat their sizes, each a little dearer than the last."""
    if position < len(_FIRST):
        return _FIRST[position]
    like = _FIRST[position % len(_FIRST)]
    return Preset(
        f"cluster-{position + 1}",
        like.nodes,
        like.cores_per_node,
        like.gpus_per_node,
        like.per_node_hour,
        like.per_core_hour + position / 10,
        like.per_gpu_hour,
    )
