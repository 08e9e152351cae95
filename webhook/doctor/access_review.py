"""
Rights of a ServiceAccount, asked of the API server by SubjectAccessReviews.

``review_rights`` asks for every right that ``rights`` lists; the API server stores no review.
"""

from collections.abc import Mapping
from http import HTTPStatus
from typing import NamedTuple

import msgspec

from webhook.cluster.discovery import ResourcePath, locate_custom
from webhook.doctor.client import DoctorClient, describe_right
from webhook.doctor.configmap import list_owner_kinds
from webhook.doctor.installation import Lookup, value_or_none
from webhook.doctor.objects import ConfigMap
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
    The ServiceAccount whose rights are reviewed.

    Attributes:
        installation: Name of the installation.
        settings: Settings of the server, which decide what it needs.
        account: Name of the ServiceAccount.
    """

    installation: str
    namespace: str
    settings: Mapping[str, str]
    account: str


async def review_rights(
    client: DoctorClient, subject: ServiceAccountRef, configuration: Lookup[ConfigMap]
) -> dict[Right, Lookup[bool]]:
    """Ask for each right that the server needs whether the ServiceAccount has it."""
    owners = await _find_owner_resources(client, value_or_none(configuration))
    mode = certificate_mode(subject.settings)
    rights = list_needed_rights(subject.installation, mode, owners)
    return {right: await _review(client, right, subject) for right in rights}


async def _find_owner_resources(
    client: DoctorClient, configuration: ConfigMap | None
) -> list[CustomResource]:
    """Find the custom controllers that the server watches: Rollouts, and those configured."""
    found = [ROLLOUTS]
    for kind in list_owner_kinds(configuration):
        try:
            place = await locate_custom(client.api, kind)
        except ApiError:
            continue
        if place is not None:
            found.append(CustomResource(kind.group, place.plural))
    return list(dict.fromkeys(found))


async def _review(client: DoctorClient, right: Right, subject: ServiceAccountRef) -> Lookup[bool]:
    review = build_review(right, subject.namespace, subject.account)
    response = await client.send("POST", _REVIEWS.collection, review)
    if response.status != HTTPStatus.CREATED:
        return Lookup(problem=f"needs {describe_right('create', _REVIEWS)}")
    return Lookup(msgspec.json.decode(response.body, type=_Review).status.allowed)


class _ReviewStatus(msgspec.Struct):
    allowed: bool = False


class _Review(msgspec.Struct):
    status: _ReviewStatus
