from pathlib import Path

import pytest
import yaml

from tests.apiserver import ApiServer
from tests.build import default, pod, policy, profile, review_body
from tests.cli import files
from tests.cli.conftest import Run
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


@pytest.fixture
def configured(folder: Path) -> Path:
    (folder / "config.yaml").write_text(files.CONFIG)
    return folder


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


def test_the_example_is_the_first_pod_of_the_files(configured: Path, run: Run) -> None:
    (configured / "pod.yaml").write_text(f"{files.POD}---\n{files.SERVICE}")

    ran = run("config", "check", "--config", "config.yaml", "-f", "pod.yaml")

    assert "defaults of Pod shop/web-1: from profile cluster\n" in ran.out
    assert ran.out.endswith("        app: web\n")


def test_an_example_without_defaults_has_a_reason(configured: Path, run: Run) -> None:
    (configured / "pod.yaml").write_text(files.POD + files.VALID)

    ran = run("config", "check", "--config", "config.yaml", "-f", "pod.yaml")

    assert ran.out.endswith("defaults of Pod shop/web-1: none, since it has its own constraints\n")


def test_a_recorded_review_without_a_pod_is_no_example(configured: Path, run: Run) -> None:
    (configured / "delete.json").write_bytes(review_body(None, pod()))
    (configured / "pod.yaml").write_text(files.POD)

    ran = run("config", "check", "--config", "config.yaml", "-f", "delete.json", "-f", "pod.yaml")

    assert "defaults of Pod shop/web-1: " in ran.out


UNPLACED = files.POD.replace("  namespace: shop\n", "").replace("web-1", "api")


def test_the_example_is_a_pod_of_the_namespace(configured: Path, run: Run) -> None:
    (configured / "pods.yaml").write_text(f"{files.POD}---\n{UNPLACED}")
    check = ("config", "check", "--config", "config.yaml", "-f", "pods.yaml")

    assert "defaults of Pod ops/api: " in run(*check, "-n", "ops").out
    assert "defaults of Pod shop/web-1: " in run(*check, "-n", "shop").out


PROD = """\
apiVersion: evenspread.io/v1alpha1
kind: SpreadConfiguration
profiles:
- name: prod
  match: {namespaceSelector: {matchLabels: {tier: prod}}}
  defaultConstraints:
  - {maxSkew: 1, topologyKey: rack, whenUnsatisfiable: ScheduleAnyway}
"""
NAMESPACE = """\
apiVersion: v1
kind: Namespace
metadata: {name: shop, labels: {tier: prod}}
"""
EXAMPLE = "defaults of a pod labelled app=example, behind a Service"


def test_without_files_the_example_is_in_the_namespace(folder: Path, run: Run) -> None:
    (folder / "config.yaml").write_text(PROD)
    (folder / "cluster.yaml").write_text(NAMESPACE)
    check = ("config", "check", "--config", "config.yaml", "--facts", "cluster.yaml")

    assert f"{EXAMPLE}: none, since no profile matches it" in run(*check).out
    assert f"{EXAMPLE}, in namespace shop: from profile prod" in run(*check, "-n", "shop").out


def test_labels_of_a_live_namespace_count(folder: Path, run: Run, api: ApiServer) -> None:
    (folder / "config.yaml").write_text(PROD)
    api.add(yaml.safe_load(NAMESPACE))
    live = ("--kubeconfig", "kubeconfig", "-n", "shop")

    ran = run("config", "check", "--config", "config.yaml", *live)

    assert f"{EXAMPLE}, in namespace shop: from profile prod" in ran.out


@pytest.mark.parametrize(
    "source", [("--facts", "cluster.yaml"), ("-f", "cluster.yaml", "-f", "pod.yaml")]
)
def test_an_absent_namespace_is_an_error(source: list[str], folder: Path, run: Run) -> None:
    (folder / "cluster.yaml").write_text(NAMESPACE)
    (folder / "pod.yaml").write_text(files.POD)

    ran = run("config", "check", *source, "-n", "shopp")

    assert (ran.code, ran.out) == (2, "")
    assert ran.err == "error: -n: there is no namespace 'shopp': did you mean shop?\n"


# file of -f, exit code, message
EXAMPLES = {
    "a configuration": (files.CONFIG, 2, "error: pod.yaml: is a SpreadConfiguration: name it wi"),
    "a pod that cannot be read": (files.POD + files.TYPE_ERROR, 2, "error: pod.yaml:1: the object"),
    "no YAML": ("kind: [", 3, "error: pod.yaml:1: invalid YAML"),
}


@pytest.mark.parametrize(("text", "code", "message"), EXAMPLES.values(), ids=EXAMPLES.keys())
def test_an_unusable_example_is_an_error(
    text: str, code: int, message: str, folder: Path, run: Run
) -> None:
    (folder / "pod.yaml").write_text(text)

    ran = run("config", "check", "-f", "pod.yaml")

    assert ran.code == code
    assert ran.err.startswith(message)


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


# text of the standard input, arguments -> warning
WITHOUT_POD = {
    "nothing": ("", (), "warning: stdin: contains no Pod\n"),
    "no object": ("a: 1", (), "warning: stdin: contains no Pod\n"),
    "another kind": (files.SERVICE, (), "warning: stdin: contains no Pod\n"),
    "no selected pod": (
        files.POD, ("-l", "app=db"), "warning: stdin: contains no Pod that -l selects\n"
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    ("text", "arguments", "warning"), WITHOUT_POD.values(), ids=WITHOUT_POD.keys()
)
def test_without_a_pod_there_is_a_warning_and_an_error_if_strict(
    text: str, arguments: tuple[str, ...], warning: str, run: Run
) -> None:
    loose = run("config", "check", "-f", "-", *arguments, stdin=text.encode())
    strict = run("config", "check", "-", "--strict", *arguments, stdin=text.encode())

    assert (loose.code, strict.code) == (0, 3)
    assert loose.err.startswith(warning)
    assert EXAMPLE in loose.out
    assert strict.err.startswith("error: stdin: ")


def test_labels_select_the_example(configured: Path, run: Run) -> None:
    other = files.POD.replace("app: web", "app: db").replace("web-1", "db-1")
    (configured / "pods.yaml").write_text(f"{files.POD}---\n{other}")

    ran = run("config", "check", "pods.yaml", "--config", "config.yaml", "-l", "app=db")

    assert "defaults of Pod shop/db-1: " in ran.out


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


POLICIES = """\
apiVersion: evenspread.io/v1alpha1
kind: SpreadPolicy
metadata: {name: later}
spec:
  order: 7
  defaultConstraints: []
---
apiVersion: evenspread.io/v1alpha1
kind: SpreadPolicy
metadata: {name: sooner}
spec:
  match: {schedulerNames: [other]}
  defaultConstraints: []
"""


@pytest.mark.usefixtures("configured")
@pytest.mark.parametrize("option", ["-f", "--facts"])
def test_policies_of_manifests_are_shown_in_their_order(
    folder: Path, run: Run, option: str
) -> None:
    (folder / "policies.yaml").write_text(POLICIES)
    args = ("config", "check", "--config", "config.yaml", option, "policies.yaml")

    ran, as_json = run(*args), run(*args, "-o", "json")

    assert (ran.code, ran.err) == (0, "")
    assert [line for line in ran.out.splitlines() if line.startswith("profile ")] == [
        "profile 1: cluster",
        "profile 2: sooner (SpreadPolicy, order 0)",
        "profile 3: later (SpreadPolicy, order 7)",
    ]
    assert [
        (shown["name"], shown.get("kind"), shown.get("order"))
        for shown in as_json.documents[0]["profiles"]
    ] == [("cluster", None, None), ("sooner", "SpreadPolicy", 0), ("later", "SpreadPolicy", 7)]


def test_the_errors_of_a_policy_are_errors_of_the_configuration(folder: Path, run: Run) -> None:
    (folder / "policies.yaml").write_text(POLICIES.replace("order: 7", "order: x"))

    ran = run("config", "check", "-f", "policies.yaml")

    assert (ran.code, ran.out) == (2, "")
    assert ran.err == ("error: policies.yaml:5: spec.order: must be a whole number, not 'x'\n")


def test_policies_of_the_cluster_are_shown(folder: Path, run: Run, api: ApiServer) -> None:
    api.add(*yaml.safe_load_all(POLICIES))

    ran = run("config", "check", "--kubeconfig", "kubeconfig")

    assert "profile 1: sooner (SpreadPolicy, order 0)" in ran.out.splitlines()


def test_a_pod_beside_policies_shows_their_defaults(folder: Path, run: Run) -> None:
    (folder / "policies.yaml").write_text(f"{POLICIES}---\n{files.POD}")

    ran = run("config", "check", "-f", "policies.yaml")

    assert "defaults of Pod shop/web-1: none, since its profile has nothing to add" in ran.out
