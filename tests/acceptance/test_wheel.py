"""What is published: the wheel, installed into clean environments, and the three commands as a person types them."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = {"rainbowd", "rainbow_agent", "rainbow_client", "rainbow_protocol"}

# One worker builds once and keeps both tests beside each other.
pytestmark = pytest.mark.xdist_group("wheel")


def run(*command: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=240, check=False)


def must(*command: str | Path) -> str:
    ran = run(*command)
    assert ran.returncode == 0, f"{command}: {ran.stdout}{ran.stderr}"
    return ran.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("dist")
    must(sys.executable, "-m", "build", "--wheel", "--outdir", out, ROOT)
    (built,) = out.glob("*.whl")
    return built


def version_of(wheel: Path) -> str:
    return wheel.name.split("-")[1]


def test_it_holds_the_four_packages_and_nothing_else(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    tops = {name.split("/")[0] for name in names}
    assert tops == PACKAGES | {f"rainbowd-{version_of(wheel)}.dist-info"}
    for package in PACKAGES:
        assert f"{package}/py.typed" in names
    assert any(name.endswith(".dist-info/licenses/LICENSE") for name in names)
    assert not [name for name in names if "test" in name or name.endswith(".pyc")]
    # SQL is read at run time: it must travel with the code.
    for source in (ROOT, ROOT / "agent"):
        for package in PACKAGES:
            assert {str(path.relative_to(source)) for path in (source / package).rglob("*.sql")} <= set(names)


def test_the_commands_work_from_a_clean_environment(wheel: Path, tmp_path: Path) -> None:
    version = version_of(wheel)
    venv = tmp_path / "venv"
    # pip of this environment installs into that one: making a second pip would take as long as all the rest.
    must(sys.executable, "-m", "venv", "--without-pip", venv)
    pip = [sys.executable, "-m", "pip", "--python", venv, "--disable-pip-version-check", "--no-input", "--quiet"]

    must(*pip, "install", wheel)
    assert run(venv / "bin/python", "-c", "import igraph").returncode != 0, "the light installation is not light"
    assert run(venv / "bin/python", "-c", "import aiosqlite").returncode != 0, "the light installation is not light"
    assert version in must(venv / "bin/rainbow", "--version")
    assert version in must(venv / "bin/rainbow-agent", "--version")
    for command in ("rainbow", "rainbow-agent"):
        assert "Usage" in must(venv / "bin" / command, "--help")
    bare = run(venv / "bin/rainbowd", "--version")
    assert "Traceback" not in bare.stderr
    if bare.returncode != 0:
        assert "rainbowd[daemon]" in bare.stderr, "without its libraries the daemon says what to install"
    started = run(venv / "bin/rainbowd", "--config", tmp_path / "none.yaml")
    assert started.returncode != 0
    assert "Traceback" not in started.stderr

    must(*pip, "install", f"rainbowd[daemon] @ {wheel.as_uri()}")
    assert version in must(venv / "bin/rainbowd", "--version")
    must(*pip, "check")
