from webhook.policy.facts import Facts, NoFacts
from webhook.policy.model import ZONE, OwnerReference


def test_nothing_is_known_of_a_cluster_without_facts() -> None:
    facts: Facts = NoFacts()

    assert facts.services("shop", {"app": "web"}) == ()
    assert facts.owner_selector("shop", OwnerReference("apps/v1", "ReplicaSet", "web")) is None
    assert facts.namespace_labels("shop") is None
    assert facts.schedulable_nodes() == facts.nodes_with(ZONE) == len(facts.domains(ZONE)) == 0
    assert facts.label_keys() == ()
    assert facts.tainted_domains(ZONE) == ()
    assert facts.exceptions("shop") == ()
