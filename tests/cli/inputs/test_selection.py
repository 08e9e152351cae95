from contextlib import nullcontext

import pytest

from tests.apiserver import ApiServer, refuse
from tests.cli.inputs.manifestclusters import documents
from tests.cli.inputs.shopcluster import SERVER, manifest_cluster
from tests.cli.inputs.test_references import DEPLOYMENT, REFERRING, TEMPLATES
from webhook.cli.inputs.apiserver import ServerOptions
from webhook.cli.inputs.cluster import open_cluster
from webhook.cli.inputs.facts import FactsSources
from webhook.cli.inputs.manifests import Inputs
from webhook.cli.inputs.selection import SubjectSelector, join_words
from webhook.errors import ApiError, ConfigError, SourceError
from webhook.policy.model import LabelSelector
from webhook.policy.selectors import SELECT_ALL

# words, subjects
WORDS = {
    "none": ((), ()),
    "a pod": (("web-1",), ("web-1",)),
    "two pods": (("web-1", "web-2"), ("web-1", "web-2")),
    "with kinds": (("deploy/web", "pod/web-1"), ("deploy/web", "pod/web-1")),
    "a kind and a name": (("deploy", "web"), ("deploy/web",)),
    "a kind and names": (("Deployments", "web", "api"), ("Deployments/web", "Deployments/api")),
    "a kind with its group": (("rollout.argoproj.io", "web"), ("rollout.argoproj.io/web",)),
}


@pytest.mark.parametrize(("words", "subjects"), WORDS.values(), ids=WORDS.keys())
def test_words_are_those_of_kubectl(words: tuple[str, ...], subjects: tuple[str, ...]) -> None:
    assert join_words(words, TEMPLATES) == subjects


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("deploy",), "the name is missing: write one as in deploy/web"),
        (("deploy", "pod/web"), "'deploy' already names the kind: leave it out, or 'pod/web'"),
    ],
)
def test_kinds_without_names_and_two_kinds_are_errors(words: tuple[str, ...], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        join_words(words, TEMPLATES)


WEB_LABELS = LabelSelector({"app": "web"})
FILES = f"{REFERRING}---\n{DEPLOYMENT}---\n{DEPLOYMENT.replace('name: web', 'name: api')}"


def selector(text: str, facts: str = "", labels: LabelSelector = SELECT_ALL) -> SubjectSelector:
    cluster, _ = manifest_cluster(f"{text}---\n{facts}")
    inputs = Inputs(["all.yaml"] if text else [])
    sources = FactsSources(paths=("facts.yaml",) if facts else ())
    return SubjectSelector(inputs, documents(text), sources, TEMPLATES, "default", cluster, labels)


ELSEWHERE = "name its file with -f, or read the cluster with --live"
UNKNOWN_TEMPLATE = (
    "Rollout default/web: its pod template is in Deployment/web, which is unknown: name its file "
    "with --facts"
)

# files, facts, subjects, selected, problems
SELECTED: dict[str, tuple[str, str, tuple[str, ...], list[str], list[str]]] = {
    "all": (FILES, "", (), ["Rollout/web", "Deployment/web", "Deployment/api"], []),
    "one": (FILES, "", ("deploy/api",), ["Deployment/api"], []),
    "several": (FILES, "", ("deploy/api", "deploy/web"), ["Deployment/api", "Deployment/web"], []),
    "one of the facts": (REFERRING, DEPLOYMENT, ("deploy/web",), ["Deployment/web"], []),
    "one is unknown": (
        *(FILES, "", ("sts/no", "deploy/web"), ["Deployment/web"]),
        [f"all.yaml: contains no sts/no with a pod template: {ELSEWHERE}"],
    ),
    "no object has a pod template": (
        *("{apiVersion: v1, kind: Node, metadata: {name: n1}}", "", (), []),
        ["all.yaml: contains no object with a pod template"],
    ),
    "one has a similar name": (
        *(FILES, "", ("deploy/wbe",), []),
        ["all.yaml: contains no deploy/wbe with a pod template: did you mean deploy/web?"],
    ),
    "one has no kind": (
        *(FILES, "", ("api",), []),
        ["all.yaml: api: names no kind: did you mean deployment/api?"],
    ),
    "one is unknown in the facts": (
        *(FILES, DEPLOYMENT, ("sts/no", "deploy/web"), ["Deployment/web"]),
        ["StatefulSet default/no: not found: check its name and its namespace"],
    ),
    "a template is unknown": (
        *(f"{REFERRING}---\n{DEPLOYMENT.replace('name: web', 'name: api')}", "", ()),
        ["Deployment/api"],
        [UNKNOWN_TEMPLATE],
    ),
}


@pytest.mark.parametrize(
    ("text", "facts", "subjects", "selected", "problems"), SELECTED.values(), ids=SELECTED.keys()
)
def test_objects_that_cannot_be_found_are_problems(
    text: str, facts: str, subjects: tuple[str, ...], selected: list[str], problems: list[str]
) -> None:
    selecting = selector(text, facts)

    found = selecting.select(subjects)

    assert [f"{subject.kind.kind}/{subject.name}" for subject in found] == selected
    assert list(map(str, selecting.inputs.problems)) == problems


def test_an_unreachable_api_server_is_no_problem_of_an_object() -> None:
    live = FactsSources(live=ServerOptions(kubeconfig="none"))
    with open_cluster(live.live, manifest_cluster("")[0], ()) as cluster:
        selecting = SubjectSelector(Inputs([]), [], live, TEMPLATES, "default", cluster)

        with pytest.raises(ApiError):
            selecting.select(["deploy/web"])


def test_an_error_of_one_object_is_recorded() -> None:
    selecting = selector(FILES)

    def fail() -> None:
        raise SourceError("web.yaml", "is no pod")

    with selecting.recorded_errors():
        fail()

    assert list(map(str, selecting.inputs.problems)) == ["web.yaml: is no pod"]


def test_a_live_object_is_found(api: ApiServer) -> None:
    text = DEPLOYMENT.replace("name: web}", "name: web, namespace: default}", 1)
    api.add(documents(text)[0].value)
    with open_cluster(SERVER, manifest_cluster("")[0], ()) as cluster:
        live = FactsSources(live=SERVER)
        selecting = SubjectSelector(Inputs([]), [], live, TEMPLATES, "default", cluster)

        (found,) = selecting.select(["deploy/web"])

    assert found.exists


LABELLED = DEPLOYMENT.replace("name: web}", "name: web, labels: {app: web}}", 1)
OWNED = """\
apiVersion: apps/v1
kind: ReplicaSet
metadata: {name: web-1, labels: {app: web}, ownerReferences: [{apiVersion: %s, kind: %s, \
name: web, controller: true}]}
spec: {template: {}}
"""
WEB_SET = OWNED % ("apps/v1", "Deployment")
OPERATED_SET = OWNED % ("example.io/v1", "Shop")

# files, facts, words, selected
LABELS: dict[str, tuple[str, str, tuple[str, ...], list[str]]] = {
    "all that no workload manages": (
        *("", f"{DEPLOYMENT.replace('web', 'api')}---\n{LABELLED}---\n{WEB_SET}", ()),
        ["Deployment/web"],
    ),
    "an operator manages it": ("", OPERATED_SET, (), ["ReplicaSet/web-1"]),
    "of a kind": ("", f"{LABELLED}---\n{WEB_SET}", ("rs",), ["ReplicaSet/web-1"]),
    "of kinds": (
        *("", f"{LABELLED}---\n{WEB_SET}", ("rs,ds", "deploy")),
        ["ReplicaSet/web-1", "Deployment/web"],
    ),
    "of files": (f"{LABELLED}---\n{WEB_SET}", "", (), ["Deployment/web"]),
    "of files without its workload": (WEB_SET, "", (), ["ReplicaSet/web-1"]),
    "of a kind in files": (f"{LABELLED}---\n{WEB_SET}", LABELLED, ("rs",), ["ReplicaSet/web-1"]),
}


@pytest.mark.parametrize(("text", "facts", "words", "selected"), LABELS.values(), ids=LABELS.keys())
def test_labels_select_objects(
    text: str, facts: str, words: tuple[str, ...], selected: list[str]
) -> None:
    selecting = selector(text, facts, WEB_LABELS)

    found = selecting.select(words)

    assert [f"{subject.kind.kind}/{subject.name}" for subject in found] == selected
    assert selecting.inputs.problems == []


POD = """\
apiVersion: v1
kind: Pod
metadata:
  name: web-h1-x
  labels: {app: web, pod-template-hash: h1}
  ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: web-h1, controller: true}]
spec: {}
"""

# files, words, selected
DUMPS: dict[str, tuple[str, tuple[str, ...], list[str]]] = {
    "a workload and its pod": (f"{DEPLOYMENT}---\n{POD}", (), ["Deployment/web"]),
    "with the ReplicaSet between them": (
        f"{DEPLOYMENT}---\n{WEB_SET.replace('web-1', 'web-h1')}---\n{POD}", (), ["Deployment/web"]
    ),
    "a pod alone": (POD, (), ["Pod/web-h1-x"]),
    "another workload": (
        f"{DEPLOYMENT.replace('name: web', 'name: api')}---\n{POD}",
        *((), ["Deployment/api", "Pod/web-h1-x"]),
    ),
    "a workload of another namespace": (
        f"{DEPLOYMENT.replace('name: web', 'namespace: other, name: web', 1)}---\n{POD}",
        *((), ["Deployment/web", "Pod/web-h1-x"]),
    ),
    "an operator manages the pod": (
        f"apiVersion: example.io/v1\nkind: Shop\nmetadata: {{name: web}}\n---\n{OPERATED_SET}",
        *((), ["ReplicaSet/web-1"]),
    ),
    "a pod by its name": (f"{DEPLOYMENT}---\n{POD}", ("pod/web-h1-x",), ["Pod/web-h1-x"]),
}  # fmt: skip


@pytest.mark.parametrize(("text", "words", "selected"), DUMPS.values(), ids=DUMPS.keys())
def test_a_workload_of_a_file_stands_for_its_pods(
    text: str, words: tuple[str, ...], selected: list[str]
) -> None:
    found = selector(text).select(words)

    assert [f"{subject.kind.kind}/{subject.name}" for subject in found] == selected


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ((), "namespace default: contains no object with a pod template whose labels match -l"),
        (("sts", "ds"), "namespace default: contains no StatefulSet or DaemonSet whose labels"),
    ],
)
def test_labels_that_select_nothing_are_a_problem(words: tuple[str, ...], problem: str) -> None:
    selecting = selector("", DEPLOYMENT, WEB_LABELS)

    assert selecting.select(words) == []
    assert str(selecting.inputs.problems[0]).startswith(problem)


@pytest.mark.parametrize("words", [("deploy", "web"), ("deploy/web",)])
def test_names_and_labels_together_are_an_error(words: tuple[str, ...]) -> None:
    with pytest.raises(ConfigError, match="is not a kind: name objects, or select them with -l"):
        selector("", LABELLED, WEB_LABELS).select(words)


@pytest.mark.parametrize(("status", "is_problem"), [(403, True), (500, False)])
def test_a_kind_that_may_not_be_listed_is_a_problem(
    status: int, is_problem: bool, api: ApiServer
) -> None:
    api.answers["GET /apis/apps/v1/namespaces/default/deployments"] = refuse("no", status)
    with open_cluster(SERVER, manifest_cluster("")[0], ()) as cluster:
        live = FactsSources(live=SERVER)
        selecting = SubjectSelector(Inputs([]), [], live, TEMPLATES, "default", cluster, WEB_LABELS)

        with nullcontext() if is_problem else pytest.raises(ApiError, match="500"):
            assert selecting.select(["deploy"]) == []

    assert bool(selecting.inputs.problems) is is_problem
