"""`rainbow explain`: the story of a job."""

import shlex
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

import click
from rich.text import Text

from rainbow_client.cli.documents import explain_document
from rainbow_client.cli.frame import Invocation, common_options, with_client
from rainbow_client.cli.json_lines import print_json
from rainbow_client.cli.screen import print_line, print_table, print_words, state_text, styled
from rainbow_client.repetition import again_words, told_auctions, told_events
from rainbow_client.request_words import constraint_words, required_lines, task_names
from rainbow_client.story import POLICIES, Auction, auctions, sentence
from rainbow_client.wording import cost_words, eta_words, shape_words, shorten
from rainbow_protocol.limits import COMMAND_SHOWN_CHARS_MAX
from rainbow_protocol.messages.client import Explanation

if TYPE_CHECKING:
    from rainbow_client.client import Client

TASK_NAMES_CHARS_MAX = 400  # there may be hundreds


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
    print_words(styled(f"Job {explanation.job}", "bold"), "  ", state_text(explanation.state), _because(explanation))
    if explanation.request is not None:
        command = shorten(shlex.join(explanation.request.command), COMMAND_SHOWN_CHARS_MAX)
        print_line(f"Command {command}")  # as it is: somebody may want to copy it
    for line in _what_and_when(explanation):
        print_words(line)
    rule = POLICIES.get(explanation.policy)
    print_words(f"Policy {explanation.policy}" + (f": {rule}" if rule else ""))
    rounds = auctions(explanation.history)
    for told in told_auctions(rounds):
        print_line("")
        title = f"Auction {told.number} of {len(rounds)}" if len(rounds) > 1 else "The auction"
        print_auction(told.one, title, again=told.again)
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
    print_table(["TIME", ">AFTER", "EVENT"], _happened(explanation), indent=2)


def print_auction(auction: Auction, title: str, indent: int = 2, again: Sequence[float] = ()) -> None:
    """`again` is when auctions after this one came to the same."""
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
    outcome = f": {auction.outcome}" if auction.outcome else ""
    if auction.winner:
        print_words("  ", styled(f"{auction.winner} won", "bold green"), outcome, hang=4)
    elif not auction.open:
        print_words(f"{margin}  nobody won", outcome, _again(auction, again), hang=indent + 2)


def _again(auction: Auction, again: Sequence[float]) -> str:
    if not again:
        return ""
    first, last = (datetime.fromtimestamp(at).astimezone() for at in (auction.at, again[-1]))
    when = last.strftime("%H:%M:%S" if last.date() == first.date() else "%Y-%m-%d %H:%M:%S")
    return f" (and {again_words(len(again))}, {'the last ' if len(again) > 1 else ''}at {when})"


def _happened(explanation: Explanation) -> Iterator[tuple[str, str, str]]:
    started = explanation.history[0].at if explanation.history else 0.0

    def row(at: float, words: str) -> tuple[str, str, str]:
        return datetime.fromtimestamp(at).astimezone().strftime("%H:%M:%S"), f"+{at - started:.3f}s", words

    for events, again in told_events(explanation.history):
        for event in events:
            # The table above has each cluster's reason, and the head has the job's.
            told_above = event.event == "rejected" and explanation.clusters
            yield row(event.at, "rejected" if told_above else sentence(event))
        if again:
            yield row(again[-1].at, f"the same {again_words(len(again))}")


def _what_and_when(explanation: Explanation) -> Iterator[str]:
    """What the job asks for; the date, since the story below has only times."""
    request = explanation.request
    if request is not None:
        only = f", only on {' or '.join(request.clusters)}" if request.clusters else ""
        yield f"Asks for {shape_words(request.shape.model_dump())}{only}"
        yield from required_lines(request)
        if request.constraint is not None:
            yield f"On nodes {constraint_words(request.constraint)}"
        if names := task_names(request):
            yield f"Tasks {shorten(', '.join(names), TASK_NAMES_CHARS_MAX)}"
    if explanation.history:
        yield f"Submitted {datetime.fromtimestamp(explanation.history[0].at).astimezone():%Y-%m-%d %H:%M:%S}"


def _because(explanation: Explanation) -> str:
    where = f" on {explanation.winner}" if explanation.winner else ""
    return where + (f": {explanation.reason}" if explanation.reason else "")
