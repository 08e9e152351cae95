"""
Rights of a ServiceAccount, requested from the API server by SubjectAccessReviews.

``review_rights`` reviews every right that ``rights`` lists; the API server stores no review.
"""

from collections.abc import Iterable
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
    list_audit_rights,
    list_needed_rights,
)
from webhook.doctor.workload import Deployment
from webhook.errors import ApiError
from webhook.policy.kinds import BUILT_IN_KINDS, CUSTOM_KINDS, KindRow
from webhook.policy.model import GroupKind

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
    settings = (deployment or Deployment()).settings
    account = deployment.spec.template.spec.service_account_name if deployment else name
    configured = read_if_valid(config_map, {})
    selectors = configured.configuration.owner_selectors if configured else ()
    templates = configured.configuration.pod_templates if configured else ()
    owners = await _locate(client, (owner.kind for owner in selectors))
    custom = await _locate(client, templates)
    needed = (
        *list_needed_rights(name, certificate_mode(settings), (ROLLOUTS, *owners)),
        *list_audit_rights(name, settings, custom),
    )
    found: dict[Right, Lookup[bool]] = {}
    for right in needed:
        review = build_review(right, namespace, account)
        response = await client.send("POST", _REVIEWS.collection, review)
        if response.status == HTTPStatus.CREATED:
            found[right] = Lookup(msgspec.json.decode(response.body, type=_Review).status.allowed)
        else:
            found[right] = Lookup(problem=f"needs {describe_right('create', _REVIEWS)}")
    return found


async def _locate(client: DoctorClient, kinds: Iterable[GroupKind]) -> list[KindRow]:
    """Find the resources of configured kinds; leave out known and absent ones."""
    found: list[KindRow] = []
    for kind in kinds:
        if kind in BUILT_IN_KINDS or kind in CUSTOM_KINDS:
            continue
        try:
            place = await locate_custom(client.api, kind)
        except ApiError:
            continue
        if place is not None:
            found.append(KindRow(kind.group, "", kind.kind, place.plural))
    return found


class _ReviewStatus(msgspec.Struct):
    allowed: bool = False


class _Review(msgspec.Struct):
    status: _ReviewStatus
