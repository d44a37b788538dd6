"""structlog, readable on a terminal, one JSON object a line elsewhere. A newline in data never forges a line."""

import io
import json
import logging
import re
import sys
import traceback
from typing import Any, Literal

import orjson
import structlog

LogFormat = Literal["auto", "text", "json"]
LogLevel = Literal["debug", "info", "warning", "error"]

_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")


def set_up_logs(log_format: LogFormat, level: LogLevel) -> None:
    as_text = sys.stderr.isatty() if log_format == "auto" else log_format == "text"
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            *(_text() if as_text else _json()),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(_number(level)),
        logger_factory=structlog.WriteLoggerFactory(sys.stderr),
        cache_logger_on_first_use=True,
    )
    # Libraries speak through the standard logging; only their warnings concern us, in the same form as ours.
    logging.basicConfig(level=logging.WARNING, handlers=[_FromLibraries()])
    logging.getLogger("websockets").setLevel(logging.CRITICAL)  # our sessions log their own ends


def _text() -> list[structlog.typing.Processor]:
    return [
        _escape_controls,
        structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty(), exception_formatter=_indented_traceback),
    ]


def _json() -> list[structlog.typing.Processor]:
    # Never the local variables of a traceback: secrets and tokens are among them.
    transformer = structlog.tracebacks.ExceptionDictTransformer(show_locals=False)
    return [
        structlog.processors.ExceptionRenderer(transformer),
        structlog.processors.JSONRenderer(serializer=_dumps),
    ]


class _FromLibraries(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        try:
            log = structlog.get_logger()
            log.log(record.levelno, record.getMessage(), logger=record.name, exc_info=record.exc_info)
        except Exception:  # as every handler of the standard logging does
            self.handleError(record)


def _escape_controls(_logger: Any, _method: str, event: structlog.typing.EventDict) -> structlog.typing.EventDict:
    return {_escaped(key): _escaped(value) if isinstance(value, str) else value for key, value in event.items()}


def _escaped(text: str) -> str:
    return text if text.isprintable() else _CONTROLS.sub(lambda match: repr(match[0])[1:-1], text)


def _indented_traceback(out: Any, exc_info: Any) -> None:
    """Every line of it indented, so that no exception's words can pass for a line of the log."""
    text = io.StringIO()
    traceback.print_exception(*exc_info, file=text)
    out.write("\n" + "\n".join("    " + _escaped(line) for line in text.getvalue().rstrip("\n").split("\n")))


def _number(level: LogLevel) -> int:
    return logging.getLevelNamesMapping()[level.upper()]


def _dumps(event: object, **_: object) -> str:
    try:
        return orjson.dumps(event, default=str, option=orjson.OPT_NON_STR_KEYS).decode()
    except orjson.JSONEncodeError:
        # What orjson refuses (a number beyond 64 bits, a file name that is not UTF-8) must not turn a log line into
        # an exception.
        return json.dumps(event, default=str)
