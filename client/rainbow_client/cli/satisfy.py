"""`rainbow satisfy`."""

from typing import Any

import click

from rainbow_client.cli.frame import Invocation, common_options, with_client
from rainbow_client.cli.job_options import JobCommand, job_options, request_of
from rainbow_client.cli.json_lines import print_json
from rainbow_client.cli.screen import print_line, print_table, state_text
from rainbow_protocol.messages.client import SatisfyAnswer


@click.command(cls=JobCommand)
@job_options
@common_options
@click.pass_obj
def satisfy(invocation: Invocation, /, words: tuple[str, ...], **options: Any) -> int:
    """Ask which clusters could hold a job, online or not, without submitting it.

    The job is given as for `rainbow submit`. Exits with 0 if there is one, with 1 if there is none.
    """
    request = request_of(words, **options)
    answer = with_client(invocation, lambda client: client.satisfy(request))
    if invocation.json:
        print_json(satisfy_document(answer))
    else:
        _print(answer)
    return 0 if answer.matches else 1


def satisfy_document(answer: SatisfyAnswer) -> dict[str, Any]:
    return {
        "matches": [
            {"cluster": one.cluster, "instances": one.instances, "nodes_matched": one.nodes_matched}
            for one in answer.matches
        ],
        "mismatches": [
            {"cluster": one.cluster, "reason": one.reason, "needed": one.needed, "have": one.have}
            for one in answer.mismatches
        ],
    }


def _print(answer: SatisfyAnswer) -> None:
    if not answer.matches and not answer.mismatches:
        print_line("No clusters. `rainbow clusters` lists those that you may use.")
        return
    rows = [(one.cluster, state_text("yes"), str(one.instances), str(one.nodes_matched), "") for one in answer.matches]
    rows += [(one.cluster, state_text("no"), "-", "-", one.reason) for one in answer.mismatches]
    print_table(["CLUSTER", "FITS", ">TIMES", ">NODES", "WHY NOT"], rows)
