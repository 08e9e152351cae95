"""``evenspread serve`` with a real API server: its pages, metrics and log."""

from tests.controlplane.plane import ControlPlane
from tests.e2e.replica import Replica


def test_each_cache_is_listed_on_the_readiness_page(replica: Replica) -> None:
    lines = replica.page("/readyz?verbose").splitlines()

    names = [line.partition(" ok")[0] for line in lines]
    assert names[:2] == ["[+]configuration", "[+]certificate"]
    assert names[2:-3] == [
        f"[+]cache {kind}"
        for kind in (
            *("Namespace", "Node", "Service", "ReplicationController", "ReplicaSet"),
            *("StatefulSet", "Rollout.argoproj.io"),
            *("SpreadPolicy.evenspread.io", "SpreadPolicyException.evenspread.io"),
        )
    ]
    assert lines[-3:] == ["[+]tasks ok", "[+]server ok: serving", "ok"]
    assert "objects, updated " in lines[2]


def test_the_version_of_the_api_server_selects_the_rules(
    control_plane: ControlPlane, replica: Replica
) -> None:
    version = control_plane.api.call("GET", "/version")

    kubernetes = f"{version['major']}.{version['minor']}"
    assert replica.metric("build_info", kubernetes=kubernetes) == 1
