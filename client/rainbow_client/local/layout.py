"""Where things lie in a federation's directory.

rainbow-config.yaml        the client's configuration
rainbowd.yaml              the daemon's; rainbowd.url is written by the daemon when it is ready
registration-secret
state/rainbow.db
agents/NAME.yaml           one for each cluster, with its state in agents/NAME/
agents/.deleted/           the same of clusters that were deleted from the daemon
run/NAME.pid               one for each process
logs/NAME.log
"""

from dataclasses import dataclass
from pathlib import Path

from rainbow_client.config_search import FILE_NAME

DAEMON = "rainbowd"
_DIRECTORIES = ("state", "agents", "run", "logs")


@dataclass(frozen=True, slots=True)
class Layout:
    root: Path

    def make(self) -> None:
        """A directory that somebody else made keeps its mode: the secrets lie in files and directories of our own."""
        self.root.mkdir(mode=0o700, parents=True, exist_ok=True)
        for name in _DIRECTORIES:
            (self.root / name).mkdir(mode=0o700, exist_ok=True)

    def is_foreign(self) -> bool:
        """Holds things, but no federation, not even the beginnings of one."""
        if self.daemon_config.exists() or not self.root.is_dir():
            return False
        ours = {*_DIRECTORIES, self.registration_secret.name}
        return any(entry.name not in ours for entry in self.root.iterdir())

    @property
    def client_config(self) -> Path:
        return self.root / FILE_NAME

    @property
    def daemon_config(self) -> Path:
        return self.root / "rainbowd.yaml"

    @property
    def ready_file(self) -> Path:
        return self.root / "rainbowd.url"

    @property
    def registration_secret(self) -> Path:
        return self.root / "registration-secret"

    @property
    def database(self) -> Path:
        return self.root / "state" / "rainbow.db"

    @property
    def lock(self) -> Path:
        return self.root / "run" / "lock"

    def agent_config(self, name: str) -> Path:
        return self.root / "agents" / f"{name}.yaml"

    def agent_state(self, name: str) -> Path:
        return self.root / "agents" / name

    def pid_file(self, process: str) -> Path:
        return self.root / "run" / f"{process}.pid"

    def log_file(self, process: str) -> Path:
        return self.root / "logs" / f"{process}.log"

    def put_aside(self, name: str) -> Path:
        """Move an agent's configuration and state out of the way, to where nobody looks for agents."""
        number = 1
        while (aside := self.root / "agents" / ".deleted" / f"{name}-{number}").exists():
            number += 1
        aside.mkdir(mode=0o700, parents=True)
        self.agent_config(name).rename(aside / self.agent_config(name).name)
        if self.agent_state(name).exists():
            self.agent_state(name).rename(aside / "state")
        return aside

    def agents(self) -> list[str]:
        """The clusters that have a configuration here, oldest first."""
        found = sorted((self.root / "agents").glob("*.yaml"), key=lambda path: (path.stat().st_mtime_ns, path.name))
        return [path.stem for path in found]
