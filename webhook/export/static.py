"""
Exported policies as files that kube-apiserver reads itself, without objects in the API.

``export_static`` is the entry point. kube-apiserver reads each kind of policy from a folder of its
own, and refuses to start if a file is invalid. The names of the objects end in ``NAME_SUFFIX``,
with which the API accepts none.

Source: apiserver pkg/admission/plugin/policy/manifest/loader/loader.go ``LoadPolicyManifests`` and
policy/config/apis/policyconfig/v1 types.go.
"""

from collections.abc import Sequence

import msgspec

from webhook.export.exported import (
    MUTATING_POLICY,
    VALIDATING_POLICY,
    Manifest,
    Omission,
)
from webhook.export.mutating import export_mutating
from webhook.export.validating import export_validating
from webhook.policy.api.versions import Version
from webhook.policy.defaulting.profiles import Policy
from webhook.policy.facts import Facts

NAME_SUFFIX = ".static.k8s.io"
STATIC_SINCE = Version(1, 36)  # the first one with the feature gate
STATIC_BETA_SINCE = Version(1, 37)  # the first one whose feature gate is on
STATIC_GATE = "ManifestBasedAdmissionControlConfig"

STATIC_FOLDER = "/etc/kubernetes/evenspread"
"""Absolute path of the folder on the control plane, which the configuration names."""

CONFIGURATION_FILE = "admission-configuration.yaml"
_CONFIGURATION_VERSION = "apiserver.config.k8s.io/v1"
_FOLDERS = {MUTATING_POLICY.kind: "mutating", VALIDATING_POLICY.kind: "validating"}


class StaticFile(msgspec.Struct, frozen=True):
    """A file, with its path below the folder; relative, with a slash before the name."""

    path: str
    manifests: tuple[Manifest, ...]


class StaticExport(msgspec.Struct, frozen=True):
    """
    All files, and what the policies in them do not do.

    Attributes:
        files: The policies first, then the configuration that names their folders; may be empty.
    """

    files: tuple[StaticFile, ...]
    omissions: tuple[Omission, ...]


def export_static(policy: Policy, facts: Facts) -> StaticExport:
    """Export the profiles and the rules of a policy, for one API server after the other."""
    exports = {
        MUTATING_POLICY.kind: export_mutating(policy, facts),
        VALIDATING_POLICY.kind: export_validating(policy),
    }
    files = [
        StaticFile(f"{_FOLDERS[kind]}/evenspread.yaml", tuple(map(_rename, export.manifests)))
        for kind, export in exports.items()
        if export.manifests
    ]
    if files:
        kinds = [kind for kind, export in exports.items() if export.manifests]
        files.append(StaticFile(CONFIGURATION_FILE, (_configure(kinds),)))
    notes = _describe(policy.gates.version) if files else []
    described = [omission for export in exports.values() for omission in export.omissions]
    return StaticExport(tuple(files), tuple(dict.fromkeys((*notes, *described))))


def _rename(manifest: Manifest) -> Manifest:
    metadata = {**manifest["metadata"], "name": manifest["metadata"]["name"] + NAME_SUFFIX}
    spec = dict(manifest["spec"])
    if "policyName" in spec:
        spec["policyName"] += NAME_SUFFIX
    return {**manifest, "metadata": metadata, "spec": spec}


def _configure(kinds: Sequence[str]) -> Manifest:
    """Write the configuration of kube-apiserver's admission plugins of these kinds."""
    plugins = [
        {
            "name": kind,
            "configuration": {
                "apiVersion": _CONFIGURATION_VERSION,
                "kind": f"{kind}Configuration",
                "staticManifestsDir": f"{STATIC_FOLDER}/{_FOLDERS[kind]}",
            },
        }
        for kind in kinds
    ]
    return {
        "apiVersion": _CONFIGURATION_VERSION,
        "kind": "AdmissionConfiguration",
        "plugins": plugins,
    }


def _describe(version: Version) -> list[Omission]:
    start = (
        f"copy the folders to {STATIC_FOLDER} on every control plane node, and start "
        "kube-apiserver with --admission-control-config-file="
        f"{STATIC_FOLDER}/{CONFIGURATION_FILE}, or add its plugins to the file that you have"
    )
    found = [
        Omission("files", start),
        Omission(
            "API",
            "the policies are no objects: kubectl does not show them, and `export --check` does "
            "not compare them. kube-apiserver reads changed files within a minute, and does not "
            "start with an invalid one",
        ),
    ]
    if version < STATIC_BETA_SINCE:
        flag = f"--feature-gates={STATIC_GATE}=true"
        found.append(Omission(f"Kubernetes {version}", f"kube-apiserver also needs {flag}"))
    return found
