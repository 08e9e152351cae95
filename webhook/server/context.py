"""
``ServerContext``: the settings and the tools that the parts of one server share.

It exists before the API server answers. Nothing here starts or decides anything.
"""

import socket
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from webhook.config.configuration import Configuration
from webhook.config.settings import Settings
from webhook.server.http.limits import Limits
from webhook.server.verdict_log import VerdictLog
from webhook.telemetry.logs import Log
from webhook.telemetry.metrics import Metrics

if TYPE_CHECKING:
    from webhook.cluster.client import Api

NAMESPACE_FILE = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerContext:
    """
    What the parts of a server are built from.

    Attributes:
        configuration: The configuration as read at the start.
        api: None without a cluster.
        now: The wall clock: aware, UTC.
    """

    settings: Settings
    configuration: Configuration
    limits: Limits
    api: "Api | None"
    log: Log
    verdict_log: VerdictLog
    now: Callable[[], datetime]
    metrics: Metrics = field(default_factory=Metrics)

    @property
    def replica(self) -> str:
        """The name of this replica: as set, else the host name, which is that of the pod."""
        return self.settings.replica or socket.gethostname()

    @property
    def namespace(self) -> str:
        """The namespace of this replica; empty if neither the settings nor a pod name it."""
        try:
            return self.settings.namespace or NAMESPACE_FILE.read_text(encoding="utf-8").strip()
        except OSError:
            return ""
