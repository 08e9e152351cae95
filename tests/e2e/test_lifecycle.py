"""
Restarts, drains, upgrades and their like while pods are created, 20 a second, under Fail.

In the long form, 50 pods a second are created.

Real: API server, scheduler, controllers, evictions, Helm, kubectl, and the servers, which are given
their full time to leave. Played: kubelets, which send SIGTERM as soon as a pod is deleted or
evicted, and kube-proxies, which learn 2 s later of it (nodes.py). So for 2 s new connections still
come to a server that leaves, and connections that exist stay, as in a cluster. What a Node costs
that breaks down, or a kill, is not the subject here.
"""

import io
import json
import subprocess
import tarfile
from collections.abc import Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.controlplane import webhooks
from tests.controlplane.api import ApiError, Json
from tests.controlplane.assets import Assets
from tests.controlplane.waiting import until
from tests.deploy.manifests import CHART, NAMESPACE, Helm
from tests.e2e.containers import REPOSITORY, require_containers
from tests.e2e.installation import (
    ENFORCED,
    FAILING,
    GONE_S,
    IMAGE,
    NAME,
    WEBHOOKS,
    Cluster,
    Release,
    bundles,
    create_namespace,
    plural,
    removed,
)
from tests.e2e.load import Load
from tests.e2e.objects import LONG, constraints, rounds, service, workload
from tests.e2e.spreadpolicies import SOFT, spread_policy
from tests.required import ENVTEST, skip_or_fail
from webhook.policy.defaulting.provenance import DEFAULTS_ANNOTATION
from webhook.policy.model import ZONE

pytestmark = pytest.mark.alone

RESTARTS = rounds(1, 5)
DRAINS = rounds(1, 3)
PODS_A_SECOND = rounds(20, 50)
LEAST = 5 * PODS_A_SECOND  # pods, also where what happens meanwhile takes no time

DEPLOYMENT = f"deployment/{NAME}"
OURS = f"app.kubernetes.io/name={NAME}"

IGNORED = {"failurePolicy": {"validating": "Ignore"}}
"""Required, because `helm upgrade` without a value uses those of the release, which are Fail."""

STOCK = [{**SOFT, "maxSkew": 3}, {**SOFT, "maxSkew": 5, "topologyKey": ZONE}]
"""The default constraints of kube-scheduler."""

PREVIOUS = "4d680a5"  # the commit that stands for the version before this one


class Enforced:
    """An installation under Fail, and a namespace for the load."""

    def __init__(self, cluster: Cluster, release: Release) -> None:
        self.cluster = cluster
        self.plane = cluster.plane
        self.release = release

    def namespace(self) -> str:
        """A new one, in which a Service selects the pods of the load."""
        name = self.plane.create_namespace()
        self.plane.api.create(service("it", name, {"app": "it"}))
        until(lambda: constraints(self.try_pod(name)), "the Service to be known")
        return name

    def try_pod(self, namespace: str) -> Json:
        """What would become of a pod; raises ApiError if nothing would."""
        pod = workload("Pod", "tried", namespace, {"app": "it"})
        return self.plane.api.create(pod, dryRun="All")

    def kubectl(self, *arguments: str) -> None:
        self.plane.kubectl(*arguments)

    def ours(self, *arguments: str) -> None:
        self.plane.kubectl("-n", NAMESPACE, *arguments)

    def replaced(self, before: set[str]) -> None:
        """Wait until none of these pods is left, and two others serve."""
        running = self.cluster.kubelet.running
        until(lambda: not before & set(running), "the old pods to be gone", patience_s=GONE_S)
        self.cluster.wait(2)

    def to_nothing(self) -> None:
        """Scale to zero and wait until no replica is called."""
        self.ours("scale", DEPLOYMENT, "--replicas=0")
        until(lambda: not self.pods, "the pods to be gone", patience_s=GONE_S)
        self.cluster.wait(0)

    def back(self) -> None:
        """Scale to two replicas again."""
        self.ours("scale", DEPLOYMENT, "--replicas=2")
        self.cluster.wait(2)

    def is_answered(self, namespace: str) -> bool:
        """Whether pods can be created."""
        try:
            return bool(self.try_pod(namespace))
        except ApiError:
            return False

    @property
    def pods(self) -> set[str]:
        """The names of those that run."""
        return set(self.cluster.kubelet.running)

    @property
    def unanswered(self) -> float:
        """Calls that the API server let pass, since it got no answer."""
        return self.plane.apiserver.metric("apiserver_admission_webhook_fail_open_count")


@contextmanager
def under_load(enforced: Enforced) -> Generator[None]:
    """Create pods as long as the context lasts: each is created, and has its defaults."""
    namespace, unanswered = enforced.namespace(), enforced.unanswered
    exits = len(enforced.cluster.kubelet.exits)
    with Load(enforced.plane.api, namespace, rate=PODS_A_SECOND, least=LEAST) as load:
        yield
    stored = enforced.plane.api.items("v1", "Pod", namespace)

    assert load.failures == []
    assert len(stored) == load.created >= LEAST
    assert [pod["metadata"]["name"] for pod in stored if len(constraints(pod)) != 2] == []
    assert enforced.unanswered == unanswered
    assert set(enforced.cluster.kubelet.exits[exits:]) <= {0}
    assert not LONG or load.created / load.seconds > PODS_A_SECOND * 0.8


@pytest.fixture(scope="module")
def enforced(
    control_plane_assets: Assets, helm: Helm, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Enforced]:
    require_containers()
    folder = tmp_path_factory.mktemp("pods")
    with Cluster(control_plane_assets, folder, {IMAGE: REPOSITORY}) as cluster:
        create_namespace(cluster.plane)
        release = Release(cluster.plane, helm)
        release.install(ENFORCED)
        cluster.proxy()
        cluster.wait(2)
        yield Enforced(cluster, release)


def test_a_rolling_restart_loses_nothing(enforced: Enforced) -> None:
    with under_load(enforced):
        for _ in range(RESTARTS):
            before = enforced.pods
            enforced.ours("rollout", "restart", DEPLOYMENT)
            enforced.ours("rollout", "status", DEPLOYMENT)
            enforced.replaced(before)


def test_drained_nodes_lose_nothing_and_go_one_after_the_other(enforced: Enforced) -> None:
    with under_load(enforced):
        for _ in range(DRAINS):
            before = enforced.pods
            nodes = sorted({pod.pod["spec"]["nodeName"] for pod in enforced.cluster.pods})
            with ThreadPoolExecutor() as at_once:
                for done in [at_once.submit(drain, enforced, node) for node in nodes]:
                    done.result()
            enforced.replaced(before)
            for node in nodes:
                enforced.kubectl("uncordon", node)

    assert 429 in {
        event["responseStatus"]["code"]
        for event in enforced.plane.apiserver.audit_events()
        if event.get("objectRef", {}).get("subresource") == "eviction"
    }


def drain(enforced: Enforced, node: str) -> None:
    """Evict our replicas from a Node, as often as it takes until the budget allows it."""
    enforced.kubectl("drain", node, f"--pod-selector={OURS}", f"--timeout={GONE_S:g}s")


def test_without_replicas_fail_refuses_but_administrators_can_repair(enforced: Enforced) -> None:
    namespace = enforced.namespace()
    enforced.to_nothing()

    with pytest.raises(ApiError) as refused:
        enforced.try_pod(namespace)
    assert refused.value.status == 500
    assert 'failed calling webhook "validate.evenspread.io"' in str(refused.value)
    for exempt in ("kube-system", NAMESPACE):
        enforced.plane.api.create(restricted(exempt), dryRun="All")

    enforced.back()
    assert len(constraints(enforced.try_pod(namespace))) == 2


def test_without_replicas_deleted_webhooks_are_out_of_the_way(enforced: Enforced) -> None:
    namespace = enforced.namespace()
    enforced.to_nothing()

    enforced.kubectl("delete", WEBHOOKS, NAME)
    webhooks.settle(enforced.plane.api)
    assert constraints(enforced.try_pod(namespace)) == []

    enforced.back()
    assert constraints(enforced.try_pod(namespace)) == []  # servers never make them again

    enforced.release.upgrade(ENFORCED)
    until(lambda: enforced.is_answered(namespace), "the webhooks to be trusted again")
    assert len(constraints(enforced.try_pod(namespace))) == 2


def test_without_replicas_ignore_lets_pods_pass_without_defaults(enforced: Enforced) -> None:
    namespace, unanswered = enforced.namespace(), enforced.unanswered
    enforced.release.upgrade(IGNORED)
    webhooks.settle(enforced.plane.api)
    with Load(enforced.plane.api, namespace, rate=PODS_A_SECOND, least=LEAST) as load:
        enforced.to_nothing()
        assert constraints(enforced.try_pod(namespace)) == []
        enforced.back()
    last = enforced.try_pod(namespace)
    enforced.release.upgrade(ENFORCED)
    webhooks.settle(enforced.plane.api)

    assert load.failures == []
    assert len(constraints(last)) == 2
    assert enforced.unanswered > unanswered


def test_upgrade_rollback_and_removal_lose_nothing(
    control_plane_assets: Assets, helm: Helm, tmp_path: Path
) -> None:
    require_containers()
    previous = before_this_version(tmp_path / "previous")
    old, new = {"image": {"tag": "previous"}, **FAILING}, ENFORCED
    images = {f"{NAME}:previous": previous, IMAGE: REPOSITORY}
    with Cluster(control_plane_assets, tmp_path / "pods", images) as cluster:
        create_namespace(cluster.plane)
        release = Release(cluster.plane, helm, previous / "deploy" / "chart")
        release.install(old)
        cluster.proxy()
        cluster.wait(2)
        upgraded, trusted = Enforced(cluster, release), bundles(cluster.plane)
        with under_load(upgraded):
            first = upgraded.pods
            release.upgrade(new, CHART)
            upgraded.replaced(first)
            if LONG:
                second = upgraded.pods
                release.rollback()
                upgraded.replaced(second)
                third = upgraded.pods
                release.upgrade(new, CHART)
                upgraded.replaced(third)
            move_profiles(upgraded)
        assert bundles(cluster.plane) == trusted

        namespace = upgraded.namespace()
        with Load(cluster.plane.api, namespace, rate=PODS_A_SECOND, least=LEAST) as load:
            release.uninstall()
            until(lambda: not upgraded.pods, "the pods to be gone", patience_s=GONE_S)

        assert load.failures == []
        assert removed(cluster.plane) == [*map(plural, webhooks.KINDS), "deployments"]


def move_profiles(enforced: Enforced) -> None:
    """Replace the profile of the configuration file by a SpreadPolicy, as docs/policies.md says."""
    enforced.plane.api.create(spread_policy("stock", defaultConstraints=STOCK))
    before = enforced.pods
    enforced.release.upgrade({**ENFORCED, "policies": {"source": "resource"}})
    enforced.replaced(before)

    tried = enforced.try_pod(enforced.namespace())
    assert json.loads(tried["metadata"]["annotations"][DEFAULTS_ANNOTATION])["profile"] == "stock"


def before_this_version(folder: Path) -> Path:
    """The tree of the previous version; its packages run with the libraries of this one."""
    done = subprocess.run(
        ["git", "-C", REPOSITORY, "archive", PREVIOUS, "webhook", "certs", "deploy/chart"],
        capture_output=True,
        check=False,
    )
    if done.returncode != 0:
        problem = f"the previous version, commit {PREVIOUS}, is not in this clone"
        skip_or_fail(f"{problem}: git fetch --unshallow", ENVTEST)
    with tarfile.open(fileobj=io.BytesIO(done.stdout)) as archive:
        archive.extractall(folder, filter="data")
    return folder


def restricted(namespace: str) -> Json:
    """A pod that Pod Security lets into evenspread's namespace."""
    pod = workload("Pod", "tried", namespace, {"app": "it"})
    (container,) = pod["spec"]["containers"]
    of_pod = {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}
    own = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
    containers = [{**container, "securityContext": own}]
    return {**pod, "spec": {**pod["spec"], "securityContext": of_pod, "containers": containers}}
