"""Clusters become known, and what is known of their resources changes."""

from rainbowd.core import auctions, waiting
from rainbowd.core.commands import DescribeCluster, Description, RegisterCluster
from rainbowd.core.effects import SaveCluster, SaveDescription, Settled
from rainbowd.core.state import Cluster
from rainbowd.core.turn import Turn


def register(turn: Turn, command: RegisterCluster) -> None:
    """A new cluster, or a new description of a known one, which keeps its credentials."""
    cluster = turn.world.clusters.get(command.name)
    if cluster is not None and command.description is None:
        words = f"a cluster named {command.name!r} is registered already"
        turn.emit(Settled(command.origin, command.name, "cluster_exists", words))
    elif command.basis is not None and command.basis != (cluster.revision if cluster else 0):
        turn.emit(_changed(command))
    elif cluster is not None and command.description is not None:
        _replace(turn, cluster, command.description)
        turn.emit(Settled(command.origin, cluster.name))
    else:
        _create(turn, command)
        turn.emit(Settled(command.origin, command.name, created=True))


def describe(turn: Turn, command: DescribeCluster) -> None:
    cluster = turn.world.clusters.get(command.name)
    if cluster is None or (command.session is not None and cluster.session != command.session):
        words = f"there is no cluster {command.name!r}, or not any more"
        turn.emit(Settled(command.origin, command.name, "unknown_cluster", words))
    elif cluster.revision != command.basis:
        turn.emit(_changed(command))
    else:
        _replace(turn, cluster, command.description)
        turn.emit(Settled(command.origin, cluster.name))


def take(turn: Turn, cluster: Cluster, description: Description) -> None:
    """From now on this is what the cluster has. Who waits for it must be told apart from this."""
    world = turn.world
    world.revision = max(world.revision + 1, int(turn.now * 1_000_000))
    cluster.resources = description.resources
    cluster.form = description.form
    cluster.described_at = turn.now
    if description.by is not None:
        cluster.described_by = description.by
        cluster.digest = description.digest
    cluster.revision = world.revision
    turn.emit(SaveCluster(cluster))
    turn.emit(SaveDescription(cluster.name, description.stored))


def _create(turn: Turn, command: RegisterCluster) -> None:
    cluster = Cluster(
        name=command.name,
        registered_at=turn.now,
        secret_hash=command.secret_hash,
        token_hash=command.token_hash,
        offline_since=turn.now,
        generation=turn.world.generations.get(command.name, 0),
    )
    cluster.restate()
    turn.world.clusters[cluster.name] = cluster
    if command.description is None:
        turn.emit(SaveCluster(cluster))
    else:
        take(turn, cluster, command.description)


def _replace(turn: Turn, cluster: Cluster, description: Description) -> None:
    take(turn, cluster, description)
    waiting.wake(turn, cluster, all_of_them=True)
    auctions.open_ready(turn)


def _changed(command: RegisterCluster | DescribeCluster) -> Settled:
    words = f"the description of {command.name!r} was changed by somebody else meanwhile"
    return Settled(command.origin, command.name, "cluster_changed", words)
