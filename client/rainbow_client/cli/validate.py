"""`rainbow validate`."""

import click

from rainbow_client.cli.frame import Invocation, common_options
from rainbow_client.cli.job_options import STDIN, format_option, read_document, tell_warnings
from rainbow_client.cli.json_lines import print_json
from rainbow_client.cli.screen import print_line, styled
from rainbow_client.request_words import request_lines
from rainbow_client.requests import read_jobspec


@click.command()
@format_option
@common_options
@click.argument("file", metavar="FILE", type=click.Path(dir_okay=False, allow_dash=True))
@click.pass_obj
def validate(invocation: Invocation, file: str, format: str | None) -> None:  # noqa: A002 - the option's name
    """Check the jobspec in FILE (- is stdin), and show the job that it describes. Asks no daemon.

    What of the document would not be used is told on stderr. With --json, the job as it would be submitted.
    """
    name = "standard input" if file == STDIN else file
    reading = read_jobspec(read_document(file), format=format, name=name)
    tell_warnings(file, reading.warnings)
    if invocation.json:
        print_json(reading.request.model_dump())
        return
    print_line(styled(name, "bold"), f" is a jobspec of the form {reading.format}")
    for line in request_lines(reading.request):
        print_line(line)
