"""
Notices about settings of profiles and rules that are valid and have no effect, or less of it.

``find_notices`` is the entry point. A setting may lose its effect when another one changes, so it
is no error.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from webhook.policy.catalogue import AUDITED_RULES
from webhook.policy.defaulting.profiles import Mode, Profile, ScaleDown
from webhook.policy.kinds import REPLICA_SET, REPLICATION_CONTROLLER
from webhook.policy.rule_entry import Action

if TYPE_CHECKING:  # not when it runs: commands without a configuration need no pydantic
    from webhook.config.spread import SpreadConfiguration

_RANKED_OWNERS = {REPLICA_SET.kind, REPLICATION_CONTROLLER.kind}  # use the cost of deletion


def find_notices(written: "SpreadConfiguration", profiles: Sequence[Profile]) -> Iterator[str]:
    """
    Describe the settings, each in a sentence without a final full stop.

    Args:
        profiles: The profiles that ``written`` contains, complete.
    """
    yield from _find_modes(written)
    yield from _find_audit_denials(written, profiles)
    yield from _find_scale_downs(profiles, repair=written.scale_down_repair)


def _find_modes(written: "SpreadConfiguration") -> Iterator[str]:
    for profile in written.profiles:
        if profile.mode is Mode.APPLY and written.mode is Mode.RECOMMEND:
            yield (
                f"profile {profile.name!r}: mode: apply has no effect, as the configuration has "
                "mode: recommend; write mode: recommend in the other profiles instead"
            )


def _find_audit_denials(
    written: "SpreadConfiguration", profiles: Iterable[Profile]
) -> Iterator[str]:
    actions = {rule: setting.action for rule, setting in written.rules.items() if setting.action}
    places = {f"profile {profile.name!r}": profile.actions for profile in profiles}
    for place, configured in ({"rules": actions} | places).items():
        if denials := describe_audit_denials(configured):
            yield f"{place}: {denials}"


def describe_audit_denials(actions: Mapping[str, Action]) -> str:
    """Describe the denials by rules that admission does not check; empty without any."""
    denying = sorted(rule for rule in AUDITED_RULES if actions.get(rule) is Action.DENY)
    if not denying:
        return ""
    return (
        f"deny for {', '.join(denying)} has an effect in audits only, on their exit code and "
        "report: admission does not check such rules"
    )


def _find_scale_downs(profiles: Iterable[Profile], *, repair: bool) -> Iterator[str]:
    keeping = [profile for profile in profiles if profile.scale_down is ScaleDown.KEEP_SPREAD]
    if repair and not keeping:
        yield (
            "scaleDownRepair: has no effect unless a SpreadPolicy has scaleDown: KeepSpread, "
            "as no profile has it; add it to a profile, or remove scaleDownRepair"
        )
    for profile in keeping:
        if profile.owner_kinds is not None and profile.owner_kinds.isdisjoint(_RANKED_OWNERS):
            yield (
                f"profile {profile.name!r}: scaleDown: KeepSpread has no effect, as "
                "match.ownerKinds has neither ReplicaSet nor ReplicationController; "
                "other controllers ignore the cost of a pod's deletion"
            )
