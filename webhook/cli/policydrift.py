"""``evenspread export --check``: compare exported policies with those of a cluster."""

from collections.abc import Sequence
from http import HTTPStatus

import msgspec

from webhook.cli.inputs import apiserver
from webhook.cli.inputs.apiserver import ServerOptions
from webhook.cli.terminal import Terminal
from webhook.cli.views.diffs import show_yaml_diff
from webhook.cluster.lists import list_pages
from webhook.cluster.protocol import ApiClient
from webhook.errors import ApiError, SourceError
from webhook.export.drift import PolicyDrift, find_policy_drift
from webhook.export.exported import (
    ADMISSION_GROUP,
    MUTATING_BINDING,
    MUTATING_POLICY,
    PLURALS,
    VALIDATING_BINDING,
    VALIDATING_POLICY,
    Manifest,
)
from webhook.export.mutating import MUTATING_FORM, mutating_version
from webhook.export.validation import VALIDATING_FORM
from webhook.policy.api.versions import Version

KINDS_OF_FORM = {
    MUTATING_FORM: (MUTATING_POLICY.kind, MUTATING_BINDING.kind),
    VALIDATING_FORM: (VALIDATING_POLICY.kind, VALIDATING_BINDING.kind),
}


def show_policy_drift(
    form: str, exported: Sequence[Manifest], version: Version, server: ServerOptions
) -> bool:
    """
    Write the differences as a diff from the cluster to the export.

    Args:
        version: Of the cluster; it decides the version of the API.

    Returns:
        Whether there are any.

    Raises:
        SourceError: The cluster cannot be read, or does not have the kinds in this version.
    """
    api_version = mutating_version(version) if form == MUTATING_FORM else "v1"

    async def read(client: ApiClient) -> list[Manifest]:
        return [
            manifest
            for kind in KINDS_OF_FORM[form]
            for manifest in await _list(client, kind, api_version)
        ]

    found = list(find_policy_drift(exported, apiserver.call(server, read), form))
    terminal = Terminal()
    for drift in found:
        _show(drift, terminal)
    if not found:
        terminal.line(f"no drift: the cluster has the {len(exported)} exported objects")
    return bool(found)


async def _list(client: ApiClient, kind: str, version: str) -> list[Manifest]:
    """
    List the objects of a kind; API servers leave out the kind of the entries of a list.

    Raises:
        ApiError: The API server gives no list.
        SourceError: It does not have the kind in this version.
    """
    plural, group_version = PLURALS[kind], f"{ADMISSION_GROUP}/{version}"
    try:
        return [
            {**msgspec.json.decode(item), "kind": kind}
            async for page in list_pages(client, f"/apis/{group_version}/{plural}")
            for item in page
        ]
    except ApiError as error:
        if error.status != HTTPStatus.NOT_FOUND:
            raise
        raise SourceError(
            client.name, f"does not serve {plural} of {group_version}: {_advise(version)}"
        ) from error


def _advise(version: str) -> str:
    advice = "name the Kubernetes version of the cluster with --kube-version"
    if version == "v1":
        return advice
    return f"{advice}; kube-apiserver serves {version} only with --runtime-config"


def _show(drift: PolicyDrift, terminal: Terminal) -> None:
    subject = f"{drift.kind}/{drift.name}"
    heads = (f"{subject} in the cluster", f"{subject} as exported")
    show_yaml_diff(drift.stored, drift.exported, heads, terminal)
