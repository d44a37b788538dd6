"""docs/operations.md names every setting, with the default that the code has."""

import re
from pathlib import Path

from rainbowd.config import DaemonSettings

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "operations.md").read_text()


def documented(heading: str) -> dict[str, str]:
    """Key and default of each row in the table under a heading."""
    section = PAGE.split(f"### {heading}", 1)[1].split("\n#", 1)[0]
    rows = re.findall(r"^\| `([a-z_.]+)` \| (.*?) \|", section, flags=re.MULTILINE)
    return {key: default.strip("`") for key, default in rows}


def test_the_daemons_settings_are_documented_with_their_defaults() -> None:
    rows = documented("The daemon")
    assert rows.keys() == DaemonSettings.model_fields.keys()
    for key, field in DaemonSettings.model_fields.items():
        default = field.default
        words = "" if default is None else f"{default:g}" if isinstance(default, float) else str(default)
        assert rows[key] == words, key
