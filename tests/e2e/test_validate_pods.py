"""Which webhook advises on pods, registered and configured as the chart renders it."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.controlplane import webhooks
from tests.controlplane.api import Json, Reply
from tests.controlplane.plane import ControlPlane
from tests.deploy.manifests import Helm, by_name
from tests.e2e.objects import constraints, controlled_by, workload
from tests.e2e.other_webhook import other_webhook
from tests.e2e.replica import Registered, Replica

HOOKED = {"evenspread.test/rendered": "yes"}
LABELS = {"app": "web"}
ELSEWHERE = {
    "maxSkew": 1,
    "topologyKey": "kubernetes.io/hostname",
    "whenUnsatisfiable": "ScheduleAnyway",
    "labelSelector": {"matchLabels": {"app": "other"}},
}
"""Does not count the pod itself: TSC101."""

DENYING = {"config": {"rules": {"TSC101": "deny"}}}
RECOMMENDING = {"config": {"mode": "recommend"}}


class Installed:
    """A server with a rendered configuration, and the webhooks that are rendered beside it."""

    def __init__(self, plane: ControlPlane, replica: Replica) -> None:
        self.plane = plane
        self.replica = replica
        self.namespace = plane.create_namespace(HOOKED)

    def create(self, pod: Json) -> Reply:
        return self.plane.api.request("POST", self.plane.api.collection_of(pod), pod)

    def pod(self, name: str, **spec: Any) -> Json:
        spec.setdefault("topologySpreadConstraints", [ELSEWHERE])
        return workload("Pod", name, self.namespace, LABELS, **spec)

    def calls(self, hook: str) -> float:
        return self.replica.metric("admission_requests_total", hook=hook, kind="Pod")


Install = Callable[[Json], Installed]


@pytest.fixture
def install(control_plane: ControlPlane, helm: Helm, tmp_path: Path) -> Iterator[Install]:
    with ExitStack() as ends:
        yield lambda values: ends.enter_context(_installed(control_plane, helm, tmp_path, values))


@contextmanager
def _installed(plane: ControlPlane, helm: Helm, folder: Path, values: Json) -> Iterator[Installed]:
    objects = by_name(helm.objects(values))
    files = dict(objects["ConfigMap/evenspread"]["data"])
    config = files.pop("config.yaml")
    for name, text in files.items():
        (folder / name).write_text(text)
    (flag,) = (flag for flag in _flags(objects) if flag.startswith("--validate-pods="))
    settings = {"validate_pods": flag.partition("=")[2]}
    with Replica(folder, plane.apiserver.kubeconfig, config, **settings) as replica:
        replica.wait()
        rendered = [objects[f"{kind}/evenspread"] for kind in webhooks.KINDS]
        with Registered(
            plane, [_called_here(configuration, replica) for configuration in rendered]
        ):
            yield Installed(plane, replica)


def _flags(objects: dict[str, Json]) -> list[str]:
    spec = objects["Deployment/evenspread"]["spec"]["template"]["spec"]
    flags: list[str] = spec["containers"][0]["args"]
    return flags


def _called_here(configuration: Json, replica: Replica) -> Json:
    """For the namespaces of these tests alone, and so that a call that fails is noticed."""
    made = webhooks.by_url(configuration, replica.url, replica.ca_bundle)
    made["metadata"]["name"] = "evenspread-rendered"  # called before "other"
    for webhook in made["webhooks"]:
        webhook["namespaceSelector"] = {"matchLabels": HOOKED}
        webhook["failurePolicy"] = "Fail"
        webhook["timeoutSeconds"] = 15  # a replica may stand still
    return made


@pytest.mark.parametrize("values", [{}, RECOMMENDING], ids=["apply", "recommend"])
def test_the_mutating_webhook_warns_once_of_a_pod_without_controller(
    install: Install, values: Json
) -> None:
    installed = install(values)

    reply = installed.create(installed.pod("alone"))

    assert reply.status == 201
    (warning,) = reply.warnings
    assert warning.startswith("TSC101 topologySpreadConstraints[0]: ")
    assert installed.replica.metric("rule_findings_total", rule="TSC101", action="warn") == 1
    assert (installed.calls("mutate"), installed.calls("validate")) == (1, 0)


def test_a_pod_that_is_looked_at_twice_is_warned_of_once(install: Install) -> None:
    installed = install({})

    def labelled(_pod: Json) -> list[Json]:
        return [{"op": "add", "path": "/metadata/labels/tier", "value": "front"}]

    everywhere = {"namespaceSelector": {"matchLabels": HOOKED}}
    with other_webhook(labelled, **everywhere) as other, Registered(installed.plane, [other]):
        reply = installed.create(installed.pod("twice"))

    assert installed.calls("mutate") == 2
    assert [warning[:6] for warning in reply.warnings] == ["TSC101"]


def test_a_pod_of_a_controller_causes_no_warning(install: Install) -> None:
    installed = install({})
    owner = workload("ReplicaSet", "web", installed.namespace, LABELS)
    made = installed.create({**owner, "spec": {**owner["spec"], "replicas": 0}}).body
    pod = installed.pod("owned")
    pod["metadata"]["ownerReferences"] = [controlled_by({**owner, "metadata": made["metadata"]})]

    reply = installed.create(pod)

    assert (reply.status, reply.warnings) == (201, ())


def test_a_rule_that_denies_does_so_in_the_validating_webhook_alone(install: Install) -> None:
    installed = install(DENYING)

    reply = installed.create(installed.pod("denied"))

    assert reply.status == 422
    assert reply.body["message"].startswith('admission webhook "validate.evenspread.io" denied')
    assert "TSC101" in reply.body["message"]
    assert reply.warnings == ()
    assert (installed.calls("mutate"), installed.calls("validate")) == (1, 1)
    assert installed.replica.metric("rule_findings_total", rule="TSC101") == 1


def test_pods_that_are_never_validated_are_warned_of_instead_of_denied(install: Install) -> None:
    installed = install({**DENYING, "validatePods": False})

    reply = installed.create(installed.pod("warned"))

    assert (reply.status, len(reply.warnings)) == (201, 1)
    assert installed.calls("validate") == 0


def test_a_mirror_pod_is_left_alone_by_both_webhooks(install: Install) -> None:
    installed = install(DENYING)
    for number, listed in enumerate([[], [ELSEWHERE]]):
        pod = installed.pod(f"mirror-{number}", topologySpreadConstraints=listed, nodeName="node")
        pod["metadata"]["annotations"] = {"kubernetes.io/config.mirror": "x"}

        reply = installed.create(pod)

        assert (reply.status, reply.warnings) == (201, ()), reply.body
        assert constraints(reply.body) == listed
    assert (installed.calls("mutate"), installed.calls("validate")) == (2, 2)
