"""
The manifests on a real API server, in a namespace that enforces Pod Security's ``restricted``.

That what they make runs, with the rights that they give, is in tests/e2e/test_shipped.py.
"""

from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from tests.controlplane import webhooks
from tests.controlplane.plane import ControlPlane
from tests.controlplane.waiting import until
from tests.deploy.manifests import CHART, NAMESPACE, Helm, HelmError
from tests.deploy.test_manifests import EVERYTHING, MATRIX, OVERLAYS, known
from tests.e2e.installation import FAILING, NAME, Release, webhooks_of

RESTRICTED = {**EVERYTHING, "hostNetwork": False}


SERVER_SIDE: dict[str, dict[str, Any]] = {**MATRIX, **OVERLAYS, "everything at once": RESTRICTED}


@pytest.mark.parametrize("values", SERVER_SIDE.values(), ids=SERVER_SIDE)
def test_the_api_server_takes_every_object(
    plane: ControlPlane, helm: Helm, values: dict[str, Any]
) -> None:
    objects = [obj for obj in helm.objects(values) if known(obj)]

    done = plane.kubectl(
        *("apply", "--server-side", "--dry-run=server", "--validate=strict", "-f", "-"),
        stdin=yaml.safe_dump_all(objects),
    )

    assert done.stdout.count("serverside-applied") == len(objects)
    assert done.stderr == ""  # no warning, such as one of Pod Security


def test_kustomize_can_be_applied(plane: ControlPlane) -> None:
    folder = CHART.parent / "kustomize" / "overlays" / "enforce"

    done = plane.kubectl("apply", "--server-side", "--dry-run=server", "-k", str(folder))

    assert "validatingwebhookconfiguration" in done.stdout


@pytest.fixture
def release(plane: ControlPlane, helm: Helm) -> Release:
    return Release(plane, helm)


def test_it_can_be_removed_when_its_webhooks_are_deleted(
    plane: ControlPlane, release: Release
) -> None:
    release.install({})
    for kind in webhooks.KINDS:
        plane.api.delete(webhooks_of(kind))

    release.uninstall()

    deployment = {"apiVersion": "apps/v1", "kind": "Deployment"}
    metadata = {"name": NAME, "namespace": NAMESPACE}
    path = plane.api.path_of({**deployment, "metadata": metadata})
    assert plane.api.request("GET", path).status == 404
    for kind in webhooks.KINDS:
        assert plane.api.items(webhooks.VERSION, kind) == []


HOOK = {
    "v1": ("ServiceAccount",),
    "rbac.authorization.k8s.io/v1": ("ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"),
}


NO_JOBS = {
    "apiVersion": webhooks.VERSION,
    "kind": "ValidatingWebhookConfiguration",
    "metadata": {"name": "no-jobs"},
    "webhooks": [
        {
            "name": "no-jobs.evenspread.test",
            "clientConfig": {"url": "https://127.0.0.1:1/"},
            "failurePolicy": "Fail",
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
            "rules": [
                {
                    "apiGroups": ["batch"],
                    "apiVersions": ["v1"],
                    "operations": ["CREATE"],
                    "resources": ["jobs"],
                }
            ],
        }
    ],
}
"""Refuses every Job, as a quota or a policy may."""


def left_of_hook(plane: ControlPlane) -> list[str]:
    """Kinds of the objects of the install hook, apart from its Job."""
    return [
        kind
        for version, kinds in HOOK.items()
        for kind in kinds
        for item in plane.api.items(version, kind)
        if item["metadata"]["name"] == f"{NAME}-install"
    ]


@pytest.fixture
def removed(release: Release) -> Iterator[None]:
    yield
    release.uninstall()


@pytest.mark.usefixtures("removed")
def test_a_hook_that_fails_leaves_no_rights(plane: ControlPlane, release: Release) -> None:
    with pytest.raises(HelmError, match="failed post-install"):
        release.install(FAILING, "--timeout=5s")  # no node runs its Job

    until(lambda: not left_of_hook(plane), "its rights to be gone")


def test_rights_of_a_hook_that_was_refused_leave_with_the_release(
    plane: ControlPlane, release: Release
) -> None:
    plane.api.create(NO_JOBS)
    webhooks.settle(plane.api)
    try:
        with pytest.raises(HelmError, match="failed post-install"):
            release.install(FAILING)
    finally:
        plane.api.delete(NO_JOBS)
    assert "ClusterRole" in left_of_hook(plane)

    release.uninstall()

    until(lambda: not left_of_hook(plane), "its rights to be gone")


def test_a_missing_namespace_of_probes_is_reported_before_anything_is_made(
    plane: ControlPlane, release: Release
) -> None:
    with pytest.raises(HelmError, match="there is no namespace none: create it"):
        release.install({**FAILING, "installHook": {"probeNamespace": "none"}})

    assert left_of_hook(plane) == []
    for kind in webhooks.KINDS:
        assert plane.api.items(webhooks.VERSION, kind) == []


SERVER = f"system:serviceaccount:{NAMESPACE}:{NAME}"

FORBIDDEN = (
    ("get", "secrets", "--all-namespaces"),
    ("get", "secrets", "--namespace=kube-system"),
    ("get", "secrets", f"--namespace={NAMESPACE}"),
    ("get", "configmaps", f"--namespace={NAMESPACE}"),
    ("get", "pods", "--all-namespaces"),
    ("delete", "pods", "--all", "--namespace=default"),
    ("delete", "mutatingwebhookconfigurations", NAME),
    ("patch", "clusterrole", NAME, "--patch={}"),
    ("patch", "mutatingwebhookconfigurations", "another", "--patch={}"),
)
"""Of what a compromised replica may want, with the rights of the default values."""


@pytest.mark.usefixtures("removed")
def test_a_compromised_replica_may_not(plane: ControlPlane, release: Release) -> None:
    release.install({})

    for command in FORBIDDEN:
        done = plane.kubectl(*command, f"--as={SERVER}", check=False)
        assert "Forbidden" in done.stderr, command


VERBS = ("get", "list", "watch", "create", "update", "patch", "delete", "deletecollection")
KEEPING: dict[str, Any] = {"profiles": [{"name": "a", "scaleDown": "KeepSpread"}]}
POD_RIGHTS: dict[str, tuple[dict[str, Any], set[str]]] = {
    "no profile keeps the spread": ({}, set()),
    "a profile keeps the spread": ({"config": KEEPING}, {"list", "watch"}),
    "ranks are corrected": (
        {"config": {**KEEPING, "scaleDownRepair": True}},
        {"list", "watch", "get", "patch"},
    ),
}


@pytest.mark.usefixtures("removed")
@pytest.mark.parametrize(("values", "rights"), POD_RIGHTS.values(), ids=POD_RIGHTS)
def test_rights_to_pods_follow_the_configuration(
    plane: ControlPlane, release: Release, values: dict[str, Any], rights: set[str]
) -> None:
    release.install(values)

    def may(verb: str) -> bool:
        command = ("auth", "can-i", verb, "pods", "--all-namespaces", f"--as={SERVER}")
        return plane.kubectl(*command, check=False).stdout.strip() == "yes"

    assert {verb for verb in VERBS if may(verb)} == rights


POLICY_RIGHTS: dict[str, tuple[dict[str, Any], set[str], set[str]]] = {
    "both": ({}, {"list", "watch"}, {"patch"}),
    "file": ({"policies": {"source": "file"}}, set(), set()),
}


@pytest.mark.usefixtures("removed")
@pytest.mark.parametrize(
    ("values", "rights", "of_status"), POLICY_RIGHTS.values(), ids=POLICY_RIGHTS
)
def test_of_policies_only_the_status_may_be_written(
    plane: ControlPlane,
    release: Release,
    values: dict[str, Any],
    rights: set[str],
    of_status: set[str],
) -> None:
    release.install(values)

    def may(verb: str, *flags: str) -> bool:
        command = ("auth", "can-i", verb, "spreadpolicies.evenspread.io", *flags)
        return plane.kubectl(*command, f"--as={SERVER}", check=False).stdout.strip() == "yes"

    assert {verb for verb in VERBS if may(verb)} == rights
    assert {verb for verb in VERBS if may(verb, "--subresource=status")} == of_status


WIDER = (
    '[{"op": "replace", "path": "/webhooks/0/rules", "value": [{"apiGroups": ["*"], '
    '"apiVersions": ["*"], "resources": ["*"], "operations": ["*"], "scope": "*"}]}]'
)

MODES: dict[str, tuple[dict[str, Any], bool]] = {
    "self": ({}, True),
    "files": ({"certificate": {"mode": "files", "secretName": "serving"}}, False),
}


@pytest.mark.usefixtures("removed")
@pytest.mark.parametrize(("values", "may"), MODES.values(), ids=MODES.keys())
def test_rbac_cannot_limit_a_patch_of_the_own_webhooks_to_their_bundles(
    plane: ControlPlane, release: Release, values: dict[str, Any], may: bool
) -> None:
    release.install(values)

    for kind in webhooks.KINDS:
        done = plane.kubectl(
            *("patch", kind, NAME, "--type=json", f"--patch={WIDER}", "--dry-run=server"),
            f"--as={SERVER}",
            check=False,
        )
        assert (done.returncode == 0) is may
        assert may or "Forbidden" in done.stderr
