"""
The status of SpreadPolicies, written by the one replica that holds the Lease.

``PolicyStatusWriter.work`` is the entry point. ``policyfacts`` gathers facts, and
``policy.defaulting.policystatus`` computes a status; here is decided when it is written: if it
differs from the one that the API server has, and at most once a minute for each policy. A failure
is counted and logged, and changes nothing else.
"""

import asyncio
import math
from collections.abc import Mapping
from http import HTTPStatus
from types import MappingProxyType
from typing import NamedTuple, NoReturn

import msgspec

from webhook.cluster.discovery import ResourcePath
from webhook.cluster.protocol import (
    MERGE_PATCH,
    NO_QUERY,
    ApiClient,
    FailureReason,
    Response,
    status_error,
)
from webhook.cluster.spreadpolicies import SpreadPolicyObject, read_status
from webhook.config.spreadpolicies import POLICY_API_VERSION, MergedProfiles
from webhook.errors import ApiError
from webhook.policy.defaulting.policystatus import PolicyCounts, PolicyStatus, compute_status
from webhook.policy.defaulting.profiles import Mode
from webhook.server.election import Clocks
from webhook.server.events import TaskObservers
from webhook.server.policyfacts import ProfileFacts, StatusSources, gather_facts, judge_profiles

ROUND_S = 1.0  # between two looks at what has changed
PERIOD_S = 60.0  # between two writes of one status, and two counts of Namespaces
UNAVAILABLE_S = 5.0  # after the API server was busy, or gave no response

_PLACE = ResourcePath(f"/apis/{POLICY_API_VERSION}", "spreadpolicies")
_BUSY = {HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE}
_NO_RESPONSE = {FailureReason.UNREACHABLE, FailureReason.SILENT, FailureReason.CREDENTIALS}
_NO_COUNTS: Mapping[str, PolicyCounts] = MappingProxyType({})


class _StatusWrite(NamedTuple):
    """A status that was written, and the one that the API server stored for it."""

    written: PolicyStatus
    stored: PolicyStatus | None


class _JudgedProfiles(NamedTuple):
    """The facts of profiles, what they depend on, and until when they hold."""

    merged: MergedProfiles
    mode: Mode
    exempt: frozenset[str]
    knows_namespaces: bool
    until: float
    facts: ProfileFacts


class PolicyStatusWriter:
    """Writes the status of each SpreadPolicy when it changes."""

    def __init__(
        self, client: ApiClient, sources: StatusSources, clocks: Clocks, observers: TaskObservers
    ) -> None:
        """Write nothing yet."""
        self._client = client
        self._sources = sources
        self._clocks = clocks
        self._observers = observers
        self._counts = _NO_COUNTS
        self._began = 0.0
        self._paused_until = 0.0
        self._judged: _JudgedProfiles | None = None
        self._tried_at: dict[str, float] = {}
        self._writes: dict[str, _StatusWrite] = {}
        self._absent: set[str] = set()
        self._reported: set[str] = set()

    @property
    def is_needed(self) -> bool:
        """Whether there is a SpreadPolicy."""
        return bool(self._sources.objects())

    def use_counts(self, counts: Mapping[str, PolicyCounts]) -> None:
        """Use the counts of an audit from now on."""
        self._counts = counts

    async def work(self) -> NoReturn:
        """
        Write each status that changes, until cancelled.

        Another replica may have written a status just before, so that the present ones stay for a
        period.
        """
        self._counts = _NO_COUNTS
        self._began = self._clocks.now()
        self._tried_at.clear()
        while True:
            if self._clocks.now() >= self._paused_until:
                await self._write_changed()
            await self._clocks.sleep(ROUND_S)

    async def _write_changed(self) -> None:
        objects = self._sources.objects()
        if not objects:
            return
        profiles = await self._judge(objects)
        for policy_object in sorted(objects, key=self._find_try):
            facts = gather_facts(policy_object, profiles, self._counts, audits=self._sources.audits)
            status = compute_status(facts, policy_object.status, self._clocks.wall())
            if self._is_due(policy_object, status):
                await self._write(policy_object, status)
            if self._clocks.now() < self._paused_until:
                break
        self._forget_others({_uid_of(policy_object) for policy_object in objects})

    async def _judge(self, objects: tuple[SpreadPolicyObject, ...]) -> ProfileFacts:
        """Return what the profiles show: once more after a change, and after a period."""
        merged = self._sources.merge(
            policy_object.found for policy_object in objects if policy_object.found is not None
        )
        policy, namespaces = self._sources.policy(), self._sources.namespaces()
        now = self._clocks.now()
        inputs = (merged, policy.mode, policy.exempt_namespaces, namespaces is not None)
        judged = self._judged
        if judged is None or judged[:4] != inputs or now >= judged.until:
            # In a thread, because there may be thousands of Namespaces.
            facts = await asyncio.to_thread(judge_profiles, merged, policy, namespaces)
            self._judged = judged = _JudgedProfiles(*inputs, now + PERIOD_S, facts)
        return judged.facts

    def _find_try(self, policy_object: SpreadPolicyObject) -> float:
        """Return when a policy was tried last, so that a failure does not delay the others."""
        return self._tried_at.get(_uid_of(policy_object), -math.inf)

    def _is_due(self, policy_object: SpreadPolicyObject, status: PolicyStatus) -> bool:
        """Whether a status has to be written now."""
        uid = _uid_of(policy_object)
        # An older definition drops fields: to write them again would change nothing.
        is_written = self._writes.get(uid) == (status, policy_object.status)
        if not uid or status == policy_object.status or is_written:
            return False
        is_fresh = policy_object.status is None or not policy_object.status.is_ours
        tried_at = self._tried_at.get(uid)
        if tried_at is None:
            return is_fresh or self._clocks.now() >= self._began + PERIOD_S
        return self._clocks.now() >= tried_at + PERIOD_S

    async def _write(self, policy_object: SpreadPolicyObject, status: PolicyStatus) -> None:
        """Write a status unless the policy has been changed; null removes an unknown number."""
        assert policy_object.metadata is not None, "it has a uid"
        uid, metadata = _uid_of(policy_object), policy_object.metadata
        precondition = {"uid": uid, "resourceVersion": metadata.resource_version}
        body = msgspec.json.encode({"metadata": precondition, "status": status})
        path = f"{_PLACE.item('', policy_object.name)}/status"
        before = self._tried_at.get(uid)
        self._tried_at[uid] = self._clocks.now()
        try:
            response = await self._client.send("PATCH", path, NO_QUERY, body, MERGE_PATCH)
            if response.status == HTTPStatus.CONFLICT:
                self._count("conflict")
                self._forget_try(uid, before)
                return
            self._require_ok(response)
        except ApiError as error:
            self._count("failure")
            self._report(uid, error)
        else:
            self._count("success")
            self._writes[uid] = _StatusWrite(status, read_status(response.body))
            self._reported.clear()

    def _forget_try(self, uid: str, before: float | None) -> None:
        """Count a try that wrote nothing as none."""
        del self._tried_at[uid]
        if before is not None:
            self._tried_at[uid] = before

    def _require_ok(self, response: Response) -> None:
        if response.status != HTTPStatus.OK:
            source = self._client.name
            raise status_error(source, response.status, response.body, response.headers)

    def _report(self, uid: str, error: ApiError) -> None:
        """Log each kind of failure once, until a write succeeds, and leave the API server alone."""
        if error.status == HTTPStatus.NOT_FOUND and uid not in self._absent:
            self._absent.add(uid)  # most likely, the policy has just been deleted
            return
        now = self._clocks.now()
        if error.status == HTTPStatus.FORBIDDEN:
            self._paused_until = now + PERIOD_S
        elif error.status in _BUSY or error.reason in _NO_RESPONSE:
            self._paused_until = now + max(UNAVAILABLE_S, error.retry_after)
        if error.reason not in self._reported:
            self._reported.add(error.reason)
            message = f"the status of SpreadPolicies cannot be written: {error}{_advise(error)}"
            self._observers.log.warning("status", message=message)

    def _forget_others(self, uids: set[str]) -> None:
        """Forget the policies that are gone."""
        for uid in (self._tried_at.keys() | self._writes.keys() | self._absent) - uids:
            self._tried_at.pop(uid, None)
            self._writes.pop(uid, None)
            self._absent.discard(uid)

    def _count(self, result: str) -> None:
        self._observers.metrics.policy_status_writes.labels(result).inc()


def _uid_of(policy_object: SpreadPolicyObject) -> str:
    return (policy_object.metadata and policy_object.metadata.uid) or ""


def _advise(error: ApiError) -> str:
    """Describe what to do about a failure; empty if that is not known."""
    if error.status == HTTPStatus.FORBIDDEN:
        return "; allow patch of spreadpolicies/status, as the chart does"
    if error.status == HTTPStatus.NOT_FOUND:
        return "; install the CustomResourceDefinition of this version"
    return ""
