"""
Notices about settings of profiles that are valid and have no effect.

``find_notices`` is the entry point. A setting may lose its effect when another one changes, so it
is no error.
"""

from collections.abc import Iterable, Iterator, Sequence

from webhook.config.spread import SpreadConfiguration
from webhook.policy.defaulting.profiles import Mode, Profile, ScaleDown
from webhook.policy.kinds import REPLICA_SET, REPLICATION_CONTROLLER

_RANKED_OWNERS = {REPLICA_SET.kind, REPLICATION_CONTROLLER.kind}  # use the cost of deletion


def find_notices(written: SpreadConfiguration, profiles: Sequence[Profile]) -> Iterator[str]:
    """
    Describe the settings, each in a sentence without a final full stop.

    Args:
        profiles: The profiles that ``written`` contains, complete.
    """
    yield from _find_modes(written)
    yield from _find_scale_downs(profiles, repair=written.scale_down_repair)


def _find_modes(written: SpreadConfiguration) -> Iterator[str]:
    for profile in written.profiles:
        if profile.mode is Mode.APPLY and written.mode is Mode.RECOMMEND:
            yield (
                f"profile {profile.name!r}: mode: apply has no effect, as the configuration has "
                "mode: recommend; write mode: recommend in the other profiles instead"
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
