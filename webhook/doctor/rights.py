"""
The rights that the server needs, as the manifests grant them: rows, each for one verb.

A test compares them with the roles of the chart, so that neither has one more.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

FOLLOW = ("list", "watch")
READ = ("get", *FOLLOW)


class Right(NamedTuple):
    """
    One verb on one resource.

    Attributes:
        group: Empty for the core API.
        name: Of the only object that it is for; empty: of all.
        namespaced: Whether it is for the server's own namespace alone.
    """

    verb: str
    group: str
    resource: str
    name: str = ""
    namespaced: bool = False

    def __str__(self) -> str:
        """Write it as ``get on secrets evenspread-ca``."""
        group = f".{self.group}" if self.group else ""
        name = f" {self.name}" if self.name else ""
        return f"{self.verb} on {self.resource}{group}{name}"


class CustomResource(NamedTuple):
    """A custom kind that controls pods, as the API server names it."""

    group: str
    resource: str


ROLLOUTS = CustomResource("argoproj.io", "rollouts")
"""Followed by every installation."""

_CACHED = (
    ("", "nodes", FOLLOW),
    ("", "services", FOLLOW),
    ("", "namespaces", READ),
    ("", "replicationcontrollers", READ),
    ("apps", "replicasets", READ),
    ("apps", "statefulsets", READ),
)

_HOOKS = ("mutatingwebhookconfigurations", "validatingwebhookconfigurations")


def certificate_mode(settings: Mapping[str, str]) -> str:
    """Where a server in a cluster has its certificate from: self, files or standalone."""
    return settings.get("tls", "self").replace("auto", "self")


def list_needed_rights(
    name: str, mode: str, owners: Iterable[CustomResource] = (ROLLOUTS,)
) -> Iterator[Right]:
    """
    List what the ServiceAccount has to be allowed.

    Args:
        name: Of the installation.
        mode: Where the certificate comes from; only ``self`` writes the caBundle and the Secret.
        owners: The custom controllers that are followed.
    """
    custom = ((each.group, each.resource, READ) for each in owners)
    for group, resource, verbs in (*_CACHED, *custom):
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


def build_review(right: Right, namespace: str, account: str) -> dict[str, object]:
    """
    The SubjectAccessReview that asks whether a ServiceAccount has a right.

    Source: k8s.io/api authorization/v1; the groups are those of its tokens.
    """
    of = {
        "verb": right.verb,
        "group": right.group,
        "resource": right.resource,
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
            "resourceAttributes": {key: value for key, value in of.items() if value},
        },
    }
