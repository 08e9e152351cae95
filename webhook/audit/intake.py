"""
Objects of an API server, put into a snapshot one by one.

Where they come from is the business of ``listing``, for a whole cluster, and of ``sweep``, for one
namespace after the other.
"""

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

import msgspec

from webhook.audit.collect import pod, without_noise, workload_of
from webhook.audit.kinds import Listed
from webhook.audit.snapshot import Owner, Snapshot, Workload
from webhook.cluster import wire
from webhook.cluster.lookup import BUILT_IN_OWNERS
from webhook.cluster.resources import custom_decoder
from webhook.config import OwnerSelector
from webhook.policy.advice.reading import read
from webhook.policy.model import GroupKind
from webhook.policy.nesting import decode_nested
from webhook.policy.workloads import TemplatePath

_SELECTOR: TemplatePath = ("spec", "selector")


class Intake:
    """
    Reads objects for snapshots.

    Attributes:
        kinds: Those that hold pod templates or select pods, built-in and custom ones.
    """

    def __init__(
        self, templates: Mapping[GroupKind, TemplatePath], owners: Iterable[OwnerSelector]
    ) -> None:
        """
        Read nothing yet.

        Args:
            templates: Where each kind with a pod template holds it.
            owners: Custom controllers whose selectors are asked for.
        """
        self._templates = templates
        self._selectors = {each.kind: custom_decoder(each.path) for each in owners}
        self._built_in_selector = custom_decoder(_SELECTOR)
        self.kinds = templates.keys() | self._selectors.keys()

    def put(self, snapshot: Snapshot, listed: Listed, item: msgspec.Raw) -> None:
        """
        Put an object of any depth into a snapshot.

        Raises:
            msgspec.DecodeError: It is of wrong types; then the snapshot is as it was.
        """
        decode_nested(partial(self._put, snapshot, listed), item)

    def _put(self, snapshot: Snapshot, listed: Listed, item: bytes | msgspec.Raw) -> None:
        match listed.api_version, listed.kind:
            case "v1", "Node":
                snapshot.nodes.append(msgspec.json.decode(item, type=wire.Node))
            case "v1", "Namespace":
                snapshot.namespaces.append(msgspec.json.decode(item, type=wire.Namespace))
            case "v1", "Service":
                snapshot.services.append(msgspec.json.decode(item, type=wire.Service))
            case "v1", "Pod":
                found = pod(item)
                snapshot.pods.append(found)
                if found.metadata is None or found.metadata.controller is None:
                    snapshot.workloads.append(workload_of(found))
            case _:
                self._put_workload(snapshot, listed, item)

    def _put_workload(self, snapshot: Snapshot, listed: Listed, item: bytes | msgspec.Raw) -> None:
        kind = listed.group_kind
        path = self._templates.get(kind)
        subject = read(item, kind, path) if path is not None else None
        owner = self._owner(listed, kind, item)
        if subject is not None:
            snapshot.workloads.append(
                Workload(api_version=listed.api_version, subject=without_noise(subject))
            )
        if owner is not None:
            snapshot.owners.append(
                Owner(
                    api_version=listed.api_version,
                    kind=listed.kind,
                    namespace=owner.namespace,
                    name=owner.name,
                    selector=owner.selector,
                )
            )

    def _owner(self, listed: Listed, kind: GroupKind, item: bytes | msgspec.Raw) -> Any:
        if listed.kind == "ReplicationController":
            return msgspec.json.decode(item, type=wire.ReplicationController)
        if (listed.api_version, listed.kind) in BUILT_IN_OWNERS:
            return self._built_in_selector(item)
        decode = self._selectors.get(kind)
        return decode(item) if decode else None
