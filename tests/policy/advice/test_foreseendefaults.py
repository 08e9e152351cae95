"""Subjects with the defaults that their next pods get."""

from msgspec.structs import replace

from tests.build import default, pod, policy, profile, spread
from tests.policy.advice.subjects import admission, deployed, subject, workload
from webhook.policy.advice.foreseendefaults import (
    add_hard_defaults,
    add_keyless_defaults,
    forecast,
)
from webhook.policy.defaulting.profiles import Merge, Mode
from webhook.policy.kinds import STATEFUL_SET
from webhook.policy.model import HOSTNAME, ZONE

HARD = default(topology_key=ZONE, when_unsatisfiable="DoNotSchedule")
SOFT, TYPO = default(topology_key=HOSTNAME), default(topology_key="zone")
GIVING = policy(profile(constraints=(HARD, SOFT, TYPO), merge=Merge.PER_TOPOLOGY_KEY))
CONTEXT = admission(config=GIVING, services={"app": "web"})
KEYED = replace(HARD, match_label_keys=("pod-template-hash",))


def test_only_defaults_that_pods_get_are_forecast() -> None:
    recommending = admission(config=replace(GIVING, mode=Mode.RECOMMEND))

    assert forecast(deployed(), recommending) is None
    assert forecast(deployed(), admission()) is None
    assert forecast(subject(pod()), CONTEXT) is None
    assert forecast(deployed(), admission(config=policy(profile(constraints=())))) is None


def test_hard_defaults_follow_its_own_constraints() -> None:
    """They count each revision of a ReplicaSet apart, as the selector of its pods does."""
    for judged, keys in (
        (deployed(spread(topologyKey="rack")), ["pod-template-hash"]),
        (subject(workload(spread(topologyKey="rack"), kind=STATEFUL_SET)), []),
    ):
        injection = forecast(judged, CONTEXT)
        assert injection is not None

        own, hard = add_hard_defaults(judged, injection).constraints

        assert (own.topology_key, hard.topology_key) == ("rack", ZONE)
        assert [*hard.match_label_keys] == keys


def test_a_key_of_a_revision_stays_as_it_is() -> None:
    context = admission(config=policy(profile(constraints=(KEYED,))), services={"app": "web"})
    injection = forecast(deployed(), context)
    assert injection is not None

    (hard,) = add_hard_defaults(deployed(), injection).constraints

    assert hard.match_label_keys == ("pod-template-hash",)


def test_soft_defaults_on_keys_of_no_node_follow_its_own_constraints() -> None:
    judged = deployed(spread(topologyKey="rack"))
    injection = forecast(judged, CONTEXT)
    assert injection is not None

    found = add_keyless_defaults(judged, injection, CONTEXT.facts).constraints

    assert [one.topology_key for one in found] == ["rack", "zone"]
