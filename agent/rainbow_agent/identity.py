"""What this cluster is called: by the daemon, which goes by the secret; until it has spoken, by the configuration."""

import structlog

log = structlog.get_logger()


class Identity:
    def __init__(self, configured: str, remembered: str | None) -> None:
        """`remembered` is what the daemon said in an earlier life: jobs may be launched before its next word."""
        self._configured = configured
        self._remembered = remembered
        self._warned = False

    @property
    def name(self) -> str:
        return self._remembered or self._configured

    def learn(self, cluster: str, deliberate: bool) -> bool:
        """The daemon's word; True if it is news to remember. A `deliberate` other name was mixed up, or copied."""
        if deliberate and cluster != self._configured and not self._warned:
            self._warned = True
            log.warning(
                f"this secret belongs to cluster '{cluster}', but the configuration says '{self._configured}'; "
                f"jobs see RAINBOW_CLUSTER={cluster}"
            )
        news = cluster != self._remembered
        self._remembered = cluster
        return news
