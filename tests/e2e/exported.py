"""Policies of ``evenspread export`` on the control plane, and the configuration they come from."""

import copy
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.controlplane.api import ApiError, Json
from tests.controlplane.plane import ControlPlane
from webhook.cli.inputs.policy import RequestedPolicy, read_policy
from webhook.policy.api.versions import Version

BY_POLICY = {"evenspread.test/way": "policy"}
"""Labels of the namespaces in which exported policies are in force, and no webhook is called."""

BY_WEBHOOK = {"evenspread.test/way": "webhook"}

CASE = "evenspread.test/case"
"""Label of a namespace: the profile whose pods it has."""

PROFILES = f"""
apiVersion: evenspread.io/v1alpha1
kind: SpreadConfiguration
fieldDefaults: none
profiles:
- name: Soft
  match: {{namespaceSelector: {{matchLabels: {{{CASE}: soft}}}}}}
  defaultConstraints:
  - {{maxSkew: 3, topologyKey: kubernetes.io/hostname, whenUnsatisfiable: ScheduleAnyway}}
  - {{maxSkew: 5, topologyKey: topology.kubernetes.io/zone, whenUnsatisfiable: ScheduleAnyway}}
- name: hard
  match:
    namespaceSelector: {{matchExpressions: [{{key: {CASE}, operator: In, values: [hard]}}]}}
  defaultConstraints:
  - maxSkew: 1
    topologyKey: topology.kubernetes.io/zone
    whenUnsatisfiable: DoNotSchedule
    minDomains: 2
    nodeAffinityPolicy: Honor
    nodeTaintsPolicy: Honor
- name: merging
  match: {{namespaceSelector: {{matchLabels: {{{CASE}: merging}}}}}}
  merge: PerTopologyKey
  gangs: true
  defaultConstraints:
  - {{maxSkew: 2, topologyKey: rack, whenUnsatisfiable: ScheduleAnyway}}
  - {{maxSkew: 4, topologyKey: rack, whenUnsatisfiable: DoNotSchedule}}
  - {{maxSkew: 5, topologyKey: zone, whenUnsatisfiable: ScheduleAnyway}}
- name: revisions
  match: {{namespaceSelector: {{matchLabels: {{{CASE}: revisions}}}}}}
  defaultConstraints:
  - maxSkew: 1
    topologyKey: zone
    whenUnsatisfiable: ScheduleAnyway
    matchLabelKeys: [pod-template-hash, controller-revision-hash, app, none]
- name: fronts
  match:
    namespaceSelector: {{matchLabels: {{{CASE}: chosen}}}}
    objectSelector:
      matchLabels: {{tier: front}}
      matchExpressions:
      - {{key: app, operator: NotIn, values: [c]}}
      - {{key: none, operator: DoesNotExist}}
      - {{key: env, operator: Exists}}
  merge: PerTopologyKey
  defaultConstraints:
  - {{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: ScheduleAnyway}}
- name: sets
  match:
    namespaceSelector: {{matchLabels: {{{CASE}: chosen}}}}
    ownerKinds: [StatefulSet, Job]
  defaultConstraints:
  - {{maxSkew: 2, topologyKey: zone, whenUnsatisfiable: ScheduleAnyway}}
- name: other-schedulers
  match:
    namespaceSelector: {{matchLabels: {{{CASE}: chosen}}}}
    schedulerNames: [other, third]
  defaultConstraints:
  - {{maxSkew: 3, topologyKey: zone, whenUnsatisfiable: ScheduleAnyway}}
- name: rest
  match:
    namespaceSelector: {{matchLabels: {{{CASE}: chosen}}}}
    schedulerNames: [default-scheduler, other]
  defaultConstraints:
  - {{maxSkew: 4, topologyKey: zone, whenUnsatisfiable: ScheduleAnyway}}
"""

CASES = ("soft", "hard", "merging", "revisions", "chosen")


def requested_policy(folder: Path, config: str, version: Version) -> RequestedPolicy:
    """The policy of a configuration, as the command reads it."""
    file = folder / "exported.yaml"
    file.write_text(config)
    return read_policy(
        kube_version=str(version),
        feature_gates="",
        allow_locked_gates=False,
        config=str(file),
    )


def limit(manifests: Sequence[Json], labels: Mapping[str, str]) -> list[Json]:
    """Copies whose bindings are for namespaces with these labels alone."""
    copies = copy.deepcopy(list(manifests))
    for manifest in copies:
        if manifest["kind"].endswith("Binding"):
            chosen = {"namespaceSelector": {"matchLabels": dict(labels)}}
            manifest["spec"]["matchResources"] = chosen
    return copies


@contextmanager
def applied(plane: ControlPlane, manifests: Sequence[Json]) -> Iterator[None]:
    """Have objects as long as the context lasts."""
    for manifest in manifests:
        plane.api.create(manifest)
    try:
        yield
    finally:
        for manifest in reversed(manifests):
            plane.api.delete(manifest)


def is_denied(plane: ControlPlane, obj: Json, **query: Any) -> bool:
    """Whether an API server refuses to create an object."""
    try:
        plane.api.create(obj, dryRun="All", **query)
    except ApiError:
        return True
    return False
