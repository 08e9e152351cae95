"""``evenspread policy diff``: what a change of policies would do to a cluster."""

import io
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.apiserver import ApiServer, refuse
from tests.cli.conftest import Run, Screen

NODE = """\
apiVersion: v1
kind: Node
metadata: {name: n1, labels: {topology.kubernetes.io/zone: a, kubernetes.io/hostname: n1}}
---
"""
WEB = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: %s, namespace: shop, labels: {app: %s}}
spec:
  selector: {matchLabels: {app: %s}}
  template: {metadata: {labels: {app: %s}}, spec: {containers: []}}
---
"""
POLICY = """\
apiVersion: evenspread.io/v1alpha1
kind: SpreadPolicy
metadata: {name: %s}
spec:
  order: %s
  match: {objectSelector: {matchLabels: {app: web}}}
  defaultConstraints:
  - {maxSkew: 1, topologyKey: %s, whenUnsatisfiable: %s}
---
"""
SOFT = POLICY % ("soft", 5, "kubernetes.io/hostname", "ScheduleAnyway")
ZONES = POLICY % ("zones", 1, "topology.kubernetes.io/zone", "DoNotSchedule")
RACKS = POLICY % ("racks", 1, "rack", "DoNotSchedule")
CLUSTER = NODE + WEB % (("web",) * 4) + WEB % (("api",) * 4) + SOFT
CONFIG = """\
apiVersion: evenspread.io/v1alpha1
kind: SpreadConfiguration
profiles:
- {name: file, defaultConstraints: []}
"""
FACTS = ("--facts", "cluster.yaml")
DIFF = ("policy", "diff")


@pytest.fixture(autouse=True)
def _files(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    texts = {"cluster": CLUSTER, "soft": SOFT, "zones": ZONES, "racks": RACKS, "config": CONFIG}
    for name, text in texts.items():
        (folder / f"{name}.yaml").write_text(text)


# arguments, exit code, last line
CASES: dict[str, tuple[tuple[str, ...], int, str]] = {
    "nothing": (
        ("-f", "soft.yaml"),
        0,
        "nothing changes: profiles, settings and the next pods of 2 workloads stay as they are",
    ),
    "constraints that hold": (
        ("-f", "zones.yaml"),
        0,
        (
            "1 profile new, 1 profile ineffective; 1 of 2 workloads changes: 1 next pod changed, 0 "
            "Pending and 0 denied by the change"
        ),
    ),
    "constraints that do not": (
        ("-f", "racks.yaml"),
        1,
        (
            "1 profile new, 1 profile ineffective; 1 of 2 workloads changes: 1 next pod changed, 1 "
            "Pending and 0 denied by the change"
        ),
    ),
    "no failure for what is not a limit": (
        ("-f", "racks.yaml", "--fail-on", "never"),
        0,
        (
            "1 profile new, 1 profile ineffective; 1 of 2 workloads changes: 1 next pod changed, 1 "
            "Pending and 0 denied by the change"
        ),
    ),
    "warnings that are no limit": (
        ("-f", "zones.yaml", "--fail-on", "warn"),
        0,
        (
            "1 profile new, 1 profile ineffective; 1 of 2 workloads changes: 1 next pod changed, 0 "
            "Pending and 0 denied by the change"
        ),
    ),
    "a removed policy": (
        ("--remove", "soft"),
        0,
        (
            "1 profile removed; 1 of 2 workloads changes: 1 next pod changed, 0 Pending and 0 "
            "denied by the change"
        ),
    ),
    "a selection": (
        ("-f", "racks.yaml", "-l", "app=api"),
        0,
        "1 profile new, 1 profile ineffective; nothing changes for 1 workload",
    ),
    "a namespace": (
        ("-f", "racks.yaml", "-n", "shop"),
        1,
        (
            "1 profile new, 1 profile ineffective; 1 of 2 workloads changes: 1 next pod changed, 1 "
            "Pending and 0 denied by the change"
        ),
    ),
    "a new configuration": (
        ("-f", "config.yaml"),
        0,
        (
            "1 profile new, 1 profile ineffective; 1 of 2 workloads changes: 1 next pod changed, 0 "
            "Pending and 0 denied by the change"
        ),
    ),
}


@pytest.mark.parametrize(("arguments", "code", "last"), CASES.values(), ids=CASES.keys())
def test_summaries_and_exit_codes(
    arguments: tuple[str, ...], code: int, last: str, run: Run
) -> None:
    ran = run(*DIFF, *arguments, *FACTS)

    assert (ran.code, ran.err) == (code, "")
    assert ran.out.splitlines()[-1] == last


# arguments, exit code, message
ERRORS: dict[str, tuple[tuple[str, ...], int, str]] = {
    "nothing to try": ((), 2, "nothing to try"),
    "an unknown policy": (("--remove", "no"), 2, "no SpreadPolicy 'no' is in force"),
    "an unknown namespace": (("-f", "soft.yaml", "-n", "shops"), 2, "did you mean shop?"),
    "a file that does not exist": (("-f", "none.yaml", "-f", "soft.yaml"), 3, "none.yaml"),
    "no workload": (("-f", "soft.yaml", "-l", "app=no"), 0, "contains no object with a pod"),
}


@pytest.mark.parametrize(("arguments", "code", "message"), ERRORS.values(), ids=ERRORS.keys())
def test_errors(arguments: tuple[str, ...], code: int, message: str, run: Run) -> None:
    ran = run(*DIFF, *arguments, *FACTS)

    assert ran.code == code
    assert message in ran.err


def test_part_of_a_change_is_not_compared(folder: Path, run: Run) -> None:
    (folder / "broken.yaml").write_text("a: [b\n")

    for arguments in (("-f", "broken.yaml"), ("-f", "soft.yaml", "-f", "broken.yaml")):
        ran = run(*DIFF, *arguments, *FACTS)
        assert (ran.code, ran.out) == (3, "")
        assert "broken.yaml:2: invalid YAML" in ran.err


def test_formats_for_programs_are_equal(run: Run) -> None:
    arguments = (*DIFF, "-f", "racks.yaml", *FACTS)

    (document,) = run(*arguments, "-o", "json").documents

    assert [yaml.safe_load(run(*arguments, "-o", "yaml").out)] == [document]
    assert document["summary"]["pending"] == 1
    assert [row["name"] for row in document["workloads"]] == ["web"]


def test_names_are_those_of_the_workloads_that_change(run: Run) -> None:
    assert run(*DIFF, "-f", "racks.yaml", *FACTS, "-o", "name").out == "deployment.apps/web\n"


def test_a_namespace_whose_labels_a_profile_selects_is_named(folder: Path, run: Run) -> None:
    labels = "match: {namespaceSelector: {matchLabels: {tier: prod}}}"
    (folder / "prod.yaml").write_text(
        ZONES.replace("match: {objectSelector: {matchLabels: {app: web}}}", labels)
    )

    ran = run(*DIFF, "-f", "prod.yaml", *FACTS)

    assert "note: namespace shop: its Namespace is not among the facts" in ran.err


def test_without_nodes_pods_are_not_placed(folder: Path, run: Run) -> None:
    (folder / "cluster.yaml").write_text(CLUSTER.removeprefix(NODE))

    ran = run(*DIFF, "-f", "racks.yaml", *FACTS)

    assert ran.code == 0
    assert ran.err.startswith("no Node is known, so that no pod was placed: ")


def objects() -> list[Any]:
    return [one for one in yaml.safe_load_all(CLUSTER) if one]


NAMESPACE = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}
LIVE = ("--kubeconfig", "kubeconfig")


@pytest.mark.parametrize("where", [(), ("-n", "shop"), ("-A",)])
def test_a_live_cluster(where: tuple[str, ...], api: ApiServer, run: Run) -> None:
    api.add(NAMESPACE, *objects())

    ran = run(*DIFF, "-f", "racks.yaml", *LIVE, *where, "-o", "name")

    assert (ran.code, ran.out) == (1, "deployment.apps/web\n")
    assert ran.err.startswith("note: without --config, ")


def test_with_a_configuration_there_is_no_note(api: ApiServer, run: Run) -> None:
    api.add(NAMESPACE, *objects())

    ran = run(*DIFF, "-f", "racks.yaml", "--config", "config.yaml", *LIVE)

    assert (ran.code, ran.err) == (0, "")


def test_namespaces_that_may_not_be_listed_must_be_named(api: ApiServer, run: Run) -> None:
    api.add(NAMESPACE, *objects())
    api.answers["GET /api/v1/namespaces"] = refuse("no", 403)

    ran = run(*DIFF, "-f", "racks.yaml", *LIVE)

    assert ran.code in (2, 3)


def test_progress_is_shown_on_a_terminal(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    screen: io.StringIO = Screen()
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.setattr("sys.stderr", screen)

    run(*DIFF, "-f", "racks.yaml", *FACTS)

    assert "comparing" in screen.getvalue()
