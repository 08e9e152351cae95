"""
The objects for Argo CD and Flux, and what both tools would see of evenspread in a cluster.

Neither tool runs. Both compare and apply with what kube-apiserver offers: a client-side apply with
three versions, or a server-side apply.
"""

import asyncio
import time
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from certs.inject import Hooks
from certs.rotate import SelfSource
from certs.secret import SecretStore
from certs.serving import LiveContext
from certs.source import Notice, SourceEnvironment
from certs.state import Lifetimes
from tests.certs.world import real_clock
from tests.controlplane.assets import Assets
from tests.controlplane.options import Options
from tests.controlplane.plane import ControlPlane
from tests.controlplane.waiting import until
from tests.deploy.manifests import CHART, DEPLOY, NAMESPACE, Helm, Json
from tests.e2e.customkinds import define
from tests.e2e.installation import create_namespace
from tests.server.audits import crds
from webhook import PROJECT_ADDRESS, __version__
from webhook.cluster.client import Api, ApiAccess

FOLDER = DEPLOY / "gitops"
APPLICATION: Json = yaml.safe_load((FOLDER / "argocd.yaml").read_text())
SOURCE, RELEASE = yaml.safe_load_all((FOLDER / "flux.yaml").read_text())
MANAGER = "evenspread"
SERVER_SIDE = ("--server-side", "--force-conflicts", "--field-manager=gitops")

DEFINED = {"argoproj.io": (APPLICATION, "v1alpha1"), "helm.toolkit.fluxcd.io": (RELEASE, "v2")}


@pytest.fixture(scope="module")
def plane(control_plane_assets: Assets) -> Iterator[ControlPlane]:
    with ControlPlane(control_plane_assets, Options(scheduler=False)) as started:
        create_namespace(started)
        yield started


@pytest.mark.parametrize("group", DEFINED)
def test_the_object_fits_its_definition(plane: ControlPlane, group: str) -> None:
    obj, version = DEFINED[group]
    define(plane, crds.needed(group), version)
    namespace = obj["metadata"]["namespace"]
    plane.kubectl("create", "namespace", namespace)

    done = plane.kubectl(
        *("apply", "--server-side", "--dry-run=server", "--validate=strict", "-f", "-"),
        stdin=yaml.safe_dump(obj),
    )

    assert done.stdout.endswith("serverside-applied (server dry run)\n")
    assert done.stderr == ""


def test_both_take_the_release_and_its_values_from_the_repository() -> None:
    source = APPLICATION["spec"]["source"]
    chart = RELEASE["spec"]["chart"]["spec"]
    files = [DEPLOY.parent / file for file in chart["valuesFiles"]]

    assert (source["repoURL"], SOURCE["spec"]["url"]) == (PROJECT_ADDRESS, PROJECT_ADDRESS)
    assert source["targetRevision"] == SOURCE["spec"]["ref"]["tag"] == f"v{__version__}"
    assert DEPLOY.parent / source["path"] == DEPLOY.parent / chart["chart"] == CHART
    assert [(CHART / file).resolve() for file in source["helm"]["valueFiles"]] == [
        DEPLOY / "platforms" / "argocd.yaml"
    ]
    assert files == [CHART / "values.yaml", DEPLOY / "platforms" / "flux.yaml"]
    assert APPLICATION["metadata"]["name"] == "evenspread"  # the label instance of the Service


def values() -> Json:
    read: Json = yaml.safe_load((DEPLOY / "platforms" / "argocd.yaml").read_text())
    return read


async def write_certificates(plane: ControlPlane) -> None:
    """Let the code of a replica fill the Secret and each caBundle."""
    kubeconfig = str(plane.apiserver.kubeconfig)
    notices = list[Notice]()
    async with Api(ApiAccess(kubeconfig=kubeconfig), time.monotonic) as client:
        source = SelfSource(
            live=LiveContext(),
            secret=SecretStore(client, NAMESPACE, "evenspread-ca"),
            hooks=Hooks(client, "evenspread"),
            hosts=("127.0.0.1",),
            environment=SourceEnvironment(
                clock=real_clock, sleep=asyncio.sleep, report=notices.append
            ),
            lifetimes=Lifetimes(),
        )
        await source.start()
        task = asyncio.create_task(source.run())
        await asyncio.to_thread(until, lambda: source.status.ready, "the source to be ready")
        task.cancel()


WRITTEN = {
    "mutatingwebhookconfiguration/evenspread": "{.webhooks[0].clientConfig.caBundle}",
    "validatingwebhookconfiguration/evenspread": "{.webhooks[0].clientConfig.caBundle}",
    "secret/evenspread-ca": "{.data}",
}
"""Objects, and what evenspread writes into them."""


def written(plane: ControlPlane) -> list[str]:
    return [
        plane.kubectl("get", obj, f"--namespace={NAMESPACE}", f"--output=jsonpath={path}").stdout
        for obj, path in WRITTEN.items()
    ]


def apply(plane: ControlPlane, text: str, *options: str) -> None:
    plane.kubectl("apply", *options, "-f", "-", stdin=text)


@pytest.mark.parametrize("options", [(), SERVER_SIDE], ids=["on the client", "on the server"])
async def test_an_apply_sees_and_changes_nothing_that_evenspread_wrote(
    plane: ControlPlane, helm: Helm, options: tuple[str, ...]
) -> None:
    text = helm.text(values())
    await asyncio.to_thread(apply, plane, text, *options)
    await write_certificates(plane)
    before = written(plane)
    assert all(before)

    seen = plane.kubectl("diff", *options, "-f", "-", stdin=text, check=False)
    apply(plane, text, *options)

    assert (seen.returncode, seen.stdout) == (0, "")
    assert written(plane) == before
    plane.kubectl("delete", "-f", "-", stdin=text)


def ignored() -> dict[str, Any]:
    """The kinds whose fields the Application ignores, and these fields."""
    rules = APPLICATION["spec"]["ignoreDifferences"]
    return {rule["kind"]: rule.get("jqPathExpressions") or rule["jsonPointers"] for rule in rules}


async def test_the_fields_of_evenspread_have_it_as_owner_and_are_ignored(
    plane: ControlPlane, helm: Helm
) -> None:
    text = helm.text(values())
    await asyncio.to_thread(apply, plane, text)
    await write_certificates(plane)

    owned: dict[str, str] = {}
    for obj in WRITTEN:
        found = yaml.safe_load(
            plane.kubectl(
                *("get", obj, f"--namespace={NAMESPACE}", "--output=yaml"), "--show-managed-fields"
            ).stdout
        )
        for entry in found["metadata"]["managedFields"]:
            if entry["manager"] == MANAGER:
                owned[found["kind"]] = str(entry["fieldsV1"])
    plane.kubectl("delete", "-f", "-", stdin=text)

    assert owned.keys() == ignored().keys() - {"Lease"}
    assert "f:caBundle" in owned["MutatingWebhookConfiguration"]
    assert "f:caBundle" in owned["ValidatingWebhookConfiguration"]
    assert "f:data" in owned["Secret"]


def test_flux_ignores_the_same_objects(helm: Helm) -> None:
    rules = RELEASE["spec"]["driftDetection"]["ignore"]
    keeping = {"config": {"profiles": [{"name": "a", "scaleDown": "KeepSpread"}]}}
    objects = {obj["kind"]: obj for obj in helm.objects(keeping) if "webhooks" in obj}

    assert {rule["target"]["kind"] for rule in rules} == ignored().keys()
    for rule in rules:
        if webhooks := objects.get(rule["target"]["kind"], {}).get("webhooks"):
            assert rule["paths"] == [
                f"/webhooks/{number}/clientConfig/caBundle" for number in range(len(webhooks))
            ]
