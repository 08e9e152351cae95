"""The fault cases, by number. A test names those that it shows by ``@pytest.mark.fault(1)``."""

from collections.abc import Mapping
from types import MappingProxyType

CASES: Mapping[int, str] = MappingProxyType(
    dict(
        enumerate(
            (
                "API server restarts",
                "watch answered with 410 Gone",
                "etcd compacts its history",
                "etcd is down or paused",
                "watch connection is half-open",
                "watch stream carries garbage",
                "serving certificate rotates under load",
                "CA rotates under load",
                "replicas race to create the CA",
                "CA Secret is damaged, deleted or foreign",
                "another client overwrites caBundle",
                "webhook configuration is deleted",
                "clocks are skewed, jump or stand still",
                "rolling restart under load",
                "replica is killed with calls in flight",
                "replica is killed while it writes the CA",
                "slow clients",
                "abused TLS handshakes",
                "huge bodies",
                "large objects",
                "malformed bodies",
                "valid reviews with odd values",
                "another webhook changes the object before our patch",
                "our patch applied equals the stored object",
                "overload",
                "event loop is blocked",
                "our API token or the API server's CA rotates",
                "permissions are removed and restored",
                "dry runs have no side effects",
                "soak with mixed faults",
                "audit after fail-open",
            ),
            1,
        )
    )
)
"""Number -> title."""
