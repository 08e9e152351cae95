"""
Rights of a ServiceAccount, requested from the API server by SubjectAccessReviews.

``review_rights`` reviews every right that ``rights`` lists; the API server stores no review.
"""

from http import HTTPStatus

import msgspec

from webhook.cluster.discovery import ResourcePath, locate_custom
from webhook.doctor.client import DoctorClient, describe_right
from webhook.doctor.configmap import read_if_valid
from webhook.doctor.installation import Lookup
from webhook.doctor.objects import ConfigMap
from webhook.doctor.rights import (
    ROLLOUTS,
    Right,
    build_review,
    certificate_mode,
    list_needed_rights,
)
from webhook.doctor.workload import Deployment
from webhook.errors import ApiError
from webhook.policy.kinds import KindRow

_REVIEWS = ResourcePath("/apis/authorization.k8s.io/v1", "subjectaccessreviews")


async def review_rights(
    client: DoctorClient,
    name: str,
    namespace: str,
    deployment: Deployment | None,
    config_map: ConfigMap | None,
) -> dict[Right, Lookup[bool]]:
    """
    Review each right that the server needs.

    Args:
        name: Name of the installation; also that of the ServiceAccount without a Deployment.
        namespace: Namespace of the ServiceAccount.
        deployment: Its settings decide what the server needs.
        config_map: The configuration, which may name further controllers.
    """
    mode = certificate_mode((deployment or Deployment()).settings)
    account = deployment.spec.template.spec.service_account_name if deployment else name
    owners = await _find_owners(client, config_map)
    found: dict[Right, Lookup[bool]] = {}
    for right in list_needed_rights(name, mode, owners):
        review = build_review(right, namespace, account)
        response = await client.send("POST", _REVIEWS.collection, review)
        if response.status == HTTPStatus.CREATED:
            found[right] = Lookup(msgspec.json.decode(response.body, type=_Review).status.allowed)
        else:
            found[right] = Lookup(problem=f"needs {describe_right('create', _REVIEWS)}")
    return found


async def _find_owners(client: DoctorClient, config_map: ConfigMap | None) -> list[KindRow]:
    """Find the custom controllers that the server watches: Rollouts, and those configured."""
    found = [ROLLOUTS]
    configured = read_if_valid(config_map, {})
    for owner in configured.configuration.owner_selectors if configured else ():
        try:
            place = await locate_custom(client.api, owner.kind)
        except ApiError:
            continue
        if place is not None and owner.kind != ROLLOUTS.group_kind:
            found.append(KindRow(owner.kind.group, "", owner.kind.kind, place.plural))
    return found


class _ReviewStatus(msgspec.Struct):
    allowed: bool = False


class _Review(msgspec.Struct):
    status: _ReviewStatus
