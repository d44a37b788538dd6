"""`rainbow explain`: the story of a job."""

import shlex
from collections.abc import AsyncIterator, Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

import click
from rich.text import Text

from rainbow_client.cli.documents import explain_document, whole_document
from rainbow_client.cli.frame import Invocation, common_options, with_client
from rainbow_client.cli.json_lines import print_json
from rainbow_client.cli.screen import print_line, print_table, print_words, state_text, styled
from rainbow_client.errors import Refused
from rainbow_client.event_data import with_units
from rainbow_client.in_short import in_short
from rainbow_client.repetition import again_words, told_auctions, told_events
from rainbow_client.request_words import constraint_words, required_lines, task_names
from rainbow_client.sentences import sentence
from rainbow_client.story import Auction, auctions
from rainbow_client.whole import Whole, index_words, member_name
from rainbow_client.wish_words import policy_words, wish_lines
from rainbow_client.wording import cost_words, shape_words, shorten, start_words
from rainbow_protocol.errors import ErrorCode
from rainbow_protocol.limits import COMMAND_SHOWN_CHARS_MAX
from rainbow_protocol.messages.client import Explanation

if TYPE_CHECKING:
    from rainbow_client.client import Client

TASK_NAMES_CHARS_MAX = 400  # there may be hundreds
REASONS_TOLD_MAX = 20  # of an array, by state


@click.command()
@click.option("--all", "every", is_flag=True, help="The story of each job of an array.")
@common_options
@click.argument("jobs", metavar="JOB...", nargs=-1, required=True)
@click.pass_obj
def explain(invocation: Invocation, every: bool, jobs: tuple[str, ...]) -> None:
    """Tell why a job runs where it runs: who was asked, who was left out and why, each bid, who won."""

    async def ask(client: "Client") -> list[Explanation | Whole]:
        return [one for name in jobs async for one in _explained(client, name, every)]

    for position, told in enumerate(with_client(invocation, ask)):
        if invocation.json:
            print_json(whole_document(told) if isinstance(told, Whole) else explain_document(told))
            continue
        if position:
            print_line("")
        if isinstance(told, Whole):
            print_whole(told)
        else:
            print_story(told)


async def _explained(client: "Client", name: str, every: bool) -> AsyncIterator[Explanation | Whole]:
    try:
        yield await client.explain(name)
        return
    except Refused as refused:
        if refused.code != ErrorCode.UNKNOWN_JOB:
            raise
    [found] = await client.find(name)  # an array, or nothing that there is
    if not every:
        yield Whole(found.name.id, list(found.jobs))
        return
    for job in found.jobs:
        yield await client.explain(job.job)


def print_whole(whole: Whole) -> None:
    """An array: its jobs by state and reason. Each has a story of its own."""
    print_words(styled(f"Array {whole.array}", "bold"), "  ", state_text(whole.state), f": {whole.words}")
    print_table(
        [">JOBS", "STATE", "INDEX", "REASON"],
        [
            (str(len(jobs)), state_text(state), index_words(jobs), reason)
            for state, reason, jobs in whole.reasons()[:REASONS_TOLD_MAX]
        ],
        indent=2,
    )
    more = len(whole.reasons()) - REASONS_TOLD_MAX
    if more > 0:
        print_line(f"  and {more} more reasons")
    print_words(f"`rainbow explain {member_name(whole.jobs[0])}` tells the story of one of them.")


def print_story(explanation: Explanation) -> None:
    print_words(styled(f"Job {explanation.job}", "bold"), "  ", state_text(explanation.state), _because(explanation))
    if explanation.request is not None:
        command = shorten(shlex.join(explanation.request.command), COMMAND_SHOWN_CHARS_MAX)
        print_line(f"Command {command}")  # as it is: somebody may want to copy it
    for line in _what_and_when(explanation):
        print_words(line)
    print_words(policy_words(_policy(explanation), explanation.request.wishes if explanation.request else None))
    if sentences := list(in_short(explanation.history)):
        print_line("")
        print_words(" ".join(sentences), hang=0)
    rounds = auctions(explanation.history)
    held = sum(auction.moves_from is None for auction in rounds)
    for told in told_auctions(rounds):
        print_line("")
        if told.one.moves_from is not None:
            print_look(told.one, again=told.again)
            continue
        title = f"Auction {told.number} of {held}" if held > 1 else "The auction"
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
    _print_rows(auction, "← won", indent)
    outcome = f": {auction.outcome}" if auction.outcome else ""
    if auction.winner:
        print_words("  ", styled(f"{auction.winner} won", "bold green"), outcome, hang=4)
    elif not auction.open:
        print_words(f"{margin}  nobody won", outcome, _again(auction, again), hang=indent + 2)


def print_look(look: Auction, again: Sequence[float] = ()) -> None:
    """A look for a better place, while the job waited in a queue."""
    print_line(styled(f"A look for a better place, while it waited on {look.moves_from}", "bold"))
    _print_rows(look, "← moved here", 2)
    because = f": {look.outcome}" if look.outcome else ""
    if look.winner:
        print_words("  ", styled(f"it moved to {look.winner}", "bold green"), because, hang=4)
    elif look.open:
        print_words(f"  {look.moves_from} is asked to give it back", because, hang=4)
    else:
        print_words(f"  it stayed on {look.moves_from}", because, _again(look, again), hang=4)


def _print_rows(auction: Auction, won: str, indent: int) -> None:
    print_table(
        ["CLUSTER", "ANSWER", "START", ">COST", ""],
        [
            (
                styled(row.cluster, "bold" if row.won else ""),
                state_text(row.answer) if row.answer in ("yes", "no") else styled(row.answer, "dim"),
                start_words(row.eta_s, row.eta_low_s, row.eta_high_s),
                cost_words(row.cost),
                Text(won, style="bold green") if row.won else styled(row.reason, "dim"),
            )
            for row in auction.rows
        ],
        indent=indent,
    )


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
        yield from wish_lines(request.wishes)
        yield from required_lines(request)
        if request.constraint is not None:
            yield f"On nodes {constraint_words(request.constraint)}"
        if names := task_names(request):
            yield f"Tasks {shorten(', '.join(names), TASK_NAMES_CHARS_MAX)}"
    if explanation.history:
        yield f"Submitted {datetime.fromtimestamp(explanation.history[0].at).astimezone():%Y-%m-%d %H:%M:%S}"


def _policy(explanation: Explanation) -> str:
    """What decided; of a job that nobody got yet, what will."""
    decided = any(event.event == "awarded" for event in explanation.history)
    wished = explanation.request.wishes.policy if explanation.request else None
    return explanation.policy if decided or wished is None else wished


def _because(explanation: Explanation) -> str:
    where = f" on {explanation.winner}" if explanation.winner else ""
    return where + (f": {with_units(explanation.reason)}" if explanation.reason else "")
