import msgspec
import pytest
from msgspec.structs import replace

from tests.audit.world import REFERRING, gather
from webhook.audit.references import TemplateReference, decode_reference
from webhook.policy.kinds import DEPLOYMENT, ROLLOUT
from webhook.policy.rolloutlimits import RolloutLimits


def test_a_reference_names_the_template() -> None:
    (found,) = gather(REFERRING).snapshot.references

    assert found.origin is not None
    assert found.origin.line() == 2
    assert replace(found, origin=None) == TemplateReference(
        api_version="argoproj.io/v1alpha1",
        namespace="shop",
        kind=ROLLOUT,
        name="web",
        target=DEPLOYMENT,
        template="template",
        replicas=5,
        given_labels=("role",),
        limits=RolloutLimits(),
    )


def test_the_strategy_of_the_object_decides_on_surge() -> None:
    without = REFERRING.replace("canary: {", "canary: {maxSurge: 0, maxUnavailable: 1, ")

    found = [*gather(REFERRING).snapshot.references, *gather(without).snapshot.references]

    assert [one.limits for one in found] == [RolloutLimits(), RolloutLimits(0, 1)]


@pytest.mark.parametrize("text", ["{}", '{"spec": {}}', '{"spec": {"workloadRef": null}}'])
def test_an_object_without_a_reference_names_none(text: str) -> None:
    assert decode_reference(text.encode(), ROLLOUT) is None


def test_a_reference_of_a_wrong_type_is_an_error() -> None:
    with pytest.raises(msgspec.ValidationError):
        decode_reference(b'{"spec": {"workloadRef": "web"}}', ROLLOUT)
