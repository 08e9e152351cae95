from webhook.config.ownerselectors import SHIPPED_OWNERS, OwnerSelector
from webhook.policy.model import GroupKind


def test_argo_rollouts_are_known_without_configuration() -> None:
    rollout = OwnerSelector(GroupKind("argoproj.io", "Rollout"), ("spec", "selector"))

    assert rollout in SHIPPED_OWNERS


def test_every_shipped_controller_is_known_once() -> None:
    kinds = [owner.kind for owner in SHIPPED_OWNERS]

    assert len(set(kinds)) == len(kinds)
