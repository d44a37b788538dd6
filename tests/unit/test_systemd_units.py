"""The units, as systemd itself reads and rates them."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

UNITS = Path(__file__).resolve().parents[2] / "systemd"
# The lower the better. The agent's sandbox is that of the jobs it runs, so it cannot be as tight.
EXPOSURE_MAX = {"rainbowd.service": 1.5, "rainbow-agent@.service": 4.5}

needs_systemd = pytest.mark.skipif(
    shutil.which("systemd-analyze") is None,
    reason="systemd-analyze is not installed, so nobody here can rate the units",
)


def settings(unit: str) -> dict[str, str]:
    """The last value of each key; enough for units that set none twice but the system-call filter."""
    lines = (UNITS / unit).read_text().splitlines()
    return dict(line.split("=", 1) for line in lines if re.match(r"[A-Z][A-Za-z]*=", line))


@needs_systemd
@pytest.mark.parametrize("unit", EXPOSURE_MAX)
def test_systemd_finds_no_fault(unit: str, tmp_path: Path) -> None:
    # `verify` wants the program to exist, and Rainbow need not be installed in /opt here.
    text = re.sub(r"^ExecStart=\S+", "ExecStart=/bin/true", (UNITS / unit).read_text(), flags=re.MULTILINE)
    (tmp_path / unit).write_text(text)
    instance = tmp_path / unit.replace("@.", "@west.")
    ran = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", str(instance)], capture_output=True, text=True, check=False
    )
    # Faults of the machine's own units are told too; only ours concern us.
    ours = [line for line in ran.stderr.splitlines() if "rainbow" in line]
    assert not ours
    assert ran.returncode == 0, ran.stderr


@needs_systemd
@pytest.mark.parametrize(("unit", "most"), EXPOSURE_MAX.items())
def test_systemd_rates_the_sandbox_well(unit: str, most: float) -> None:
    ran = subprocess.run(
        ["systemd-analyze", "security", "--offline=true", "--no-pager", str(UNITS / unit)],
        capture_output=True,
        text=True,
        check=False,
    )
    if "Unknown" in ran.stderr or "unrecognized option" in ran.stderr:
        pytest.skip("this systemd-analyze cannot rate a unit file that is not loaded (older than 250)")
    rating = re.search(r"Overall exposure level for \S+: ([\d.]+)", ran.stdout)
    assert rating, ran.stdout + ran.stderr
    assert float(rating[1]) <= most


@pytest.mark.parametrize("unit", EXPOSURE_MAX)
def test_both_tell_systemd_how_they_are(unit: str) -> None:
    unit_settings = settings(unit)
    assert unit_settings["Type"] == "notify"
    assert unit_settings["NotifyAccess"] == "main"
    assert unit_settings["Restart"] == "on-failure"
    assert unit_settings["User"] not in ("", "root")
    assert "WatchdogSec" in unit_settings


def test_jobs_survive_a_restart_of_the_agent() -> None:
    agent = settings("rainbow-agent@.service")
    assert agent["KillMode"] == "process"
    assert agent["OOMPolicy"] == "continue"
    # Each of these would take something away from jobs that run on without their agent.
    assert agent["RemoveIPC"] == "no"
    assert not {"PrivateTmp", "DynamicUser", "RuntimeDirectory"} & set(agent)


def test_jobs_cannot_read_what_is_the_daemons() -> None:
    assert settings("rainbowd.service")["User"] != settings("rainbow-agent@.service")["User"]
    accounts = (UNITS / "rainbow.sysusers").read_text()
    for unit in EXPOSURE_MAX:
        assert re.search(rf"^u {settings(unit)['User']} ", accounts, flags=re.MULTILINE)
