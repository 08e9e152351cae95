import pytest

from tests.build import FakeFacts, gates, policy, profile
from webhook.export.static import StaticExport, export_static
from webhook.policy.api.versions import Version
from webhook.policy.defaulting.profiles import FieldDefaults, Policy

FILES = [
    "mutating/evenspread.yaml",
    "validating/evenspread.yaml",
    "admission-configuration.yaml",
]
NO_RULES = policy(profile(), pod_templates={})


def export(exported: Policy) -> StaticExport:
    return export_static(exported, FakeFacts())


def test_each_kind_of_policy_has_a_folder() -> None:
    mutating, validating, configuration = export(policy(profile())).files

    assert [mutating.path, validating.path, configuration.path] == FILES
    assert {one["kind"][:8] for one in mutating.manifests} == {"Mutating"}
    assert {one["kind"][:10] for one in validating.manifests} == {"Validating"}


def test_all_names_have_the_reserved_suffix() -> None:
    files = export(policy(profile())).files

    manifests = [manifest for file in files[:2] for manifest in file.manifests]
    names = [manifest["metadata"]["name"] for manifest in manifests]
    assert all(name.endswith(".static.k8s.io") for name in names)
    assert {one["spec"]["policyName"] for one in manifests if "policyName" in one["spec"]} == {
        *names
    }


def test_the_configuration_names_the_folders() -> None:
    (configuration,) = export(policy(profile())).files[-1].manifests

    assert configuration == {
        "apiVersion": "apiserver.config.k8s.io/v1",
        "kind": "AdmissionConfiguration",
        "plugins": [
            {
                "name": f"{kind}AdmissionPolicy",
                "configuration": {
                    "apiVersion": "apiserver.config.k8s.io/v1",
                    "kind": f"{kind}AdmissionPolicyConfiguration",
                    "staticManifestsDir": f"/etc/kubernetes/evenspread/{kind.lower()}",
                },
            }
            for kind in ("Mutating", "Validating")
        ],
    }


@pytest.mark.parametrize(
    ("exported", "files"),
    [
        (NO_RULES, [FILES[0], FILES[2]]),
        (policy(), FILES[1:]),
        (policy(pod_templates={}), []),
        (policy(profile(), gates=gates(EvenPodsSpread=False)), []),
    ],
)
def test_a_folder_without_policies_is_left_out(exported: Policy, files: list[str]) -> None:
    assert [file.path for file in export(exported).files] == files


@pytest.mark.parametrize(
    ("version", "subjects"),
    [
        (Version(1, 37), ["files", "API"]),
        (Version(1, 36), ["files", "API", "Kubernetes 1.36"]),
    ],
)
def test_the_start_of_the_api_server_is_described(version: Version, subjects: list[str]) -> None:
    exported = policy(profile(), gates=gates(version), field_defaults=FieldDefaults.NONE)

    found = [one.subject for one in export(exported).omissions]

    assert found[: len(subjects)] == subjects
    assert len(found) == len(set(found))
