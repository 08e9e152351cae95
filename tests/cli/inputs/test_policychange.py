from pathlib import Path

import pytest

from webhook.cli.inputs.manifests import Inputs
from webhook.cli.inputs.policy import RequestedPolicy, read_policy
from webhook.cli.inputs.policychange import (
    GateOptions,
    PolicyChange,
    ProposedPolicies,
    read_proposal,
)
from webhook.config.policyobjects import read_spread_policies
from webhook.errors import CombinedConfigError, ConfigError
from webhook.policy.api.gates import Gate

CONFIG = """\
apiVersion: evenspread.io/v1alpha1
kind: SpreadConfiguration
profiles:
- {name: %s, defaultConstraints: []}
"""
POLICY = """\
apiVersion: evenspread.io/v1alpha1
kind: SpreadPolicy
metadata: {name: %s}
spec: {order: %s, defaultConstraints: []}
---
"""
IN_FORCE = POLICY % ("a", 1) + POLICY % ("b", 2)
NODE = "apiVersion: v1\nkind: Node\nmetadata: {name: n1}\n"


@pytest.fixture
def requested(folder: Path) -> RequestedPolicy:
    (folder / "config.yaml").write_text(CONFIG % "file")
    return read_policy(
        kube_version="", feature_gates="", allow_locked_gates=False, config="config.yaml"
    )


def change(requested: RequestedPolicy, text: str, *removed: str, gates: str = "") -> PolicyChange:
    """Apply a proposal to the policies ``a`` and ``b``."""
    Path("force.yaml").write_text(IN_FORCE)
    in_force = read_spread_policies(Inputs(["force.yaml"]).objects())
    return propose(text, *removed).apply(requested, in_force, GateOptions(gates))


def propose(text: str, *removed: str) -> ProposedPolicies:
    Path("new.yaml").write_text(text)
    return read_proposal(Inputs(["new.yaml"] if text else []), removed)


def names(requested: RequestedPolicy) -> str:
    return " ".join(profile.name for profile in requested.policy.profiles)


# text, removed names, profiles after the change
CHANGES: dict[str, tuple[str, tuple[str, ...], str]] = {
    "a new policy": (POLICY % ("c", 0), (), "file c a b"),
    "a policy that replaces one": (POLICY % ("a", 3), (), "file b a"),
    "a removed one": ("", ("a",), "file b"),
    "a removed one, named twice": ("", ("a", "a"), "file b"),
    "one removed and one added": (POLICY % ("c", 9), ("b",), "file a c"),
    "another configuration": (CONFIG % "other", (), "other a b"),
    "both": (f"{CONFIG % 'other'}---\n{POLICY % ('c', 0)}", (), "other c a b"),
    "a policy with the name of a profile": (POLICY % ("file", 0), (), "file a b"),
}


@pytest.mark.parametrize(("text", "removed", "after"), CHANGES.values(), ids=CHANGES.keys())
def test_changes(
    text: str, removed: tuple[str, ...], after: str, requested: RequestedPolicy
) -> None:
    found = change(requested, text, *removed)

    assert (names(found.before), names(found.after)) == ("file a b", after)


def test_a_new_configuration_has_gates_of_its_own_below_those_of_the_options(
    requested: RequestedPolicy,
) -> None:
    gates = "featureGates: {EvenspreadAdvice: false, EvenspreadDefaults: false}\n"

    found = change(requested, CONFIG % "other" + gates, gates="EvenspreadDefaults=true")

    assert Gate.ADVICE in found.before.gates
    assert Gate.ADVICE not in found.after.gates
    assert Gate.DEFAULTS in found.after.gates


# text, removed names, message
ERRORS: dict[str, tuple[str, tuple[str, ...], str]] = {
    "nothing": ("", (), "nothing to try: name SpreadPolicies or a SpreadConfiguration with -f"),
    "another kind": (
        NODE, (), "new.yaml:1: is a Node: -f takes SpreadPolicies or a SpreadConfiguration; name "
    ),
    "an unknown policy": ("", ("c",), "--remove: no SpreadPolicy 'c' is in force: write a or b"),
    "a profile of the file": (
        "", ("file",), "--remove: 'file' is a profile of the configuration: give a SpreadConf"
    ),
    "a policy that is added, too": (
        POLICY % ("a", 1), ("a",), "--remove: 'a' is also in -f: name it in one of the two"
    ),
    "a policy twice": (
        POLICY % ("c", 1) + POLICY % ("c", 2),
        (),
        "new.yaml:6: SpreadPolicy 'c' is also at new.yaml:1: keep one",
    ),
    "two configurations": (
        f"{CONFIG % 'c'}---\n{CONFIG % 'd'}",
        (),
        "new.yaml:6: is a second SpreadConfiguration: only one is in force",
    ),
    "a duplicate key": (
        (POLICY % ("c", 1)).replace("{order: 1,", "{order: 1, order: 2,"), (), "duplicate key"
    ),
    "an invalid policy": (POLICY % ("c", "x"), (), "new.yaml:4: spec.order: must be a whole"),
    "an invalid configuration": (CONFIG % "_", (), "new.yaml:4: profiles[0].name"),
}  # fmt: skip


@pytest.mark.parametrize(("text", "removed", "message"), ERRORS.values(), ids=ERRORS.keys())
def test_errors(
    text: str, removed: tuple[str, ...], message: str, requested: RequestedPolicy
) -> None:
    with pytest.raises((ConfigError, CombinedConfigError)) as caught:
        change(requested, text, *removed)

    assert message in str(caught.value)


def test_without_policies_in_force_none_can_be_removed(
    requested: RequestedPolicy,
) -> None:
    with pytest.raises(ConfigError, match="is in force: there are none"):
        propose("", "a").apply(requested, {}, GateOptions())


@pytest.mark.usefixtures("folder")
def test_a_file_that_cannot_be_read_is_a_problem_of_the_inputs() -> None:
    inputs = Inputs(["absent.yaml"])

    assert read_proposal(inputs, ()).policies == {}
    assert len(inputs.problems) == 1
