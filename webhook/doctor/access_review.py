"""Asking an API server what a ServiceAccount may do."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import NamedTuple

import msgspec

from webhook.cluster.discovery import locate_custom
from webhook.cluster.resources import Place
from webhook.doctor import objects
from webhook.doctor.client import Asker, right_of
from webhook.doctor.configured import owners_of
from webhook.doctor.installation import Seen, seen_or_none
from webhook.doctor.rights import ROLLOUTS, Custom, Right, certificate_mode, needed, review
from webhook.errors import ApiError

_REVIEWS = Place("/apis/authorization.k8s.io/v1", "subjectaccessreviews")


class Account(NamedTuple):
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


async def ask_rights(
    asker: Asker, of: Account, configuration: Seen[objects.ConfigMap]
) -> dict[Right, Seen[bool]]:
    """Ask for each right that the server needs whether it is granted."""
    owners = await _owners(asker, seen_or_none(configuration))
    rights = needed(of.name, certificate_mode(of.settings), owners)
    return {right: await _may(asker, right, of.namespace, of.account) for right in rights}


async def _owners(asker: Asker, configuration: objects.ConfigMap | None) -> list[Custom]:
    """The custom controllers that are followed: shipped, and configured ones that exist."""
    found = [ROLLOUTS]
    for kind in owners_of(configuration):
        try:
            place = await locate_custom(asker.reach, kind)
        except ApiError:
            continue
        if place is not None:
            found.append(Custom(kind.group, place.plural))
    return list(dict.fromkeys(found))


async def _may(asker: Asker, right: Right, namespace: str, account: str) -> Seen[bool]:
    answer = await asker.ask("POST", _REVIEWS.collection, review(right, namespace, account))
    if answer.status != HTTPStatus.CREATED:
        return Seen(lacks=f"needs {right_of('create', _REVIEWS)}")
    status = msgspec.json.decode(answer.body, type=_Reviewed).status
    return Seen(status.allowed)


class _Allowed(msgspec.Struct):
    allowed: bool = False


class _Reviewed(msgspec.Struct):
    status: _Allowed
