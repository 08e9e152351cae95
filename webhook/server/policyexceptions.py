"""
SpreadPolicyExceptions of the cluster, followed by a watch for as long as the server runs.

``ExceptionWatcher`` keeps their store current, and reports those that are skipped. Other caches are
replaced when the configuration needs other kinds; this one is not, since only it knows the last
good version of an exception that can no longer be read.
"""

from dataclasses import replace

from webhook.cluster.discovery import SkippedObject, describe_exceptions
from webhook.cluster.optionalkinds import OptionalKind
from webhook.cluster.policyexceptions import Clock, PolicyExceptionStore
from webhook.cluster.quota import NamespaceQuota
from webhook.cluster.reflector import ReflectorEnvironment
from webhook.server.events import EventRecorder
from webhook.server.policies import GRANT

NAMESPACE_BYTES_OF_EXCEPTIONS = 4 * 1024 * 1024
"""Maximum bytes of a namespace's exceptions: ten times what 100 with large selectors take."""

MOST_EVENTS = 100  # skipped exceptions that have an Event, each one; a tenant can create many


class ExceptionWatcher:
    """
    Watches the SpreadPolicyExceptions.

    Attributes:
        store: The exceptions; those that have expired have no effect, without a change.
        reflector: Keeps the store current; a cluster without the kind has no exceptions.
    """

    def __init__(
        self, environment: ReflectorEnvironment, now: Clock, events: EventRecorder | None
    ) -> None:
        """
        Start without exceptions.

        Args:
            now: The wall clock, by which exceptions expire; aware.
            events: None if there are no Events.
        """
        self.store = PolicyExceptionStore(now, NamespaceQuota(NAMESPACE_BYTES_OF_EXCEPTIONS))
        self._report = environment.report_skipped
        self._events = events
        self._reported: set[tuple[str, str, str]] = set()
        environment = replace(environment, report_skipped=self._report_skipped)
        self._kind = OptionalKind(describe_exceptions(self.store), environment)
        self.reflector = self._kind.reflector

    async def start(self) -> None:
        """
        Wait until the exceptions have been listed.

        Without the right to list them, none counts until it is granted.
        """
        if not await self._kind.list() and self._events is not None:
            message = f"SpreadPolicyExceptions do not count: {self.reflector.problem}; {GRANT}"
            self._events.record("SpreadPolicyExceptionsForbidden", message, warning=True)

    def _report_skipped(self, kind: str, skipped: SkippedObject) -> None:
        """Report a skipped exception as other objects are, and with an Event for each reason."""
        self._report(kind, skipped)
        key = (skipped.namespace, skipped.name, skipped.reason)
        if self._events is None or key in self._reported or len(self._reported) >= MOST_EVENTS:
            return
        self._reported.add(key)
        message = f"SpreadPolicyException {skipped.namespace}/{skipped.name}: {skipped.message}"
        self._events.record("SpreadPolicyExceptionSkipped", message, warning=True)
