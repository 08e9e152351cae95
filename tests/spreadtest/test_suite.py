import os
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.cli import files
from tests.spreadtest.world import CASE, CASES, HEAD, errors_of, load
from webhook.admission.offline import OfflineReview
from webhook.errors import CombinedConfigError, ManifestError, SourceError
from webhook.policy.api.gates import Gate
from webhook.policy.defaulting.profiles import Mode
from webhook.policy.model import OwnerReference
from webhook.policy.request import Hook
from webhook.spreadtest.suite import SuiteText, find_suites

MUTATE, VALIDATE = Hook.MUTATE, Hook.VALIDATE

INLINE = """\
config:
  apiVersion: evenspread.io/v1alpha1
  kind: SpreadConfiguration
  mode: recommend
"""

CONFIGS = {
    "none": ("", [], Mode.APPLY),
    "a file": ("config: config.yaml\n", ["cluster"], Mode.APPLY),
    "as it is": (INLINE, [], Mode.RECOMMEND),
    "a file of kube-scheduler": (
        "schedulerConfig: scheduler.yaml\n", ["default-scheduler"], Mode.APPLY
    ),
    "as it is, with a file of kube-scheduler beside the suite": (
        f"{INLINE}  profiles: [{{name: a, schedulerConfiguration: scheduler.yaml}}]\n",
        ["a"],
        Mode.RECOMMEND,
    ),
}  # fmt: skip


@pytest.mark.parametrize(("text", "profiles", "mode"), CONFIGS.values(), ids=CONFIGS.keys())
def test_configuration(text: str, profiles: list[str], mode: Mode, folder: Path) -> None:
    (case,) = load(text + CASES, folder).cases

    assert [profile.name for profile in case.policy.profiles] == profiles
    assert case.policy.mode is mode


# text, expected message
CONFIG_ERRORS = {
    "a key of a configuration as it is": (
        f"{INLINE}  modes: apply\n",
        "7: modes: no such key: did you mean mode?",
    ),
    "a configuration as it is, of another kind": (
        "config: {apiVersion: kubescheduler.config.k8s.io/v1, kind: PodTopologySpreadArgs}\n",
        "3: kind: is PodTopologySpreadArgs: give the file with --scheduler-config",
    ),
    "a file that does not exist": (
        "config: none.yaml\n",
        "'{folder}/none.yaml' cannot be read: No such file or directory",
    ),
    "a file with an error": (
        "schedulerConfig: pod.yaml\n",
        "{folder}/pod.yaml:2: kind: ",
    ),
}


@pytest.mark.parametrize(("text", "message"), CONFIG_ERRORS.values(), ids=CONFIG_ERRORS.keys())
def test_error_in_a_configuration(text: str, message: str, folder: Path) -> None:
    (error, *_) = errors_of(text + CASES, folder)

    assert error.startswith(message.format(folder=folder))


NODE = "{apiVersion: v1, kind: Node, metadata: {name: n1, labels: {zone: a}}}"
NODES = f"{{apiVersion: v1, kind: List, items: [{NODE}, {NODE.replace('n1', 'n2')}]}}"


def test_cluster_of_folders_files_and_objects(folder: Path) -> None:
    (folder / "nodes.yaml").write_text(NODES.replace("n2", "n3"))

    suite = load(f"cluster: [cluster, nodes.yaml, {NODES}]\n{CASES}", folder)

    assert suite.cluster.schedulable_nodes() == 3
    assert [service.name for service in suite.cluster.services("shop", {"app": "web"})] == ["web"]
    assert suite.problems == ()


def test_custom_controllers_of_the_configuration_are_in_the_cluster(folder: Path) -> None:
    config = f"{INLINE}  ownerSelectors: [{{group: x.io, kind: Fleet, selectorPath: spec.pods}}]\n"
    fleet = "{apiVersion: x.io/v1, kind: Fleet, metadata: {name: a}, spec: {pods: {}}}"

    suite = load(f"{config}cluster: [{fleet}]\n{CASES}", folder)

    owner = OwnerReference("x.io/v1", "Fleet", "a", controller=True)
    assert suite.cluster.owner_selector("default", owner) is not None


POLICY = (
    "{apiVersion: evenspread.io/v1alpha1, kind: SpreadPolicy, metadata: {name: web}, spec: {%s}}"
)


def test_the_policies_of_the_cluster_follow_the_profiles_of_the_configuration(folder: Path) -> None:
    policy = POLICY % "defaultConstraints: []"

    suite = load(f"config: config.yaml\ncluster: [{policy}]\n{CASES}", folder)

    assert [profile.name for profile in suite.cases[0].policy.profiles] == ["cluster", "web"]


def test_an_invalid_policy_of_the_cluster_is_an_error(folder: Path) -> None:
    policy = POLICY % "merge: x, defaultConstraints: []"

    (error,) = errors_of(f"cluster: [{policy}]\n{CASES}", folder)

    assert error.startswith("3: spec.merge: cannot be 'x'")


def test_suite_without_a_cluster_knows_no_facts(folder: Path) -> None:
    assert load(CASES, folder).cluster.schedulable_nodes() == 0


# what stands for the cluster, expected message
BROKEN_CLUSTERS = {
    "a file that does not parse": ("syntax.yaml", "{folder}/syntax.yaml:"),
    "an object of wrong types": (
        "{apiVersion: v1, kind: Node, metadata: {name: a, labels: 7}}",
        "{folder}/suite.yaml:3: Node/a: metadata.labels: expected an object",
    ),
}


@pytest.mark.parametrize(("part", "message"), BROKEN_CLUSTERS.values(), ids=BROKEN_CLUSTERS.keys())
def test_unreadable_object_of_a_cluster_is_a_problem(part: str, message: str, folder: Path) -> None:
    (problem,) = load(f"cluster: [{part}]\n{CASES}", folder).problems

    assert str(problem).startswith(message.format(folder=folder))


def test_cluster_that_does_not_exist_is_an_error(folder: Path) -> None:
    (error,) = errors_of(f"cluster: [none]\n{CASES}", folder)

    assert error == f"3: cluster[0]: '{folder}/none' is no file and no folder"


HOOKS = {
    "both, if none is written": ("pod.yaml", "", (MUTATE, VALIDATE)),
    "the one that is written": ("pod.yaml", "hook: validate", (VALIDATE,)),
    "both, as written": ("pod.yaml", "hook: both", (MUTATE, VALIDATE)),
    "the one that a recorded review was sent to": ("recorded.json", "", (VALIDATE,)),
    "the one that is written, for a recorded review": (
        "recorded.json", "hook: mutate", (MUTATE,)
    ),
}  # fmt: skip

RECORDED = """\
{"http": {"path": "/validate"}, "review": {"apiVersion": "admission.k8s.io/v1",
"kind": "AdmissionReview", "request": {"uid": "1"}}}
"""


@pytest.mark.parametrize(("file", "written", "hooks"), HOOKS.values(), ids=HOOKS.keys())
def test_hooks(file: str, written: str, hooks: tuple[Hook, ...], folder: Path) -> None:
    (folder / "recorded.json").write_text(RECORDED)
    text = f"cases:\n- name: a\n  object: {file}\n  expect: {{verdict: allow}}\n  {written}\n"

    (case,) = load(text, folder).cases

    assert case.hooks == hooks


GATED = """\
kubeVersion: "1.24"
featureGates: {MinDomainsInPodTopologySpread: true, EvenspreadAdvice: false}
"""


def test_gates_of_a_case_come_before_those_of_its_suite(folder: Path) -> None:
    own = CASE.replace("a pod", "another").rstrip()
    other = f'{own}\n  kubeVersion: "1.31"\n  featureGates: {{EvenspreadAdvice: true}}\n'

    first, second = (case.policy.gates for case in load(GATED + CASES + other, folder).cases)

    assert Gate.MIN_DOMAINS in first
    assert Gate.ADVICE not in first
    assert Gate.NODE_INCLUSION_POLICY not in first
    assert Gate.ADVICE in second
    assert Gate.NODE_INCLUSION_POLICY in second


def test_gate_names_its_position(folder: Path) -> None:
    (case,) = load(GATED + CASES, folder).cases

    source = case.policy.gates.settings[Gate.MIN_DOMAINS].source
    assert source == f"{folder}/suite.yaml:4: featureGates.MinDomainsInPodTopologySpread"


LOCKED = '- kubeVersion: "1.37"\n  featureGates: {MinDomainsInPodTopologySpread: false}\n'


def test_gate_that_cannot_be_switched_is_an_error_at_its_line(folder: Path) -> None:
    case = f"cases:\n{LOCKED}  name: a\n  object: pod.yaml\n  expect: {{verdict: allow}}\n"

    (error,) = errors_of(case, folder)

    assert error.startswith("5: cases[0].featureGates.MinDomainsInPodTopologySpread: ")
    assert load(f"allowLockedGates: true\n{case}", folder).cases
    assert load(f"{case}  allowLockedGates: true\n", folder).cases
    assert errors_of(f"allowLockedGates: true\n{case}  allowLockedGates: false\n", folder)


def test_update_has_both_objects(folder: Path) -> None:
    (folder / "old.yaml").write_text(files.POD.replace("  namespace: shop\n", ""))
    text = f"{CASES}  oldObject: old.yaml\n"

    (case,) = load(text, folder).cases

    assert isinstance(case.request, OfflineReview)
    request = case.request.body["request"]
    assert request["operation"] == "UPDATE"
    assert request["oldObject"]["metadata"]["namespace"] == "shop"
    assert request["options"]["kind"] == "UpdateOptions"


# what is updated, to what, expected message
UPDATES = {
    "another name": (
        "{apiVersion: v1, kind: Pod, metadata: {name: web-2}}",
        "pod.yaml",
        "7: cases[0].oldObject: is Pod web-2, which no update can change to Pod web-1",
    ),
    "a recorded review": (
        "pod.yaml",
        "recorded.json",
        "7: cases[0].oldObject: is already in the recorded review: remove it",
    ),
    "an object that does not exist": ("none.yaml", "pod.yaml", "7: cases[0].oldObject: '"),
}


@pytest.mark.parametrize(("old", "new", "message"), UPDATES.values(), ids=UPDATES.keys())
def test_error_in_an_update(old: str, new: str, message: str, folder: Path) -> None:
    (folder / "recorded.json").write_text(RECORDED)
    text = f"{CASES.replace('pod.yaml', new)}  oldObject: {old}\n"

    (error,) = errors_of(text, folder)

    assert error.startswith(message)


def test_old_object_that_cannot_be_read_is_an_error(folder: Path) -> None:
    (case,) = load(f"{CASES}  oldObject: syntax.yaml\n", folder).cases

    assert str(case.request).startswith(f"{folder}/syntax.yaml:")


def test_errors_of_all_cases_are_reported_at_once(folder: Path) -> None:
    case = CASE.replace("pod.yaml", "none.yaml")
    text = f"cluster: [none]\ncases:\n{case}{case.replace('a pod', 'b')}"

    assert [error.partition(":")[0] for error in errors_of(text, folder)] == [
        "3",
        *[f"{folder}/suite.yaml"] * 2,
    ]


def test_suite_without_a_name_has_that_of_its_file(folder: Path) -> None:
    assert load(CASES, folder).name == f"{folder}/suite.yaml"
    assert load(f"name: pods\n{CASES}", folder).name == "pods"


def test_case_knows_its_line(folder: Path) -> None:
    assert [case.line for case in load(CASES, folder).cases] == [4]


SUITE = HEAD + CASES

UNPRIVILEGED = 65534  # the user `nobody`

# text, whether it is meant as a suite
TEXTS = {
    "a suite": (SUITE, True),
    "a suite with quotes": ('"kind": "SpreadTest"\n', True),
    "a suite in JSON": ('{"apiVersion": "evenspread.io/v1alpha1", "kind": "SpreadTest"}', True),
    "a suite that is no YAML": (f"{HEAD}cases: [\n", True),
    "a suite after a comment": (f"# kind: Pod\n---\n{SUITE}", True),
    "a pod": (files.POD, False),
    "a ConfigMap that holds a suite": ("data:\n  suite: |\n    kind: SpreadTest\n", False),
    "a kind that begins alike": ("kind: SpreadTestReport\n", False),
    "a comment": ("# kind: SpreadTest\n", False),
}


@pytest.mark.parametrize(("text", "meant"), TEXTS.values(), ids=TEXTS.keys())
def test_suites_are_recognized_by_their_text(text: str, meant: bool, tmp_path: Path) -> None:
    (tmp_path / "some.yaml").write_text(text)
    (tmp_path / "z.yaml").write_text(SUITE)

    found = [suite.source for suite in find_suites([str(tmp_path)]) if isinstance(suite, SuiteText)]

    assert found == [str(tmp_path / name) for name in ("some.yaml", "z.yaml")[not meant :]]


def test_folders_are_walked_in_order(tmp_path: Path) -> None:
    for name in ("b.yaml", "a/z.yml", "a/b/suite.json", ".git/suite.yaml", "c.txt"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text('{"kind": "SpreadTest"}')

    found = [suite.source for suite in find_suites([str(tmp_path)]) if isinstance(suite, SuiteText)]

    assert [str(Path(source).relative_to(tmp_path)) for source in found] == [
        "a/b/suite.json", "a/z.yml", "b.yaml",
    ]  # fmt: skip


def test_a_file_that_is_found_twice_is_one_suite(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text('{"kind": "SpreadTest"}')
    (tmp_path / "link.yaml").symlink_to("a.yaml")

    found = list(find_suites([str(tmp_path / "a.yaml"), str(tmp_path)]))

    assert [item.source for item in found] == [str(tmp_path / "a.yaml")]


def test_a_loop_of_links_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "loop.yaml").symlink_to("loop.yaml")

    (problem,) = find_suites([str(tmp_path)])

    assert "symbolic links" in str(problem)


def test_an_unreadable_file_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "latin.yaml").write_bytes(b"name: caf\xe9\n")

    (problem,) = find_suites([str(tmp_path)])

    assert isinstance(problem, ManifestError)


@pytest.mark.parametrize(
    ("name", "message"),
    [("pods", "no file below it is a SpreadTest: write one"), ("pods/a.yaml", "is no SpreadTest:")],
)
def test_a_place_without_a_suite_is_an_error(name: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "pods").mkdir()
    (tmp_path / "pods/a.yaml").write_text(files.POD)

    with pytest.raises(CombinedConfigError) as caught:
        list(find_suites([str(tmp_path / name)]))

    assert str(caught.value).startswith(f"{tmp_path / name}: {message}")
    assert "`kind: SpreadTest`" in str(caught.value)


def test_templates_of_a_chart_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "templates").mkdir()
    for name in ("Chart.yaml", "templates/a.yaml", "suite.yaml"):
        (tmp_path / name).write_text(SUITE)

    found = [suite.source for suite in find_suites([str(tmp_path)]) if isinstance(suite, SuiteText)]

    assert [Path(source).name for source in found] == ["Chart.yaml", "suite.yaml"]


def test_a_folder_that_cannot_be_listed_is_an_error() -> None:
    with TemporaryDirectory() as folder:
        closed = Path(folder, "closed")
        closed.mkdir(mode=0)
        Path(folder).chmod(0o755)
        user = os.geteuid()
        os.seteuid(user or UNPRIVILEGED)  # root may list everything
        try:
            (problem,) = find_suites([folder])
        finally:
            os.seteuid(user)

        assert isinstance(problem, SourceError)
        assert problem.source == str(closed)
