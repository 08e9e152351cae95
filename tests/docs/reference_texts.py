"""
Texts of the reference about the remedies of ``evenspread fix`` and the checks of ``doctor``.

The tables of the program have the functions; the pages show these texts beside them.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple


class RemedyText(NamedTuple):
    """
    The texts about a remedy in the reference.

    Attributes:
        writes: What the remedy writes, in a few words.
        leaves: Which findings it leaves, and why; empty if none.
    """

    writes: str
    leaves: str = ""


REMEDY_TEXTS: Mapping[str, RemedyText] = MappingProxyType(
    {
        "TSC001": RemedyText("`maxSkew: 1`, the smallest valid value"),
        "TSC003": RemedyText(
            "`DoNotSchedule` or `ScheduleAnyway`, whichever was misspelled",
            "if the value is missing or resembles neither: either may be intended",
        ),
        "TSC004": RemedyText(
            "removes one of two equal constraints; if only maxSkew differs, the one with the "
            "larger maxSkew",
            "constraints that differ in more than maxSkew: either may be intended",
        ),
        "TSC005": RemedyText("removes minDomains, which has no effect below 1"),
        "TSC006": RemedyText(
            "removes minDomains, which has no effect with ScheduleAnyway",
            "if whenUnsatisfiable has no valid value: fix this value first",
        ),
        "TSC007": RemedyText(
            "`Honor` or `Ignore`, whichever was misspelled",
            "if the value resembles neither: either may be intended",
        ),
        "TSC008": RemedyText(
            "adds a labelSelector with the pod's own labels if it is missing; removes a key "
            "that is in both matchLabelKeys and the selector from one of them, if the same "
            "pods still count",
            "pods without other labels than those in matchLabelKeys; "
            "an invalid label key; a key whose required value in the selector differs from "
            "the pod's own label",
        ),
        "TSC009": RemedyText(
            "corrects a misspelled operator",
            "other errors of the selector: only the author knows the intended label or value",
        ),
        "TSC011": RemedyText(
            "renames a misspelled field, moves a misplaced field or list to where it belongs",
            "a field that resembles none; a field, or a list, that is also written correctly; a "
            "list outside of several pod templates",
        ),
        "TSC020": RemedyText("the successor of the deprecated label"),
        "TSC021": RemedyText(
            "a labelSelector with the pod's own labels",
            "pods without labels; a selector that a profile fills in when the pod is created",
        ),
        "TSC101": RemedyText(
            "the pod's own values, if the selector uses the labels that identify the pod, or one "
            "with which the controller names the workload, and its other labels are the pod's",
            "other selectors, and selectors of another workload's pods: they may be intended",
        ),
        "TSC102": RemedyText("a labelSelector with the pod's own labels", "pods without labels"),
        "TSC103": RemedyText(
            "the label of the nodes that a misspelled key resembles",
            "a key that resembles none of them; a key that only some nodes have: label the others; "
            "an entry that would repeat another one",
        ),
        "TSC104": RemedyText(
            "the number of domains as minDomains, or `ScheduleAnyway` if replicas could stay "
            "Pending with it"
        ),
        "TSC105": RemedyText(
            "`nodeTaintsPolicy: Honor`; only on request also the number of domains as minDomains, "
            "if fewer than minDomains are left",
            "if the feature gate of this field is off",
        ),
        "TSC106": RemedyText(
            "the smallest maxSkew with which all pods that wait have a place in every order, and "
            "all replicas of a Deployment, a DeploymentConfig, a Rollout or a StatefulSet, placed "
            "from nothing, or "
            "`ScheduleAnyway`; the fix of TSC107 if that places the first pod of a new revision"
        ),
        "TSC107": RemedyText(
            "adds pod-template-hash to matchLabelKeys, for a Rollout rollouts-pod-template-hash, "
            "for a DeploymentConfig deployment",
            "a selector that also counts the pods of other workloads: they would no longer count",
        ),
        "TSC108": RemedyText(
            "`whenUnsatisfiable: ScheduleAnyway`", "if another StorageClass is the remedy"
        ),
        "TSC109": RemedyText(
            "the smallest maxSkew of the constraint in the finding with which all replicas have a "
            "place in every order, or `ScheduleAnyway`"
        ),
        "TSC110": RemedyText(
            "adds two ScheduleAnyway constraints, over zones and over nodes", "pods without labels"
        ),
        "TSC111": RemedyText(
            "removes the field, which has no effect",
            "if the whole topologySpreadConstraints has no effect",
        ),
        "TSC112": RemedyText(
            "the smallest maxSkew with which all replicas have a place in every order, or "
            "`ScheduleAnyway`; `maxSkew: 1` if no node is known"
        ),
        "TSC113": RemedyText(
            "adds to the selector a label of the pod that pods of other workloads do not have, or "
            "the labels of the workload's own selector",
            "if the pod has no such labels",
        ),
        "TSC116": RemedyText(
            "`nodeAffinityPolicy: Honor`, and `nodeTaintsPolicy: Honor` if needed; only on request "
            "also the number of domains as minDomains, if fewer than minDomains are left"
        ),
        "TSC117": RemedyText(
            "the label that the pods carry and that a misspelled key resembles, or that "
            "distinguishes their revisions; removes other keys, and those of a revision where a "
            "hard constraint may keep a pod of a StatefulSet from its volume"
        ),
        "TSC119": RemedyText(
            "adds pod-template-hash to matchLabelKeys of all hard constraints, for a Rollout "
            "rollouts-pod-template-hash, for a DaemonSet controller-revision-hash, for a "
            "DeploymentConfig deployment; for a StatefulSet with volumes removes "
            "controller-revision-hash from matchLabelKeys, and only on request writes the "
            "selector of TSC113",
            "if the feature gate of this field is off, or if data would have to be moved",
        ),
    }
)
"""Rule id -> the text about its remedy, for rules that have one."""

_CONFIGURATIONS = "both webhook configurations"

CHECK_READS: Mapping[str, str] = MappingProxyType(
    {
        "registered": _CONFIGURATIONS,
        "called-service": _CONFIGURATIONS,
        "rules": f"{_CONFIGURATIONS}, the ConfigMap",
        "fixed-members": _CONFIGURATIONS,
        "timeouts": _CONFIGURATIONS,
        "failure-policy": f"{_CONFIGURATIONS}, the Deployment",
        "exemptions": _CONFIGURATIONS,
        "validated-pods": (
            "the ValidatingWebhookConfiguration, the ConfigMap, flags of the Deployment"
        ),
        "binding": "the MutatingWebhookConfiguration, the ConfigMap, the SpreadPolicies",
        "match-conditions": _CONFIGURATIONS,
        "service": "the Service",
        "endpoints": "its EndpointSlices",
        "replicas": "the Deployment and its pods",
        "disruption-budget": "the PodDisruptionBudgets and the Deployment",
        "reached": "dry runs of PodTemplates labelled `evenspread.io/probe`, in a namespace that "
        "the webhooks are called for. Without such a namespace, as after an installation with "
        "`scope: optIn`, this check is a note",
        "versions": "the answers to probes, the labels of pods, `/metrics` of each replica",
        "well": "`/readyz` and `/metrics` of each replica, through the proxy of the API server",
        "ca-bundle": f"{_CONFIGURATIONS}, the Secret NAME-ca, the leaf certificate at `--address`",
        "certificates": (
            "the Secret NAME-ca or the mounted one; the leaf certificate at `--address`"
        ),
        "rights": "a SubjectAccessReview for each right",
        "configuration": "the ConfigMap",
        "policies": "the SpreadPolicies, the ConfigMap, flags of the Deployment",
        "kubernetes": "`/version` of the API server",
        "gates": "`/metrics` of the API server, the ConfigMap",
        "other-writers": "policies of Kyverno, Gatekeeper and Kubernetes; dry runs of plain pods",
    }
)
"""Id of a check -> what it reads, and so what the user must be allowed to read."""
