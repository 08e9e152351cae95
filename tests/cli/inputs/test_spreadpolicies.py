from pathlib import Path

import pytest

from tests.apiserver import ApiServer, Json, refuse
from tests.cli import files
from tests.cli.conftest import Run
from webhook.cli.inputs.apiserver import ServerOptions
from webhook.cli.inputs.manifests import Inputs
from webhook.cli.inputs.policy import RequestedPolicy, read_policy
from webhook.cli.inputs.spreadpolicies import add_spread_policies, find_spread_policies
from webhook.errors import ApiError, CombinedConfigError

LIVE = ServerOptions(kubeconfig="kubeconfig")

CONFIG = """\
apiVersion: evenspread.io/v1alpha1
kind: SpreadConfiguration
profiles:
- {name: cluster, defaultConstraints: []}
"""

POLICY = """\
apiVersion: evenspread.io/v1alpha1
kind: SpreadPolicy
metadata: {name: %s}
spec: {order: %s, defaultConstraints: []}
---
"""


def policy(name: str, order: object) -> Json:
    return {
        "apiVersion": "evenspread.io/v1alpha1",
        "kind": "SpreadPolicy",
        "metadata": {"name": name},
        "spec": {"order": order, "defaultConstraints": []},
    }


@pytest.fixture
def requested(folder: Path) -> RequestedPolicy:
    (folder / "config.yaml").write_text(CONFIG)
    return read_policy(
        kube_version="", feature_gates="", allow_locked_gates=False, config="config.yaml"
    )


def read(*paths: str) -> Inputs:
    """Read manifests, as ``-f``."""
    inputs = Inputs(paths)
    assert list(inputs.objects())
    return inputs


def names(requested: RequestedPolicy) -> list[str]:
    return [profile.name for profile in requested.policy.profiles]


def test_policies_of_manifests_follow_the_profiles_of_the_file(
    requested: RequestedPolicy, folder: Path
) -> None:
    (folder / "a.yaml").write_text(POLICY % ("b", 1) + POLICY % ("a", 1) + POLICY % ("c", 0))

    found = add_spread_policies(requested, read("a.yaml"), None)

    assert names(found) == ["cluster", "c", "a", "b"]
    assert found.configuration.orders == {"a": 1, "b": 1, "c": 0}
    assert found.configuration.notices == ()


def test_a_policy_whose_name_a_profile_has_is_left_out(
    requested: RequestedPolicy, folder: Path
) -> None:
    (folder / "a.yaml").write_text(POLICY % ("cluster", 1))

    found = add_spread_policies(requested, read("a.yaml"), None)

    assert (names(found), found.configuration.orders) == (["cluster"], {})
    (notice,) = found.configuration.notices
    assert notice.startswith("SpreadPolicy 'cluster' is not used: ")


def test_a_manifest_replaces_a_policy_of_the_cluster(
    requested: RequestedPolicy, folder: Path, api: ApiServer
) -> None:
    api.add(policy("a", 5), policy("b", 6))
    (folder / "a.yaml").write_text(POLICY % ("a", 7))

    found = add_spread_policies(requested, read("a.yaml"), LIVE)

    assert names(found) == ["cluster", "b", "a"]
    assert found.configuration.orders == {"a": 7, "b": 6}


def test_policies_of_both_are_found_by_their_names(folder: Path, api: ApiServer) -> None:
    api.add(policy("a", 5), policy("b", 6))
    (folder / "a.yaml").write_text(POLICY % ("a", 7))

    found = find_spread_policies(read("a.yaml"), LIVE)

    assert {name: one.order for name, one in found.items()} == {"a": 7, "b": 6}


def test_a_cluster_without_the_kind_has_no_policies(
    requested: RequestedPolicy, api: ApiServer
) -> None:
    assert add_spread_policies(requested, Inputs(()), LIVE) == requested
    assert api.paths == ["/apis"]


def test_a_policy_of_the_cluster_that_cannot_be_read_is_reported(
    requested: RequestedPolicy, api: ApiServer, capsys: pytest.CaptureFixture[str]
) -> None:
    api.add(policy("a", "x"), policy("b", 6))

    assert names(add_spread_policies(requested, Inputs(()), LIVE)) == ["cluster", "b"]
    assert capsys.readouterr().err == (
        "SpreadPolicy 'a' is not used: spec.order: must be a whole number, not 'x'\n"
    )


def test_without_the_right_to_list_them_policies_do_not_count(
    requested: RequestedPolicy, api: ApiServer, capsys: pytest.CaptureFixture[str]
) -> None:
    api.add(policy("a", 1))
    path = next(path for path in api.objects if path.endswith("/a")).removesuffix("/a")
    api.answers[f"GET {path}"] = refuse("no", 403)

    assert names(add_spread_policies(requested, Inputs(()), LIVE)) == ["cluster"]
    assert capsys.readouterr().err.startswith("SpreadPolicies of the cluster do not count: ")


def test_a_cluster_that_fails_is_an_error(requested: RequestedPolicy, api: ApiServer) -> None:
    api.answers["GET /apis"] = refuse("no", 500)

    with pytest.raises(ApiError):
        add_spread_policies(requested, Inputs(()), LIVE)


def test_an_invalid_policy_of_a_manifest_is_an_error(
    requested: RequestedPolicy, folder: Path
) -> None:
    (folder / "a.yaml").write_text(POLICY % ("a", "x"))

    with pytest.raises(CombinedConfigError, match=r"a\.yaml:4: spec\.order: must be a whole"):
        add_spread_policies(requested, read("a.yaml"), None)


ZONES = """\
apiVersion: evenspread.io/v1alpha1
kind: SpreadPolicy
metadata: {name: zones}
spec:
  defaultConstraints:
  - {maxSkew: 1, topologyKey: topology.kubernetes.io/zone, whenUnsatisfiable: DoNotSchedule}
"""

# command -> part of its output
COMMANDS: dict[str, str] = {
    "review": "patched by profile zones",
    "audit": '"profile": "zones"',
    "explain": "constraint 0: zone",
}


@pytest.mark.parametrize(("command", "shown"), COMMANDS.items())
def test_commands_count_the_policies_among_their_manifests(
    command: str, shown: str, folder: Path, run: Run
) -> None:
    (folder / "policies.yaml").write_text(ZONES)
    (folder / "web.yaml").write_text(f"{files.POD}---\n{files.SERVICE}")
    output = ("-o", "json") if command == "audit" else ()

    ran = run(command, "-f", "web.yaml", "--facts", "policies.yaml", *output)

    assert shown in ran.out
