"""
Policies and facts in force: what the admission listener uses for its next review.

``Enforcement`` swaps the listener's review context after a reload of the configuration, a change of
a SpreadPolicy, an upgrade of the API server, or a change of the facts' source, and reports each
swap. It must not read files or call the API server.
"""

from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from webhook import __version__
from webhook.config.configuration import Configuration
from webhook.config.spreadpolicies import (
    MergedProfiles,
    PolicyNotice,
    SpreadPolicy,
    merge_profiles,
)
from webhook.config.summary import advise
from webhook.errors import ConfigError
from webhook.policy.defaulting.profiles import Mode, Policy
from webhook.server.admission import Admission
from webhook.server.context import ServerContext
from webhook.server.events import EventRecorder, TaskObservers
from webhook.server.facts import FactsSource, WatchedKinds

PROFILES_NAMED = 64  # profiles in a line of the log, so that many policies do not fill it


class Enforcement:
    """
    The policy and the facts in force.

    Attributes:
        facts: The source of the facts.
        repairs_ranks: Whether ranks of pods are corrected after the pods are bound.
    """

    def __init__(
        self,
        context: ServerContext,
        admission: Admission,
        facts: FactsSource,
        events: EventRecorder | None,
    ) -> None:
        """Change nothing yet: the listener keeps the review context that it was built with."""
        self.repairs_ranks = False
        self.facts = facts
        self._admission = admission
        self._uses_files = context.settings.policies != "resource"
        self._of_files = context.configuration, admission.context.policy
        self._policies: tuple[SpreadPolicy, ...] = ()
        self._notices: Sequence[PolicyNotice] = ()
        self._advice: list[str] = []
        self._metrics = context.metrics
        self._log = context.log
        self._events = events
        self._observers = TaskObservers(context.metrics, context.log, events)

    def start(self, configuration: Configuration, policy: Policy) -> None:
        """Put the first policy in force, and log the notices of its configuration."""
        self._metrics.config_valid.set(1)
        self.apply_policy(configuration, policy)
        for message in configuration.notices:
            self._log.warning("configuration", message=message)

    def apply_policy(self, configuration: Configuration, policy: Policy) -> None:
        """Put the policy of a configuration in force, and watch the kinds that it needs."""
        self._of_files = configuration, policy
        self._apply()

    def use_policies(self, policies: Iterable[SpreadPolicy]) -> None:
        """Put other SpreadPolicies in force, behind the profiles of files."""
        self._policies = tuple(policies)
        self._apply()
        profiles = self._admission.context.policy.profiles
        names = [profile.name for profile in profiles[:PROFILES_NAMED]]
        more = ["..."] if len(profiles) > PROFILES_NAMED else []
        self._log.info("policies", number=len(self._policies), profiles=", ".join(names + more))

    def merge(self, policies: Iterable[SpreadPolicy]) -> MergedProfiles:
        """Put SpreadPolicies behind the profiles of files, without putting them in force."""
        _, of_files = self._of_files
        return merge_profiles(of_files.profiles if self._uses_files else (), policies)

    @property
    def policy(self) -> Policy:
        """The policy in force."""
        return self._admission.context.policy

    def _apply(self) -> None:
        configuration, of_files = self._of_files
        merged = self.merge(self._policies)
        policy = replace(of_files, profiles=merged.profiles)
        self._admission.context = self._admission.context._replace(policy=policy)
        self.repairs_ranks = (
            configuration.scale_down_repair and policy.keeps_spread and policy.mode is Mode.APPLY
        )
        self._metrics.show_policy(__version__, policy)
        self.facts.follow(WatchedKinds(configuration.owner_selectors, policy.keeps_spread))
        self._report(merged.list_notices(validates_pods=policy.validates_pods))
        self.advise()

    def _report(self, notices: Sequence[PolicyNotice]) -> None:
        for notice in notices:
            if notice not in self._notices:
                self._observers.warn("policy", *notice)
        self._notices = notices

    def use_current_facts(self) -> None:
        """Use the facts that the source holds now."""
        self._admission.context = self._admission.context._replace(
            facts=self.facts.facts, fetch=self.facts.fetch
        )

    def advise(self) -> None:
        """Warn of hard defaults that the Nodes may not be able to satisfy."""
        advice = advise(self._admission.context.policy, self.facts.facts)
        self._metrics.config_advice.set(len(advice))
        for message in advice:
            if message not in self._advice:
                self._log.warning("advice", message=message)
        self._advice = advice

    def reload(self, configuration: Configuration, policy: Policy) -> None:
        """Put a changed configuration in force, and report it."""
        self.apply_policy(configuration, policy)
        self._metrics.config_valid.set(1)
        self._metrics.reloads.labels("success").inc()
        notices = "; ".join(configuration.notices)
        self._log.info("reload", result="success", message=notices)
        if self._events is not None:
            self._events.record("ConfigurationLoaded", notices or "in force", warning=False)

    def refuse(self, error: ConfigError) -> None:
        """Report a changed configuration that is invalid."""
        self._metrics.config_valid.set(0)
        self._metrics.reloads.labels("failure").inc()
        self._log.error("reload", result="failure", message=str(error))
        if self._events is not None:
            message = f"{error}; the old configuration stays in force"
            self._events.record("ConfigurationInvalid", message, warning=True)
