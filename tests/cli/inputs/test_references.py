import pytest
import yaml
from msgspec.structs import replace

from tests.apiserver import ApiServer
from tests.cli.inputs.manifestclusters import documents
from tests.cli.inputs.shopcluster import manifest_cluster
from webhook.cli.inputs.apiserver import ServerOptions
from webhook.cli.inputs.references import TemplateFinder, follow_reference
from webhook.cli.inputs.subjects import ExplainSubject, read_workload, selector_of
from webhook.config.configuration import Configuration
from webhook.errors import SourceError
from webhook.manifests import Document
from webhook.policy.kinds import POD
from webhook.policy.model import GroupKind, LabelSelector

TEMPLATES = Configuration().pod_templates
ROLLOUT = GroupKind("argoproj.io", "Rollout")

REFERRING = """\
apiVersion: argoproj.io/v1alpha1
kind: Rollout
metadata: {name: web}
spec:
  replicas: 5
  workloadRef: {apiVersion: apps/v1, kind: Deployment, name: web}
"""
DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 0
  selector: {matchLabels: {app: web}}
  template: {metadata: {labels: {app: web}}, spec: {containers: []}}
"""


def rollout(text: str) -> ExplainSubject:
    (document,) = documents(text)
    return ExplainSubject(ROLLOUT, ("spec", "template"), "default", document.value, exists=False)


def follow(subject: ExplainSubject, cluster: str) -> ExplainSubject:
    return follow_reference(subject, TEMPLATES, manifest_cluster(cluster)[0].find)


def test_the_template_is_that_of_the_deployment_and_the_replicas_are_its_own() -> None:
    subject = follow(rollout(REFERRING), DEPLOYMENT)

    workload = read_workload(subject)
    assert (workload.replicas, workload.labels) == (5, {"app": "web"})
    assert selector_of(subject) == LabelSelector({"app": "web"})


def test_a_selector_of_its_own_is_kept() -> None:
    own = "  selector: {matchLabels: {app: own}}\n"

    assert selector_of(follow(rollout(REFERRING + own), DEPLOYMENT)) == LabelSelector(
        {"app": "own"}
    )


@pytest.mark.parametrize("cluster", ["", DEPLOYMENT.replace("template:", "pod:")])
def test_an_unknown_template_is_an_error(cluster: str) -> None:
    with pytest.raises(
        SourceError, match="its pod template is in Deployment/web, which is unknown"
    ):
        follow(rollout(REFERRING), cluster)


OTHERS = {
    "a template of its own": REFERRING.replace("workloadRef: {", "template: {spec: {}, "),
    "no reference": REFERRING.replace("workloadRef", "other"),
    "a reference of another type": REFERRING.replace("workloadRef: {", "workloadRef: [{") + "]",
}


@pytest.mark.parametrize("text", OTHERS.values(), ids=OTHERS.keys())
def test_other_objects_are_unchanged(text: str) -> None:
    subject = rollout(text.replace("name: web}\n]", "name: web}]\n"))

    assert follow(subject, DEPLOYMENT) is subject


def test_a_pod_refers_to_nothing() -> None:
    subject = ExplainSubject(POD, (), "default", {}, exists=False)

    assert follow(subject, "") is subject


def find(text: str, live: ServerOptions | None = None) -> Document:
    """Complete the first of some documents."""
    rollout, *others = (
        replace(item, value={**item.value, "metadata": {"name": "web", "namespace": "shop"}})
        for item in documents(text)
    )
    finder = TemplateFinder(others, TEMPLATES, live)
    return finder.complete(rollout, ("spec", "template"))


def test_the_template_is_found_among_documents() -> None:
    found = find(f"{REFERRING}---\n{DEPLOYMENT}")

    assert found.value["spec"]["template"]["metadata"] == {"labels": {"app": "web"}}


def test_a_document_without_a_reference_is_unchanged() -> None:
    (document,) = documents(DEPLOYMENT)

    assert TemplateFinder([], TEMPLATES, None).complete(document, ("spec", "x")) is document


def test_a_template_that_no_document_has_is_unknown() -> None:
    with pytest.raises(SourceError, match="Rollout shop/web: its pod template is in Deployment"):
        find(REFERRING)


def test_the_template_is_found_in_a_live_cluster(api: ApiServer) -> None:
    held = yaml.safe_load(DEPLOYMENT)
    api.add({**held, "metadata": {"name": "web", "namespace": "shop"}})

    found = find(REFERRING, ServerOptions(kubeconfig="kubeconfig"))

    assert found.value["spec"]["selector"] == {"matchLabels": {"app": "web"}}


@pytest.mark.usefixtures("api")
def test_a_template_that_no_cluster_has_is_unknown() -> None:
    with pytest.raises(SourceError, match="which is unknown"):
        find(REFERRING, ServerOptions(kubeconfig="kubeconfig"))
