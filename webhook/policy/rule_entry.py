"""
The structure of an entry in the catalogue of rules: its texts, and the action on a finding.

``CatalogueEntry`` is the entry point. The entries are in ``catalogue``, those of the policy rules
in ``advice_texts``.
"""

from enum import StrEnum
from functools import partial

import msgspec

from webhook.policy.api.versions import Version

_1_16 = Version(1, 16)


class Action(StrEnum):
    """The action on a finding, from the strictest to the mildest."""

    DENY = "deny"
    WARN = "warn"
    AUDIT = "audit"
    OFF = "off"


class RuleCategory(StrEnum):
    """Whether kube-apiserver applies a rule too, or evenspread alone."""

    API = "api"
    ADVICE = "advice"


class RuleScope(StrEnum):
    """Where a policy rule runs."""

    EVERYWHERE = "admission and audit"
    DROPPING = "admission, by what drops the field, and audit"
    AUDIT = "audit"


class CatalogueEntry(msgspec.Struct, frozen=True, gc=False):
    """
    The texts of a rule, and its default action.

    Attributes:
        title: What the rule demands, in a few words.
        why: What goes wrong otherwise; sentences.
        fix: What to write instead.
        action: The action on a finding, unless the configuration of a policy rule overrides it.
        scope: Where a policy rule runs; None for the others.
    """

    id: str
    title: str
    why: str
    fix: str
    since: Version = _1_16
    category: RuleCategory = RuleCategory.API
    action: Action = Action.DENY
    scope: RuleScope | None = None

    @property
    def effect(self) -> str:
        """What happens to an object that violates the rule; a sentence, or the reason for it."""
        if self.category is RuleCategory.ADVICE:
            return self.why
        if self.action is Action.WARN:
            return f"kube-apiserver accepts the object with a warning, since version {self.since}."
        return f"kube-apiserver refuses the object, since version {self.since}."


advice_entry = partial(
    CatalogueEntry,
    category=RuleCategory.ADVICE,
    action=Action.AUDIT,
    scope=RuleScope.EVERYWHERE,
)
"""Create the entry of a policy rule, which audits report by default."""
