import pytest
from msgspec.structs import replace

from tests.build import Json, default, policy, spread
from tests.policy.advice.defaulted import HARD, counting, defaulted, giving, know
from tests.policy.advice.subjects import THREE, audit, deployed, running
from webhook.policy import render
from webhook.policy.advice.givendefaults import NOTHING_GIVEN, list_defaults
from webhook.policy.advice.runningpods import RunningPods
from webhook.policy.advice.subject import Subject
from webhook.policy.defaulting.profiles import Merge, Mode, Policy
from webhook.policy.defaulting.provenance import DEFAULTS_ANNOTATION, Provenance, digest
from webhook.policy.model import HOSTNAME, ZONE, PodTemplate

WEB = deployed()
PODS = defaulted("a1", "b1")
OWN = spread(topologyKey=HOSTNAME)
KEYED = default(when_unsatisfiable="DoNotSchedule", match_label_keys=("rev",))
BY_REV = counting(matchLabelKeys=["rev"])
MERGED = counting(matchLabelKeys=["rev"])
MERGED["labelSelector"]["matchExpressions"] = [{"key": "rev", "operator": "In", "values": ["1"]}]
REV: Json = {"rev": "1"}
BY_KEY = giving(merge=Merge.PER_TOPOLOGY_KEY)

# subject, running pods, policy, number of defaults of each group
GIVEN: dict[str, tuple[Subject, list[RunningPods], Policy, list[int]]] = {
    "as the profile gives them": (WEB, [PODS], giving(), [1]),
    "of two revisions": (WEB, [PODS, defaulted("a1", revision="old")], giving(), [1, 1]),
    "beside constraints of the object": (
        deployed(OWN), [defaulted("a1", constraints=(OWN, counting()))], BY_KEY, [1]
    ),
    "one of two": (WEB, [PODS], giving(HARD, default(topology_key=HOSTNAME)), [0]),
    "some pods without": (WEB, [PODS, defaulted("a1", constraints=())], giving(), [0, 0]),
    "of an older profile": (WEB, [PODS], giving(default()), [0]),
    "with another selector": (WEB, [defaulted("a1", constraints=(spread(),))], giving(), [0]),
    "the object has the constraint": (deployed(counting()), [PODS], giving(), [0]),
    "whose keys kube-apiserver merged": (
        WEB, [defaulted("a1", labels=REV, constraints=(MERGED,))], giving(KEYED), [1]
    ),
    "whose keys it did not merge": (
        WEB, [defaulted("a1", labels=REV, constraints=(BY_REV,))], giving(KEYED), [1]
    ),
    "no profile": (WEB, [PODS], policy(), [0]),
    "a profile that only recommends": (WEB, [PODS], giving(mode=Mode.RECOMMEND), [0]),
    "without a specification": (WEB, [RunningPods(PodTemplate(), {"a1": 1})], giving(), [0]),
    "no pods": (WEB, [], giving(), []),
}  # fmt: skip


@pytest.mark.parametrize(("judged", "pods", "config", "numbers"), GIVEN.values(), ids=GIVEN)
def test_defaults_that_pods_have(
    judged: Subject, pods: list[RunningPods], config: Policy, numbers: list[int]
) -> None:
    found = list_defaults(pods, judged, know(config, pods))

    assert [len(given.constraints) for given in found] == numbers
    assert [given.profile for given in found] == ["cluster" if number else "" for number in numbers]


def test_constraints_that_the_object_has_by_an_injection_are_its_own() -> None:
    written = digest(render.encode(render.constraint(deployed(counting()).constraints[0])))
    record = Provenance("cluster", (), (ZONE,), written)
    noted = {DEFAULTS_ANNOTATION: render.encode(record).decode()}
    pods = [defaulted("a1", annotations=noted)]

    assert list_defaults(pods, deployed(counting()), know(giving(), pods)) == [NOTHING_GIVEN]
    assert list_defaults(pods, WEB, know(giving(), pods)) != [NOTHING_GIVEN]


def test_defaults_that_count_revisions_together_are_left_out() -> None:
    pods = [running("a1", constraints=(spread(),))]
    context = audit(THREE, pods, config=giving(), services={"app": "web"})
    recreating = replace(WEB, recreates=True)

    assert list_defaults(pods, WEB, context) == [NOTHING_GIVEN]
    assert list_defaults(pods, recreating, context) != [NOTHING_GIVEN]
