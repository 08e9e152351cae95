"""Terms of pod affinity and anti-affinity as JSON has them."""

from typing import Any

import msgspec
import pytest

from webhook.policy.advice.podaffinity import PodAffinity, PodAffinityTerm, PodAntiAffinity

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
ZONE, HOST = {"topologyKey": "zone"}, {"topologyKey": "host"}
WEIGHTED = {"weight": 1, "podAffinityTerm": HOST}

# anti-affinity, topology keys of its terms
TERMS: dict[str, tuple[Any, list[str]]] = {
    "none": ({}, []),
    "null": ({REQUIRED: None, PREFERRED: None}, []),
    "required and preferred": ({REQUIRED: [ZONE], PREFERRED: [WEIGHTED]}, ["zone", "host"]),
    "a preferred one without a term": ({PREFERRED: [{"weight": 1}, WEIGHTED]}, ["host"]),
}


@pytest.mark.parametrize(("written", "keys"), TERMS.values(), ids=TERMS.keys())
def test_the_terms_of_an_anti_affinity_are_required_or_preferred(
    written: Any, keys: list[str]
) -> None:
    decoded = msgspec.convert(written, PodAntiAffinity)

    assert [term.topology_key for term in decoded.terms] == keys


def test_preferred_terms_of_an_affinity_are_not_decoded() -> None:
    decoded = msgspec.convert({REQUIRED: [ZONE], PREFERRED: [WEIGHTED]}, PodAffinity)

    required = decoded.required_during_scheduling_ignored_during_execution
    assert required == (PodAffinityTerm(topology_key="zone"),)
