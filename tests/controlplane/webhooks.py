"""
Webhook configurations as deployed, pointed at a server on loopback, and known to be in force.

A kube-apiserver reads them through a cache: after a write it goes on with the old ones for some
10 ms. Sleeping is either too short or too long; settle() polls.
"""

import copy
import itertools
import os
from functools import partial

from tests.controlplane.api import Api, Json
from tests.controlplane.waiting import until

VERSION = "admissionregistration.k8s.io/v1"
KINDS = ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")

_markers = itertools.count()


def by_url(configuration: Json, url: str, ca_bundle: str | None = None) -> Json:
    """
    A copy whose webhooks are called by URL; paths and all else stay.

    Not what a cluster does in three ways: the certificate is verified for the URL's host, HTTP/2 is
    offered because it is loopback, and no Service is looked up. by_service() is closer.

    Args:
        configuration: A Mutating- or ValidatingWebhookConfiguration with Service references.
        url: Such as ``https://127.0.0.1:20001``, without a path.
        ca_bundle: Base64 of PEM certificates to trust; None: what the configuration has.
    """
    changed = copy.deepcopy(configuration)
    for webhook in changed["webhooks"]:
        client = webhook["clientConfig"]
        client["url"] = url + client.pop("service").get("path", "")
        if ca_bundle is not None:
            client["caBundle"] = ca_bundle
    return changed


def by_service(configuration: Json, port: int, ca_bundle: str | None = None) -> Json:
    """
    A copy whose webhooks are called by their Service, at another port.

    With the Service an external_name(), the API server dials ``localhost`` at that port, and does
    all else as in a cluster: HTTP/1.1, a certificate for ``NAME.NAMESPACE.svc``.
    """
    changed = copy.deepcopy(configuration)
    for webhook in changed["webhooks"]:
        webhook["clientConfig"]["service"]["port"] = port
        if ca_bundle is not None:
            webhook["clientConfig"]["caBundle"] = ca_bundle
    return changed


def external_name(service: Json) -> Json:
    """
    A copy of a Service that means this machine.

    Apply it before a configuration refers to the Service: for one with a cluster IP the API server
    dials 10.0.0.x for real, which may be a real machine.

    Source: k8s.io/apiserver pkg/util/proxy/proxy.go, ``ResolveCluster``.
    """
    changed = copy.deepcopy(service)
    changed["spec"] = {"type": "ExternalName", "externalName": "localhost"}
    return changed


def settle(api: Api) -> None:
    """
    Return when every webhook configuration written or deleted before is in force.

    A server applies them in the order of their writes. So a marker is written last, for each kind
    of configuration, which refuses one labelled ConfigMap; once it does, all before it are known.
    The marker calls no server: its own match condition fails. The ConfigMap is only tried
    (``dryRun``), and the markers are deleted.

    Args:
        api: A client of the server that is to know them; each has a cache of its own.
    """
    for kind in KINDS:
        marker = _marker(kind)
        api.create(marker)
        try:
            until(partial(_refused, api, marker), f"the {kind}s to be in force")
        finally:
            api.delete(marker)


def _marker(kind: str) -> Json:
    name = f"settled-{os.getpid()}-{next(_markers)}"
    webhook = {
        "name": f"{name}.evenspread.test",
        "clientConfig": {"url": "https://127.0.0.1:1/"},  # required, and never dialled
        "rules": [
            {
                "apiGroups": [""],
                "apiVersions": ["v1"],
                "operations": ["CREATE"],
                "resources": ["configmaps"],
            }
        ],
        "objectSelector": {"matchLabels": {"evenspread.test/marker": name}},
        # Divides by zero; the error that refuses the ConfigMap quotes it, and so names the marker.
        "matchConditions": [
            {"name": "fails", "expression": f"'{name}' == string(1 / int(object.metadata.name))"}
        ],
        "failurePolicy": "Fail",
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
    }
    return {"apiVersion": VERSION, "kind": kind, "metadata": {"name": name}, "webhooks": [webhook]}


def _refused(api: Api, marker: Json) -> bool:
    name = marker["metadata"]["name"]
    tried: Json = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "0", "labels": {"evenspread.test/marker": name}},
    }
    reply = api.request("POST", api.collection_of(tried), tried, query={"dryRun": "All"})
    return name in str(reply.body.get("message"))
