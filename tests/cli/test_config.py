from pathlib import Path

import pytest
import yaml

from tests.build import default, policy, profile
from tests.cli.conftest import Run
from tests.cli.files import DEPLOYMENT_WITHOUT_CONSTRAINTS, LABEL_SELECTING
from webhook.cli.config import ExamplePod, as_document, show
from webhook.cli.inputs.policy import RequestedPolicy, read_policy
from webhook.cli.terminal import Terminal
from webhook.config.summary import inject_example
from webhook.policy.api.gates import Gate

HARD = """\
apiVersion: evenspread.io/v1alpha1
kind: SpreadConfiguration
profiles:
- name: hard
  defaultConstraints:
  - {maxSkew: 1, topologyKey: rack, whenUnsatisfiable: DoNotSchedule}
"""

NODE = """\
apiVersion: v1
kind: Node
metadata: {name: n1}
"""


@pytest.mark.usefixtures("configured")
def test_the_json_document_has_every_setting(run: Run) -> None:
    ran = run("config", "check", "--config", "config.yaml", "-o", "json")

    (shown,) = ran.documents
    assert (ran.code, ran.err) == (0, "")
    assert (shown["files"], shown["mode"], shown["kubernetes"]) == (
        ["config.yaml"],
        "apply",
        "1.37",
    )
    assert shown["profiles"] == [
        {
            "name": "cluster",
            "mode": "apply",
            "pods": "schedulerName default-scheduler",
            "merge": "IfEmpty",
            "completeSelectors": False,
            "scaleDown": "None",
            "gangs": False,
            "exemptible": True,
            "system": False,
            "constraints": [
                {
                    "maxSkew": 1,
                    "topologyKey": "topology.kubernetes.io/zone",
                    "whenUnsatisfiable": "ScheduleAnyway",
                }
            ],
            "rules": [],
        }
    ]
    assert [gate["name"] for gate in shown["gates"]] == list(Gate)
    assert shown["example"]["profile"] == "cluster"
    assert shown["example"]["constraints"][0]["labelSelector"] == {
        "matchLabels": {"app": "example"}
    }


@pytest.mark.usefixtures("configured")
def test_the_text_has_every_setting(run: Run) -> None:
    ran = run("config", "check", "--config", "config.yaml", "--kube-version", "1.24")

    lines = ran.out.splitlines()
    assert ran.code == 0
    assert lines[:2] == ["configuration: config.yaml; mode apply", ""]
    assert lines[2:5] == [
        "profile 1: cluster",
        "  for     schedulerName default-scheduler",
        "  merge   IfEmpty",
    ]
    assert "feature gates of Kubernetes 1.24" in lines
    table = [line.split(maxsplit=3) for line in lines if line.startswith("  Evenspread")]
    assert [(name, stage, value) for name, stage, value, _ in table] == [
        ("EvenspreadDefaults", "BETA", "on"),
        ("EvenspreadAdvice", "BETA", "off"),
    ]
    assert table[1][3].startswith("config.yaml:9: featureGates.EvenspreadAdvice ")
    assert "defaults of a pod labelled app=example, behind a Service: from profile cluster" in lines


@pytest.mark.usefixtures("configured")
def test_yaml_equals_json(run: Run) -> None:
    args = ("config", "check", "--config", "config.yaml")

    assert [yaml.safe_load(run(*args, "-o", "yaml").out)] == run(*args, "-o", "json").documents


@pytest.mark.usefixtures("configured")
def test_a_flag_overrides_the_file(run: Run) -> None:
    ran = run(
        *("config", "check", "--config", "config.yaml", "-o", "json"),
        *("--feature-gates", "EvenspreadAdvice=true"),
    )

    (advice,) = [g for g in ran.documents[0]["gates"] if g["name"] == "EvenspreadAdvice"]
    assert (advice["on"], advice["source"]) == (True, "--feature-gates")


def test_advice_needs_the_nodes_of_the_cluster(folder: Path, run: Run) -> None:
    (folder / "config.yaml").write_text(HARD)
    (folder / "nodes.yaml").write_text(NODE)

    ran = run("config", "check", "--config", "config.yaml", "--facts", "nodes.yaml")

    assert ran.code == 0
    assert "advice: profile 'hard': the hard default on rack keeps pods off 1 of 1 " in ran.out


def test_every_invalid_setting_is_reported_with_its_place(folder: Path, run: Run) -> None:
    (folder / "config.yaml").write_text(
        "apiVersion: evenspread.io/v1alpha1\nkind: SpreadConfiguration\nmode: aply\nprofils: []\n"
    )

    ran = run("config", "check", "--config", "config.yaml")

    places = [line.split(": ")[1] for line in ran.err.splitlines()]
    assert (ran.code, ran.out) == (2, "")
    assert places == ["config.yaml:3", "config.yaml:4"]


def test_without_a_file_the_defaults_are_shown(run: Run) -> None:
    ran = run("config", "check")

    assert ran.code == 0
    assert ran.out.startswith("configuration: no file, so the defaults; mode apply\nno profiles: ")


TEXT = """\
apiVersion: evenspread.io/v1alpha1
kind: SpreadConfiguration
profiles:
- name: zones
  completeSelectors: true
  defaultConstraints:
  - {maxSkew: 1, topologyKey: rack, whenUnsatisfiable: ScheduleAnyway}
"""


def request(config: str = "", kube_version: str = "") -> RequestedPolicy:
    return read_policy(
        kube_version=kube_version, feature_gates="", allow_locked_gates=False, config=config
    )


@pytest.fixture
def requested(folder: Path) -> RequestedPolicy:
    """The configuration of TEXT."""
    (folder / "config.yaml").write_text(TEXT)
    return request("config.yaml")


def defaulted() -> ExamplePod:
    """A pod with one default constraint."""
    rules = policy(profile(name="zones", constraints=(default(topology_key="rack"),)))
    return ExamplePod("Pod shop/web", inject_example(rules))


def test_the_document_has_every_setting_and_its_source(requested: RequestedPolicy) -> None:
    document = as_document(requested, ["label the nodes"], defaulted())

    assert (document["files"], document["mode"]) == (["config.yaml"], "apply")
    assert [(row["name"], row["completeSelectors"]) for row in document["profiles"]] == [
        ("zones", True)
    ]
    assert document["gates"][0].keys() == {"name", "stage", "on", "source", "guards"}
    assert document["advice"] == ["label the nodes"]
    assert (document["example"]["profile"], document["example"]["reason"]) == ("zones", "")
    assert document["example"]["constraints"][0]["topologyKey"] == "rack"


def test_profiles_advice_and_defaults_are_text(
    requested: RequestedPolicy, capsys: pytest.CaptureFixture[str]
) -> None:
    show(requested, ["label the nodes"], defaulted(), Terminal())

    out = capsys.readouterr().out
    assert out.startswith(
        "configuration: config.yaml; mode apply\n\n"
        "profile 1: zones\n"
        "  for     schedulerName default-scheduler\n"
        "  merge   IfEmpty, completes null selectors\n"
        "  - maxSkew: 1\n"
        "    topologyKey: rack\n"
    )
    assert (
        "advice: label the nodes\ndefaults of Pod shop/web: from profile zones\n  - maxSkew: 1\n"
    ) in out


def test_a_profile_that_recommends_is_named(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "config.yaml").write_text(TEXT.replace("zones\n", "zones\n  mode: recommend\n"))
    requested = request("config.yaml")
    example = ExamplePod("Pod shop/web", inject_example(requested.policy))

    show(requested, [], example, Terminal())
    document = as_document(requested, [], example)

    out = capsys.readouterr().out
    assert "mode apply\n\nprofile 1: zones\n" in out
    assert "  for     schedulerName default-scheduler\n  mode    recommend\n" in out
    assert "Pod shop/web: from profile zones, which only recommends them\n" in out
    assert (document["mode"], document["profiles"][0]["mode"]) == ("apply", "recommend")
    assert document["example"]["recommended"]


def test_what_profiles_do_for_scale_downs_and_gangs_is_text(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    more = "  scaleDown: KeepSpread\n  gangs: true\nscaleDownRepair: true\n"
    (folder / "config.yaml").write_text(TEXT + more)
    requested = request("config.yaml")

    show(requested, [], defaulted(), Terminal())
    document = as_document(requested, [], defaulted())

    out = capsys.readouterr().out
    assert out.startswith("configuration: config.yaml; mode apply; scaleDownRepair on\n")
    assert (
        "  merge   IfEmpty, completes null selectors\n"
        "  scale   down with KeepSpread\n"
        "  gangs   get defaults too\n"
    ) in out
    assert document["scaleDownRepair"]
    assert [(row["scaleDown"], row["gangs"]) for row in document["profiles"]] == [
        ("KeepSpread", True)
    ]


def test_without_profiles_the_reason_is_given(capsys: pytest.CaptureFixture[str]) -> None:
    requested = request(kube_version="1.24")

    show(requested, [], ExamplePod("a pod", inject_example(requested.policy)), Terminal())

    out = capsys.readouterr().out
    assert out.startswith(
        "configuration: no file, so the defaults; mode apply\nno profiles: no pod gets defaults\n"
    )
    cells = [line.split() for line in out.splitlines()]
    assert ["MatchLabelKeysInPodTopologySpread", "not", "yet", "off"] in [row[:4] for row in cells]
    assert out.endswith("defaults of a pod: none, since no profile matches it\n")


def test_configured_rules_are_shown(folder: Path, run: Run) -> None:
    rules = "rules: {TSC101: {action: warn, exemptible: false}, TSC110: deny}\n"
    (folder / "config.yaml").write_text(f"{HARD}{rules}")

    table = run("config", "check", "--config", "config.yaml")
    (document,) = run("config", "check", "--config", "config.yaml", "-o", "json").documents

    assert "configured rules\n  TSC101: warn, without exemptions\n" in table.out
    assert "  TSC110: deny, not audit\n" in table.out
    assert document["rules"][1] == {
        "rule": "TSC110", "action": "deny", "default": "audit", "exemptible": True
    }  # fmt: skip


def test_configured_kinds_are_shown(folder: Path, run: Run) -> None:
    text = "apiVersion: evenspread.io/v1alpha1\nkind: SpreadConfiguration\npodTemplates:\n"
    (folder / "kinds.yaml").write_text(f"{text}- {{group: g, kind: K, path: 'spec.jobs[*].pod'}}\n")

    table = run("config", "check", "--config", "kinds.yaml")
    document = run("config", "check", "--config", "kinds.yaml", "-o", "json")

    assert "configured kinds\n  K.g: spec.jobs[*].pod\n" in table.out
    (shown,) = document.documents
    assert shown["kinds"] == [{"kind": "K.g", "paths": ["spec.jobs[*].pod"]}]


def test_the_rules_of_a_profile_are_shown(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rules = "  rules: {TSC110: off, TSC101: {action: deny, exemptible: false}}\n"
    (folder / "config.yaml").write_text(TEXT + rules)
    requested = request("config.yaml")

    show(requested, [], defaulted(), Terminal())
    document = as_document(requested, [], defaulted())

    assert (
        "  merge   IfEmpty, completes null selectors\n"
        "  rule    TSC101: deny, not warn, without exemptions\n"
        "  rule    TSC110: off, not audit\n"
    ) in capsys.readouterr().out
    assert document["profiles"][0]["rules"] == [
        {"rule": "TSC101", "action": "deny", "default": "warn", "exemptible": False},
        {"rule": "TSC110", "action": "off", "default": "audit", "exemptible": True},
    ]


def test_a_check_without_a_pod_names_no_namespace_but_its_own(folder: Path, run: Run) -> None:
    (folder / "config.yaml").write_text(LABEL_SELECTING)
    (folder / "web.yaml").write_text(DEPLOYMENT_WITHOUT_CONSTRAINTS)
    words = ("config", "check", "-f", "web.yaml", "--config", "config.yaml")

    checked = (run(*words), run(*words, "-n", "shop"))

    assert ["not among the facts" in ran.err for ran in checked] == [False, True]
