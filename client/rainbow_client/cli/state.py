"""`rainbow state`: what policies see of a cluster beside its resources, and the site's own keys of it."""

from pathlib import Path

import click

from rainbow_client.cli.frame import Invocation, common_options, with_client
from rainbow_client.cli.json_lines import print_json
from rainbow_client.cli.registrar import secret_option, with_registrar
from rainbow_client.cli.screen import print_line, print_table, print_words, state_text
from rainbow_client.cluster_words import state_rows
from rainbow_client.wishes import read_pairs


class _ShowByDefault(click.Group):
    """`rainbow state CLUSTER` is `rainbow state show CLUSTER`."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in self.commands and not args[0].startswith("-"):
            args = ["show", *args]
        return super().resolve_command(ctx, args)


@click.group(cls=_ShowByDefault, subcommand_metavar="CLUSTER | set CLUSTER K=V... | unset CLUSTER K...")
@common_options
def state() -> None:
    """Show, set or unset the state of a cluster: keys such as cost_per_node_hour, which policies see."""


@state.command()
@common_options
@click.argument("cluster")
@click.pass_obj
def show(invocation: Invocation, cluster: str) -> None:
    """Show what is known of a cluster's state. `rainbow state CLUSTER` does the same."""
    shown = with_client(invocation, lambda client: client.show_cluster(cluster))
    if invocation.json:
        print_json({"cluster": shown.name, "state": shown.state, "draining": shown.draining, "keys": shown.keys})
        return
    draining = "" if shown.draining is None else f", draining: {shown.draining}"
    print_words(shown.name, "  ", state_text(shown.state), draining)
    if shown.keys:
        print_table(["KEY", "VALUE"], state_rows(shown.keys))
    else:
        print_line("It has no keys. Its agent tells some, and `rainbow state set` adds to them.")


@state.command(name="set")
@secret_option
@common_options
@click.argument("cluster")
@click.argument("pairs", metavar="K=V...", nargs=-1, required=True)
@click.pass_obj
def set_(invocation: Invocation, secret_file: Path | None, cluster: str, pairs: tuple[str, ...]) -> None:
    """Set keys of a cluster's state. Numbers, true and false are read as such; what is quoted ('"3"') is text."""
    keys = read_pairs(pairs)
    with_registrar(invocation, secret_file, lambda client: client.set_state(cluster, keys))
    if invocation.json:
        print_json({"cluster": cluster, "set": keys, "unset": []})
        return
    print_line(f"{cluster}: {', '.join(keys)} set. Policies see it from the next auction on.")


@state.command()
@secret_option
@common_options
@click.argument("cluster")
@click.argument("keys", metavar="K...", nargs=-1, required=True)
@click.pass_obj
def unset(invocation: Invocation, secret_file: Path | None, cluster: str, keys: tuple[str, ...]) -> None:
    """Take back keys that were set. What a cluster's agent tells is not touched."""
    with_registrar(invocation, secret_file, lambda client: client.set_state(cluster, unset=keys))
    if invocation.json:
        print_json({"cluster": cluster, "set": {}, "unset": list(keys)})
        return
    print_line(f"{cluster}: {', '.join(keys)} unset.")
