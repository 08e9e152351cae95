import msgspec
import pytest

from webhook.policy.advice.antiaffinity import PodAntiAffinity

REQUIRED = '"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "a"}]'
PREFERRED = (
    '"preferredDuringSchedulingIgnoredDuringExecution": '
    '[{"weight": 1, "podAffinityTerm": {"topologyKey": "b"}}, {"weight": 1}]'
)

TERMS = {
    "none": ("{}", []),
    "required": (f"{{{REQUIRED}}}", ["a"]),
    "preferred, one of them without a term": (f"{{{PREFERRED}}}", ["b"]),
    "both": (f"{{{REQUIRED}, {PREFERRED}}}", ["a", "b"]),
}


@pytest.mark.parametrize(("text", "keys"), TERMS.values(), ids=TERMS.keys())
def test_required_and_preferred_terms_are_terms(text: str, keys: list[str]) -> None:
    read = msgspec.json.decode(text, type=PodAntiAffinity)

    assert [term.topology_key for term in read.terms] == keys
