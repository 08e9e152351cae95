"""Asking an API server what a ServiceAccount may do."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import NamedTuple

import msgspec

from webhook.cluster.discovery import ResourcePath, locate_custom
from webhook.doctor import objects
from webhook.doctor.client import DoctorClient, describe_right
from webhook.doctor.configmap import list_owner_kinds
from webhook.doctor.installation import Lookup, value_or_none
from webhook.doctor.rights import (
    ROLLOUTS,
    CustomResource,
    Right,
    build_review,
    certificate_mode,
    list_needed_rights,
)
from webhook.errors import ApiError

_REVIEWS = ResourcePath("/apis/authorization.k8s.io/v1", "subjectaccessreviews")


class ServiceAccountRef(NamedTuple):
    """
    Whose rights are asked for.

    Attributes:
        name: Of the installation.
        settings: Of the server, which decide what it needs.
        account: The ServiceAccount.
    """

    name: str
    namespace: str
    settings: Mapping[str, str]
    account: str


async def review_rights(
    asker: DoctorClient, of: ServiceAccountRef, configuration: Lookup[objects.ConfigMap]
) -> dict[Right, Lookup[bool]]:
    """Ask for each right that the server needs whether it is granted."""
    owners = await _owners(asker, value_or_none(configuration))
    rights = list_needed_rights(of.name, certificate_mode(of.settings), owners)
    return {right: await _may(asker, right, of.namespace, of.account) for right in rights}


async def _owners(
    asker: DoctorClient, configuration: objects.ConfigMap | None
) -> list[CustomResource]:
    """The custom controllers that are followed: shipped, and configured ones that exist."""
    found = [ROLLOUTS]
    for kind in list_owner_kinds(configuration):
        try:
            place = await locate_custom(asker.reach, kind)
        except ApiError:
            continue
        if place is not None:
            found.append(CustomResource(kind.group, place.plural))
    return list(dict.fromkeys(found))


async def _may(asker: DoctorClient, right: Right, namespace: str, account: str) -> Lookup[bool]:
    answer = await asker.ask("POST", _REVIEWS.collection, build_review(right, namespace, account))
    if answer.status != HTTPStatus.CREATED:
        return Lookup(lacks=f"needs {describe_right('create', _REVIEWS)}")
    status = msgspec.json.decode(answer.body, type=_Reviewed).status
    return Lookup(status.allowed)


class _Allowed(msgspec.Struct):
    allowed: bool = False


class _Reviewed(msgspec.Struct):
    status: _Allowed
