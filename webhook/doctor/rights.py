"""
The rights that the server needs, one row for each verb on a resource.

``list_needed_rights``, ``list_policy_rights``, ``list_audit_rights`` and ``list_scale_down_rights``
are the entry points; their results overlap. A test compares the rows with the roles of the chart.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from webhook.cluster.policyexceptions import POLICY_EXCEPTION
from webhook.config.spreadpolicies import SPREAD_POLICY
from webhook.policy.kinds import BUILT_IN_KINDS, CUSTOM_KINDS, KIND_ROWS, KindRow

WATCH_VERBS = ("list", "watch")
READ_VERBS = ("get", *WATCH_VERBS)


@dataclass(frozen=True)
class Right:
    """
    One verb on one resource.

    Attributes:
        group: Empty for the core API.
        resource: In the plural; with a slash and the subresource if it is about one.
        name: Name of the only object that the right covers; empty: all objects.
        namespaced: Whether the right covers only the server's own namespace.
    """

    verb: str
    group: str
    resource: str
    name: str = ""
    namespaced: bool = False

    def __str__(self) -> str:
        """Format the right, such as ``get on secrets evenspread-ca``."""
        group = f".{self.group}" if self.group else ""
        name = f" {self.name}" if self.name else ""
        return f"{self.verb} on {self.resource}{group}{name}"


ROLLOUTS = next(row for row in CUSTOM_KINDS.values() if row.watched)
"""Watched by every installation."""

_CACHE_ONLY = frozenset({"Node", "Service"})  # a cache that lacks one never reads it by name

_CACHED = tuple(
    (row.group, row.plural, WATCH_VERBS if row.kind in _CACHE_ONLY else READ_VERBS)
    for row in BUILT_IN_KINDS.values()
    if row.watched
)

_EXCEPTIONS = (POLICY_EXCEPTION.group, "spreadpolicyexceptions", WATCH_VERBS)

_AUDITED = tuple((row.group, row.plural) for row in KIND_ROWS if row.audited and not row.watched)
"""Listed by audits alone; the rights of the caches cover the other audited kinds."""

_REPORTS = {"wgpolicyk8s.io": "policyreports", "openreports.io": "reports"}

_HOOKS = ("mutatingwebhookconfigurations", "validatingwebhookconfigurations")


def certificate_mode(settings: Mapping[str, str]) -> str:
    """Return the source of a server's certificate in a cluster: self, files or standalone."""
    return settings.get("tls", "self").replace("auto", "self")


def list_needed_rights(
    name: str, mode: str, owners: Iterable[KindRow] = (ROLLOUTS,)
) -> Iterator[Right]:
    """
    List the rights that the ServiceAccount needs.

    Args:
        mode: Source of the certificate; only ``self`` writes the caBundle and the Secret.
        owners: Custom controllers that the server watches.
    """
    custom = ((owner.group, owner.plural, READ_VERBS) for owner in owners)
    for group, resource, verbs in (*_CACHED, _EXCEPTIONS, *custom):
        for verb in verbs:
            yield Right(verb, group, resource)
    writes = ("get", "patch") if mode == "self" else ("get",)
    for resource in _HOOKS:
        for verb in writes:
            yield Right(verb, "admissionregistration.k8s.io", resource, name)
    if mode == "self":
        for verb in writes:
            yield Right(verb, "", "secrets", f"{name}-ca", namespaced=True)
    yield Right("create", "", "events", namespaced=True)


def list_policy_rights(name: str, settings: Mapping[str, str]) -> Iterator[Right]:
    """
    List the further rights of a server that watches SpreadPolicies; nothing without them.

    Args:
        settings: Settings of the server by flag name.
    """
    if settings.get("policies") != "file":
        for verb in WATCH_VERBS:
            yield Right(verb, SPREAD_POLICY.group, "spreadpolicies")
        yield Right("patch", SPREAD_POLICY.group, "spreadpolicies/status")
        yield from _list_lease_rights(name)


def list_scale_down_rights(name: str, *, keeps_spread: bool, repairs: bool) -> Iterator[Right]:
    """
    List the further rights of a server that ranks pods; nothing without ``scaleDown: KeepSpread``.

    Args:
        keeps_spread: Whether a profile has it.
        repairs: Whether the configuration has ``scaleDownRepair``.
    """
    if keeps_spread:
        for verb in WATCH_VERBS:
            yield Right(verb, "", "pods")
    if keeps_spread and repairs:
        for verb in ("get", "patch"):
            yield Right(verb, "", "pods")
        yield from _list_lease_rights(name)


def list_audit_rights(
    name: str, settings: Mapping[str, str], custom: Iterable[KindRow] = ()
) -> Iterator[Right]:
    """
    List the further rights of a server that audits; nothing without ``--audit-interval``.

    Args:
        settings: Settings of the server by flag name.
        custom: Kinds of the configuration with a pod template, apart from those known.
    """
    if not settings.get("audit-interval"):
        return
    yield from _list_lease_rights(name)
    for group, resource in (*_AUDITED, *((row.group, row.plural) for row in custom)):
        yield Right("list", group, resource)
    group = settings.get("policy-reports", "none")
    for verb in ("list", "create", "update", "delete") if group in _REPORTS else ():
        yield Right(verb, group, _REPORTS[group])


def _list_lease_rights(name: str) -> Iterator[Right]:
    """List the rights to the Lease that elects a replica."""
    for verb in ("get", "update"):
        yield Right(verb, "coordination.k8s.io", "leases", f"{name}-audit", namespaced=True)


def build_review(right: Right, namespace: str, account: str) -> dict[str, object]:
    """
    Build the SubjectAccessReview that checks whether a ServiceAccount has a right.

    Source: k8s.io/api authorization/v1; the groups are those of a ServiceAccount's tokens.
    """
    resource, _, subresource = right.resource.partition("/")
    attributes = {
        "verb": right.verb,
        "group": right.group,
        "resource": resource,
        "subresource": subresource,
        "name": right.name,
        "namespace": namespace if right.namespaced else "",
    }
    return {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SubjectAccessReview",
        "spec": {
            "user": f"system:serviceaccount:{namespace}:{account}",
            "groups": [
                "system:serviceaccounts",
                f"system:serviceaccounts:{namespace}",
                "system:authenticated",
            ],
            "resourceAttributes": {key: value for key, value in attributes.items() if value},
        },
    }
