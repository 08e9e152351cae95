"""The hook of the chart that sets Fail, run as a Job by real controllers, with its own rights."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.controlplane import webhooks
from tests.controlplane.api import Json
from tests.controlplane.assets import Assets
from tests.controlplane.waiting import until
from tests.deploy.manifests import NAMESPACE, Helm
from tests.e2e.containers import REPOSITORY, require_containers
from tests.e2e.installation import (
    FAILING,
    IMAGE,
    NAME,
    Cluster,
    Release,
    create_namespace,
    webhooks_of,
)

ACCOUNT = f"system:serviceaccount:{NAMESPACE}:{NAME}-install"
GRANTED = {
    ("admissionregistration.k8s.io", "validatingwebhookconfigurations", "get"),
    ("admissionregistration.k8s.io", "validatingwebhookconfigurations", "patch"),
    ("", "podtemplates", "create"),
}


@pytest.fixture
def cluster(control_plane_assets: Assets, tmp_path: Path) -> Iterator[Cluster]:
    require_containers()
    with Cluster(control_plane_assets, tmp_path, {IMAGE: REPOSITORY}) as made:
        create_namespace(made.plane)
        yield made


def registered(cluster: Cluster) -> list[tuple[str, int]]:
    """The policy of each webhook, and how often its configuration has been changed."""
    found = (cluster.plane.api.read(webhooks_of(kind)) for kind in webhooks.KINDS)
    return [
        (configuration["webhooks"][0]["failurePolicy"], configuration["metadata"]["generation"])
        for configuration in found
    ]


def used(cluster: Cluster) -> set[tuple[str, str, str]]:
    """Return the group, resource and verb of the hook's requests; none was refused."""
    events: list[Json] = [
        event
        for event in cluster.plane.apiserver.audit_events()
        if event["user"]["username"] == ACCOUNT and "objectRef" in event
    ]
    assert {event["responseStatus"]["code"] for event in events} <= {200, 201}
    about = ((event["objectRef"], event["verb"]) for event in events)
    return {(of.get("apiGroup", ""), of["resource"], verb) for of, verb in about}


def test_fail_is_set_when_a_replica_answers_and_stays_during_an_upgrade(
    cluster: Cluster, helm: Helm
) -> None:
    api, release = cluster.plane.api, Release(cluster.plane, helm)
    service = release.objects({})[f"Service/{NAME}"]
    with ThreadPoolExecutor() as at_once:
        installing = at_once.submit(release.install, FAILING)
        until(lambda: api.request("GET", api.path_of(service)).status == 200, "the Service")
        cluster.proxy()
        installing.result()

    assert [policy for policy, _ in registered(cluster)] == ["Ignore", "Fail"]
    assert used(cluster) == GRANTED
    for kind in ("Job", "ServiceAccount", "Role", "RoleBinding"):
        version = {"Job": "batch/v1", "ServiceAccount": "v1"}.get(
            kind, "rbac.authorization.k8s.io/v1"
        )
        names = {obj["metadata"]["name"] for obj in api.items(version, kind)}
        assert f"{NAME}-install" not in names

    cluster.wait(2)
    before = registered(cluster)
    release.upgrade({**FAILING, "podAnnotations": {"example.com/upgraded": "yes"}})

    assert registered(cluster) == before

    release.upgrade({"failurePolicy": {"validating": "Ignore"}})
    assert [policy for policy, _ in registered(cluster)] == ["Ignore", "Ignore"]
