"""`rainbow explain`: the story of a job."""

import shlex
from collections.abc import Iterator
from datetime import datetime
from typing import TYPE_CHECKING

import click
from rich.text import Text

from rainbow_client.cli.documents import explain_document
from rainbow_client.cli.frame import Invocation, common_options, with_client
from rainbow_client.cli.json_lines import print_json
from rainbow_client.cli.screen import print_line, print_table, state_text, styled
from rainbow_client.story import POLICIES, Auction, auctions, sentence
from rainbow_client.wording import cost_words, eta_words, shape_words, shorten
from rainbow_protocol.limits import COMMAND_SHOWN_CHARS_MAX
from rainbow_protocol.messages.client import Explanation

if TYPE_CHECKING:
    from rainbow_client.client import Client


@click.command()
@common_options
@click.argument("jobs", metavar="JOB...", nargs=-1, required=True)
@click.pass_obj
def explain(invocation: Invocation, jobs: tuple[str, ...]) -> None:
    """Tell why a job runs where it runs: who was asked, who was left out and why, each bid, who won."""

    async def ask(client: "Client") -> list[Explanation]:
        return [await client.explain(job) for job in jobs]

    for position, explanation in enumerate(with_client(invocation, ask)):
        if invocation.json:
            print_json(explain_document(explanation))
            continue
        if position:
            print_line("")
        print_story(explanation)


def print_story(explanation: Explanation) -> None:
    print_line(styled(f"Job {explanation.job}", "bold"), "  ", state_text(explanation.state), _because(explanation))
    for line in _what_and_when(explanation):
        print_line(line)
    rule = POLICIES.get(explanation.policy)
    print_line(f"Policy {explanation.policy}" + (f": {rule}" if rule else ""))
    rounds = auctions(explanation.history)
    for number, auction in enumerate(rounds, 1):
        print_line("")
        print_auction(auction, f"Auction {number} of {len(rounds)}" if len(rounds) > 1 else "The auction")
    if not rounds and explanation.clusters:
        print_line("")
        print_line(styled("No auction: no cluster could be asked", "bold"))
        print_table(
            ["CLUSTER", "WHY IT WAS LEFT OUT"],
            [(verdict.cluster, verdict.reason) for verdict in explanation.clusters],
            indent=2,
        )
    print_line("")
    print_line(styled("What happened", "bold"))
    first = explanation.history[0].at if explanation.history else 0.0
    print_table(
        ["TIME", ">AFTER", "EVENT"],
        [
            (
                datetime.fromtimestamp(event.at).astimezone().strftime("%H:%M:%S"),
                f"+{event.at - first:.3f}s",
                # The table above has each cluster's reason, and the head has the job's.
                "rejected" if event.event == "rejected" and explanation.clusters else sentence(event),
            )
            for event in explanation.history
        ],
        indent=2,
    )


def print_auction(auction: Auction, title: str, indent: int = 2) -> None:
    margin = " " * (indent - 2)
    print_line(margin, styled(title, "bold"))
    print_table(
        ["CLUSTER", "ANSWER", "START", ">COST", ""],
        [
            (
                styled(row.cluster, "bold" if row.won else ""),
                state_text(row.answer) if row.answer in ("yes", "no") else styled(row.answer, "dim"),
                eta_words(row.eta_s),
                cost_words(row.cost),
                Text("← won", style="bold green") if row.won else styled(row.reason, "dim"),
            )
            for row in auction.rows
        ],
        indent=indent,
    )
    if auction.winner:
        print_line(
            "  ", styled(f"{auction.winner} won", "bold green"), f": {auction.outcome}" if auction.outcome else ""
        )
    elif not auction.open:
        print_line(f"{margin}  nobody won", f": {auction.outcome}" if auction.outcome else "")


def _what_and_when(explanation: Explanation) -> Iterator[str]:
    """The command and its counts; the date, since the story below has only times."""
    request = explanation.request
    if request is not None:
        yield f"Command {shorten(shlex.join(request.command), COMMAND_SHOWN_CHARS_MAX)}"
        only = f", only on {' or '.join(request.clusters)}" if request.clusters else ""
        yield f"Asks for {shape_words(request.shape.model_dump())}{only}"
    if explanation.history:
        yield f"Submitted {datetime.fromtimestamp(explanation.history[0].at).astimezone():%Y-%m-%d %H:%M:%S}"


def _because(explanation: Explanation) -> str:
    where = f" on {explanation.winner}" if explanation.winner else ""
    return where + (f": {explanation.reason}" if explanation.reason else "")
