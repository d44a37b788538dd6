"""docs/operations.md names every setting, with the default that the code has; the examples are valid."""

import re
from pathlib import Path

import pytest

from rainbow_agent.config import AgentSettings
from rainbow_protocol.service.settings import ServiceSettings
from rainbowd.config import DaemonSettings

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "operations.md").read_text()


def documented(heading: str) -> dict[str, str]:
    """Key and default of each row in the table under a heading."""
    section = PAGE.split(f"### {heading}", 1)[1].split("\n#", 1)[0]
    rows = re.findall(r"^\| `([a-z_]+)` \|(.*?)\|", section, flags=re.MULTILINE)
    return {key: default.strip() for key, default in rows}


def words(default: object) -> str:
    if default is None:
        return ""
    return f"`{default:.15g}`" if isinstance(default, float) else f"`{default}`"


@pytest.mark.parametrize(
    ("heading", "settings"), [("The daemon: `rainbowd", DaemonSettings), ("The agent: `rainbow-agent", AgentSettings)]
)
def test_every_setting_is_documented_with_its_default(heading: str, settings: type[ServiceSettings]) -> None:
    rows = documented(heading)
    assert set(rows) == set(settings.model_fields)
    for key, field in settings.model_fields.items():
        if field.default_factory is None and isinstance(field.default, str | int | float | Path | None):
            assert rows[key] == words(field.default), key


def test_the_example_configurations_are_valid() -> None:
    DaemonSettings.load(ROOT / "systemd" / "rainbowd.yaml.example", {})
    # NAME stands for the cluster's name.
    AgentSettings.load(ROOT / "systemd" / "rainbow-agent.yaml.example", {"name": "west"})
