"""What a process writes to its log, seen from outside: the lines on its standard error."""

import json
import subprocess
import sys
from typing import Any

PREAMBLE = """
import logging, sys
import structlog
from rainbow_protocol.service.logs import set_up_logs
set_up_logs({log_format!r}, "info")
log = structlog.get_logger()
"""
FORGERY = "x\n2026-01-01T00:00:00Z [error    ] forged\r\x1b[2K\u2028y"


def lines(log_format: str, script: str) -> list[str]:
    program = PREAMBLE.format(log_format=log_format) + f"FORGERY = {FORGERY!r}\n" + script
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, timeout=60, check=True)
    return ran.stderr.decode().removesuffix("\n").split("\n")


def objects(script: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in lines("json", script)]


def test_in_a_pipe_each_line_is_a_json_object() -> None:
    (line,) = lines("auto", "log.info('job ended', job='0123456789ab', exit_code=0)")
    event = json.loads(line)
    assert event.pop("timestamp").endswith("Z")
    assert event == {"event": "job ended", "level": "info", "job": "0123456789ab", "exit_code": 0}


def test_text_is_one_line_for_each_event() -> None:
    (line,) = lines("text", "log.info('job ended', job='0123456789ab')")
    assert "[info" in line
    assert "job=0123456789ab" in line


def test_data_never_forges_a_line() -> None:
    script = "log.info(FORGERY, value=FORGERY, many=[FORGERY], **{FORGERY: 1})"
    (line,) = lines("text", script)
    assert line.isprintable()
    assert line.count("forged") == 4
    (event,) = objects(script)
    assert event["event"] == event["value"] == event["many"][0] == FORGERY


def test_an_exception_never_forges_a_line() -> None:
    script = "try: raise ValueError(FORGERY)\nexcept ValueError: log.exception('failed')"
    first, *trace = lines("text", script)
    assert "failed" in first
    assert any("ValueError: x" in line for line in trace)
    assert all(line.startswith("    ") and line.isprintable() for line in trace)
    (event,) = objects(script)
    assert event["exception"][0]["exc_value"] == FORGERY


def test_local_variables_never_reach_the_log() -> None:
    """Secrets and tokens are among them."""
    script = "token = 'rbt_' + 'hidden'\ntry: 1 / 0\nexcept ZeroDivisionError: log.exception('failed')"
    for log_format in ("text", "json"):
        assert "rbt_hidden" not in "".join(lines(log_format, script))


def test_no_value_makes_logging_fail() -> None:
    script = "log.info('odd', number=10**30, name='\\udcff', thing=object(), **{'bytes': b'x'})"
    (event,) = objects(script)
    assert event["number"] == 10**30
    assert event["name"] == "\udcff"
    assert len(lines("text", script)) == 1


def test_libraries_write_in_the_same_form() -> None:
    script = "logging.getLogger('asyncio').warning('slow %s', FORGERY)\nlogging.getLogger('asyncio').info('chatter')"
    (event,) = objects(script)
    assert (event["logger"], event["level"]) == ("asyncio", "warning")
    assert event["event"] == f"slow {FORGERY}"
    assert len(lines("text", script)) == 1


def test_below_its_level_nothing_is_written() -> None:
    assert lines("json", "log.debug('detail')") == [""]
