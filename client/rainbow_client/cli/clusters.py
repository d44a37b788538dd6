"""`rainbow clusters` and `rainbow clusters show`."""

import sys
from collections.abc import Iterator
from datetime import datetime
from typing import TYPE_CHECKING

import click
import orjson

from rainbow_client.cli.documents import cluster_document, shown_document
from rainbow_client.cli.frame import Invocation, common_options, with_client
from rainbow_client.cli.json_lines import print_json
from rainbow_client.cli.screen import print_line, print_table, print_words, state_text
from rainbow_client.cluster_words import forecast_words, state_rows
from rainbow_protocol.amounts import amount_words, number_words

if TYPE_CHECKING:
    from rainbow_client.client import Client
    from rainbow_protocol.messages.client import ClusterShown, NodeKind


@click.group(invoke_without_command=True)
@common_options
@click.pass_context
def clusters(ctx: click.Context) -> None:
    """List the clusters that you may use, with what they have and what is free."""
    if ctx.invoked_subcommand is None:
        _list(ctx.ensure_object(Invocation))


def _list(invocation: Invocation) -> None:
    told = with_client(invocation, lambda client: client.clusters())
    found = [cluster_document(cluster) for cluster in told]
    if invocation.json:
        print_json(found)
        return
    if not found:
        print_line("No clusters. `rainbow register cluster NAME` makes one known to the daemon.")
        return
    memory = [cluster.counts.get("memory") for cluster in told]
    known = any(amount is not None for amount in memory)
    print_table(
        # FREE is of what stands before it. So a name of some length has room in 80 columns.
        [
            "CLUSTER",
            "STATE",
            ">NODES",
            *([">MEMORY"] * known),
            ">CORES",
            ">FREE",
            ">GPUS",
            ">FREE",
            ">RUNNING",
            ">QUEUED",
        ],
        [
            (
                cluster["name"],
                state_text("draining" if cluster["draining"] and cluster["state"] == "online" else cluster["state"]),
                _number(cluster["nodes"]),
                *(["-" if amount is None else number_words("memory", amount)] * known),
                *(_number(number) for key in ("cores", "gpus") for number in (cluster[key], cluster["free"].get(key))),
                *(_number(cluster["free"].get(key)) for key in ("running", "queued")),
            )
            for cluster, amount in zip(found, memory, strict=True)
        ],
    )


@clusters.command()
@click.option("--tree", is_flag=True, help="The graph in brief: equal things once, with their number.")
@common_options
@click.argument("name")
@click.pass_obj
def show(invocation: Invocation, tree: bool, name: str) -> None:
    """Show what a cluster has: counts, kinds of node, subsystems. With --json all of it, the whole graph included."""
    if tree and invocation.json:
        raise click.UsageError("--tree is for reading; --json has all of it")
    if invocation.json:
        with_client(invocation, lambda client: _print_all(client, name))
        return
    shown = with_client(invocation, lambda client: client.show_cluster(name))
    if tree:
        for line in shown.tree:
            print_line(line)
        if shown.tree:
            return
    _print_summary(shown)


async def _print_all(client: "Client", name: str) -> None:
    """The graph is passed on as it comes: it may be larger than anybody wants to hold."""
    shown = await client.show_cluster(name)
    summary = orjson.dumps(shown_document(shown))
    out = sys.stdout.buffer
    if shown.described not in ("graph", "limits"):
        out.write(summary[:-1] + b',"document":null}\n')
        return
    begun = False
    async for piece in client.cluster_graph(name):
        if not begun:  # an error before this is the only thing that is printed
            out.write(summary[:-1] + b',"document":')
            begun = True
        out.write(piece)
    out.write(b"}\n")


def _print_summary(shown: "ClusterShown") -> None:
    print_words(shown.name, "  ", state_text(shown.state), _described(shown))
    for line in _more(shown):
        print_words(line)
    if shown.counts:
        _print_counts(shown)
    if rows := state_rows(shown.keys):
        print_line("")
        print_table(["KEY", "VALUE"], rows)


def _more(shown: "ClusterShown") -> Iterator[str]:
    if shown.draining is not None:
        yield f"Draining{': ' if shown.draining else ''}{shown.draining}. It takes no new jobs; those it has go on."
    if shown.groups:
        yield f"Groups {', '.join(shown.groups)}"
    if words := forecast_words(shown.keys):
        yield f"Forecasts {words}"


def _print_counts(shown: "ClusterShown") -> None:
    print_line("")
    print_table(["TYPE", ">COUNT"], [(kind, number_words(kind, count)) for kind, count in shown.counts.items()])
    if shown.kinds:
        print_line("")
        print_table([">NODES", "~HOSTS", "EACH HAS"], [_kind_row(kind) for kind in shown.kinds])
        if shown.kinds_more:
            print_line(f"and {shown.kinds_more} more kinds of node")
    if shown.subsystems:
        print_line("")
        print_table(
            ["SUBSYSTEM", ">VERTICES", ">ATTACHED TO", "TYPES"],
            [
                (
                    one.name,
                    str(one.vertices),
                    str(one.attached_to),
                    ", ".join(amount_words(kind, count) for kind, count in one.types.items()),
                )
                for one in shown.subsystems
            ],
        )


def _kind_row(kind: "NodeKind") -> tuple[str, str, str]:
    each = ", ".join(amount_words(thing, amount) for thing, amount in kind.contents.items()) or "nothing"
    more = [*kind.properties, *(f"{key}={value}" for key, value in kind.attributes.items())]
    more += [f"+{name}" for name in kind.subsystems]
    return str(kind.nodes), kind.hosts, each + (f" [{', '.join(more)}]" if more else "")


def _described(shown: "ClusterShown") -> str:
    if shown.described is None:
        return "  not described yet: its agent does that when it comes, or `rainbow register cluster --nodes-json`"
    told = {"graph": "a graph", "limits": "its limits", "totals": "its totals"}[shown.described]
    by = {"registration": " at its registration", "agent": " by its agent"}.get(shown.described_by or "", "")
    at = "" if shown.described_at is None else f", {datetime.fromtimestamp(shown.described_at):%Y-%m-%d %H:%M:%S}"
    return f"  told as {told}{by}{at}"


def _number(value: int | None) -> str:
    return "-" if value is None else str(value)
