"""From the configuration to what the agent's parts take."""

from collections.abc import Callable

from rainbow_agent.backends.launching import LocalSettings
from rainbow_agent.clock import calendar
from rainbow_agent.config import AgentSettings
from rainbow_agent.core.machine import MachineSettings
from rainbow_agent.core.model import Totals
from rainbow_agent.core.pricing import Prices
from rainbow_agent.state_dir import StateDir


def machine_settings(settings: AgentSettings, totals: Totals, to_wall_s: Callable[[], float]) -> MachineSettings:
    return MachineSettings(
        totals,
        Prices(**settings.price.model_dump()),
        default_time_limit_s=settings.default_time_limit_s,
        queue_max=settings.queue_max,
        rules=settings.rules.rules(),
        calendar=calendar(settings.time_zone, to_wall_s),
    )


def local_settings(settings: AgentSettings, state_dir: StateDir, cluster: Callable[[], str]) -> LocalSettings:
    return LocalSettings(
        totals=settings.totals(),
        jobs_dir=state_dir.jobs,
        workdir=settings.job_workdir(),
        cluster=cluster,
        kill_grace_s=settings.kill_grace_s,
        output_bytes_max=settings.output_bytes_max,
        kept_jobs_max=settings.kept_jobs_max,
        kept_bytes_max=settings.kept_bytes_max,
        container_command=tuple(settings.container_command),
        ignore_images=settings.images == "ignore",
        queues=tuple(settings.queues),
        nodes_json=settings.nodes_json,
        labels=settings.labels,
        properties=tuple(settings.properties),
        memory_per_node=settings.memory_per_node,
    )
