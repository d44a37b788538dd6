"""From the configuration to what the agent's parts take."""

from collections.abc import Callable

from rainbow_agent.backends.launching import LocalSettings
from rainbow_agent.clock import SiteClock
from rainbow_agent.config import AgentSettings
from rainbow_agent.core.machine import MachineSettings
from rainbow_agent.core.model import Totals
from rainbow_agent.core.pricing import Pricing, Tariff
from rainbow_agent.core.site_state import Keys, Value
from rainbow_agent.price_function import SitePrice
from rainbow_agent.state_dir import StateDir


def machine_settings(settings: AgentSettings, totals: Totals, to_wall_s: Callable[[], float]) -> MachineSettings:
    clock = SiteClock(settings.time_zone, to_wall_s)
    return MachineSettings(
        totals,
        default_time_limit_s=settings.default_time_limit_s,
        queue_max=settings.queue_max,
        pricing=_pricing(settings, totals, clock),
        rules=settings.rules.rules(),
        calendar=clock.calendar,
        keys=_keys(settings),
    )


def _pricing(settings: AgentSettings, totals: Totals, clock: SiteClock) -> Pricing:
    price = settings.price
    queues = {name: queue.price_list() for name, queue in price.queues.items()}
    tariff = Tariff(totals, price.price_list(), queues, clock.calendar)
    function = settings.load_price_function()
    return tariff if function is None else SitePrice(function, totals, tariff, clock.when)


def _keys(settings: AgentSettings) -> Keys:
    """What policies may want to know of the prices: the usual ones, unless a function makes them."""
    keys: dict[str, Value] = {}
    if settings.currency is not None:
        keys["currency"] = settings.currency
    if settings.price_function is None:
        prices = settings.price.prices()
        named = {
            "cost_per_node_hour": prices.per_node_hour,
            "cost_per_core_hour": prices.per_core_hour,
            "cost_per_gpu_hour": prices.per_gpu_hour,
        }
        keys |= {key: price for key, price in named.items() if price}
    return keys


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
