"""structlog, readable on a terminal, one JSON object a line elsewhere. A newline in data never forges a line."""

import logging
import sys
from typing import Literal

import orjson
import structlog

LogFormat = Literal["auto", "text", "json"]
LogLevel = Literal["debug", "info", "warning", "error"]


def set_up_logs(log_format: LogFormat, level: LogLevel) -> None:
    as_text = sys.stderr.isatty() if log_format == "auto" else log_format == "text"
    processors: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    if as_text:
        renderer: structlog.typing.Processor = structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty())
        structlog.configure(
            processors=[*processors, renderer],
            wrapper_class=structlog.make_filtering_bound_logger(_number(level)),
            logger_factory=structlog.WriteLoggerFactory(sys.stderr),
            cache_logger_on_first_use=True,
        )
    else:
        structlog.configure(
            processors=[
                *processors,
                structlog.processors.dict_tracebacks,
                structlog.processors.JSONRenderer(serializer=_dumps),
            ],
            wrapper_class=structlog.make_filtering_bound_logger(_number(level)),
            logger_factory=structlog.WriteLoggerFactory(sys.stderr),
            cache_logger_on_first_use=True,
        )
    # Libraries speak through the standard logging; only their warnings concern us.
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr, format="%(levelname)s %(name)s %(message)s")
    logging.getLogger("websockets").setLevel(logging.CRITICAL)  # our sessions log their own ends


def _number(level: LogLevel) -> int:
    return logging.getLevelNamesMapping()[level.upper()]


def _dumps(event: object, **_: object) -> str:
    return orjson.dumps(event, default=str, option=orjson.OPT_NON_STR_KEYS).decode()
