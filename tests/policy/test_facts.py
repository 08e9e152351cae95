from typing import Any

import pytest

from webhook.policy.facts import DerivedFacts, Facts, NoFacts
from webhook.policy.model import ZONE, OwnerReference

OWNER = OwnerReference("apps/v1", "ReplicaSet", "web")


def test_nothing_is_known_of_a_cluster_without_facts() -> None:
    facts: Facts = NoFacts()

    assert facts.services("shop", {"app": "web"}) == ()
    assert facts.owner_selector("shop", OWNER) is None
    assert facts.namespace_labels("shop") is None
    assert facts.schedulable_nodes() == facts.nodes_with(ZONE) == len(facts.domains(ZONE)) == 0
    assert facts.label_keys() == ()
    assert facts.tainted_domains(ZONE) == ()
    assert facts.exceptions("shop") == ()


ARGUMENTS: dict[str, tuple[Any, ...]] = {
    "services": ("shop", {"app": "web"}),
    "owner_selector": ("shop", OWNER),
    "namespace_labels": ("shop",),
    "schedulable_nodes": (),
    "nodes_with": (ZONE,),
    "domains": (ZONE,),
    "label_keys": (),
    "tainted_domains": (ZONE,),
    "exceptions": ("shop",),
}


class EchoedFacts(NoFacts):
    """Answers each question with its name and its arguments."""

    def __getattribute__(self, name: str) -> Any:
        def answer(*arguments: Any) -> Any:
            return (name, *arguments)

        return answer if name in ARGUMENTS else super().__getattribute__(name)


def test_every_fact_is_in_the_table() -> None:
    assert set(ARGUMENTS) == {name for name in vars(Facts) if not name.startswith("_")}


@pytest.mark.parametrize(("name", "arguments"), ARGUMENTS.items(), ids=ARGUMENTS)
def test_derived_facts_are_those_of_their_source(name: str, arguments: tuple[Any, ...]) -> None:
    derived = DerivedFacts(EchoedFacts())

    assert getattr(derived, name)(*arguments) == (name, *arguments)
