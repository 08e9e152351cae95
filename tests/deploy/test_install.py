"""The hook that sets Fail, as the chart renders it; it runs in tests/e2e/test_install.py."""

from typing import Any

import pytest

from tests.deploy.manifests import (
    CHART,
    KUBERNETES,
    NAMESPACE,
    Helm,
    HelmError,
    Json,
    by_name,
    read,
)

FAILING = {"failurePolicy": {"validating": "Fail"}}
BOTH = {"failurePolicy": {"mutating": "Fail", "validating": "Fail"}}

WITHOUT: dict[str, dict[str, Any]] = {
    "nothing fails": {},
    "it is not wanted": {**FAILING, "installHook": {"enabled": False}},
}

REFUSED = {
    "a wait without a unit": {"wait": "240"},
    "no namespace": {"probeNamespace": ""},
    "a member that does not exist": {"timeout": "4m"},
}


def rendered(helm: Helm, values: dict[str, Any]) -> list[Json]:
    """All that Helm would make, hooks too."""
    where = ("--namespace", NAMESPACE, "--kube-version", KUBERNETES)
    return read(helm.run("template", "evenspread", str(CHART), *where, values=values))


def hook(helm: Helm, values: dict[str, Any]) -> dict[str, Json]:
    return by_name(
        obj
        for obj in rendered(helm, values)
        if "post-install" in obj["metadata"].get("annotations", {}).get("helm.sh/hook", "")
    )


def policies(helm: Helm, values: dict[str, Any]) -> list[str]:
    return [
        webhook["failurePolicy"]
        for obj in rendered(helm, values)
        for webhook in obj.get("webhooks", ())
    ]


@pytest.mark.parametrize("values", WITHOUT.values(), ids=WITHOUT)
def test_there_is_no_hook_if(helm: Helm, values: dict[str, Any]) -> None:
    assert hook(helm, values) == {}


def test_what_shall_fail_begins_with_ignore(helm: Helm) -> None:
    assert policies(helm, FAILING) == ["Ignore", "Ignore"]
    assert sorted(policies(helm, WITHOUT["it is not wanted"])) == ["Fail", "Ignore"]


@pytest.mark.parametrize("values", [FAILING, BOTH], ids=["one", "both"])
def test_it_may_change_what_it_sets_and_nothing_else(helm: Helm, values: dict[str, Any]) -> None:
    objects = hook(helm, values)
    kinds = list(values["failurePolicy"])

    assert objects["ClusterRole/evenspread-install"]["rules"] == [
        {
            "apiGroups": ["admissionregistration.k8s.io"],
            "resources": [f"{kind}webhookconfigurations" for kind in kinds],
            "resourceNames": ["evenspread"],
            "verbs": ["get", "patch"],
        }
    ]
    assert objects["Role/evenspread-install"]["metadata"]["namespace"] == "default"
    assert objects["Role/evenspread-install"]["rules"] == [
        {"apiGroups": [""], "resources": ["podtemplates"], "verbs": ["create"]}
    ]
    for binding in ("ClusterRoleBinding", "RoleBinding"):
        (subject,) = objects[f"{binding}/evenspread-install"]["subjects"]
        assert subject["name"] == "evenspread-install"


def test_it_is_gone_when_it_is_done(helm: Helm) -> None:
    for name, obj in hook(helm, BOTH).items():
        annotations = obj["metadata"]["annotations"]
        events = "post-install,post-upgrade"
        assert annotations["helm.sh/hook"] == (
            events if name.startswith("Job/") else f"{events},post-delete"
        )
        assert annotations["helm.sh/hook-delete-policy"] == "before-hook-creation,hook-succeeded"


def test_it_runs_as_the_replicas_do_and_is_taken_for_none(helm: Helm) -> None:
    values = {
        **BOTH,
        "image": {"tag": "x", "pullSecrets": [{"name": "registry"}]},
        "nodeSelector": {"pool": "system"},
        "tolerations": [{"operator": "Exists"}],
        "installHook": {"wait": "90s", "probeNamespace": "probes"},
        "name": "spreader",
    }
    job = hook(helm, values)["Job/spreader-install"]["spec"]["template"]
    objects = by_name(helm.objects(values))
    replica = objects["Deployment/spreader"]["spec"]["template"]

    same = ("securityContext", "imagePullSecrets", "nodeSelector", "tolerations")
    assert [job["spec"][field] for field in same] == [replica["spec"][field] for field in same]
    (ours,), (theirs,) = job["spec"]["containers"], replica["spec"]["containers"]
    for member in ("image", "imagePullPolicy", "securityContext"):
        assert ours[member] == theirs[member]
    assert ours["args"] == [
        "doctor",
        "--name=spreader",
        "--probe-namespace=probes",
        "--wait=90s",
        "--set-failure-policy=mutating=Fail",
        "--set-failure-policy=validating=Fail",
    ]
    selector = objects["Service/spreader"]["spec"]["selector"]
    assert not selector.items() <= job["metadata"]["labels"].items()


@pytest.mark.parametrize("member", REFUSED.values(), ids=REFUSED)
def test_a_mistake_is_refused(helm: Helm, member: dict[str, Any]) -> None:
    with pytest.raises(HelmError, match="installHook"):
        helm.text({"installHook": member})
