"""The policies of the comparison."""

import pytest
import yaml

from tests.bench import servers
from tests.bench.kyverno.comparison import POLICIES, policies
from tests.controlplane.api import Json

FILES = sorted(file.name for file in POLICIES.glob("*.yaml"))


def patched_constraints(policy: Json) -> list[Json]:
    """The constraints that a policy adds, with its variables as strings."""
    (rule,) = policy["spec"]["rules"]
    patch = rule["mutate"]["patchesJson6902"].replace("{{", "'").replace("}}", "'")
    (operation,) = yaml.safe_load(patch)
    return [{**one, "labelSelector": {}} for one in operation["value"]]


def test_both_policies_are_there() -> None:
    assert FILES == ["own-labels.yaml", "services.yaml"]


@pytest.mark.parametrize("name", FILES)
def test_a_policy_adds_the_constraints_that_evenspread_is_configured_to_add(name: str) -> None:
    (profile,) = yaml.safe_load(servers.CONFIGURATION)["profiles"]
    policy = policies(name)[-1]

    wanted = [{**one, "labelSelector": {}} for one in profile["defaultConstraints"]]
    assert patched_constraints(policy) == wanted


@pytest.mark.parametrize("name", FILES)
def test_a_policy_is_called_for_new_pods_alone(name: str) -> None:
    policy = policies(name)[-1]

    (rule,) = policy["spec"]["rules"]
    assert rule["match"] == {"any": [{"resources": {"kinds": ["Pod"], "operations": ["CREATE"]}}]}
    assert policy["spec"]["background"] is False


def test_the_policy_for_services_reads_the_projection_of_its_entry() -> None:
    entry, policy = policies("services.yaml")

    (projection,) = entry["spec"]["projections"]
    (context,) = policy["spec"]["rules"][0]["context"]
    name = f"{entry['metadata']['name']}.{projection['name']}"
    assert context["globalReference"]["name"] == name
