import json
from pathlib import Path
from typing import Any

import jsonpatch
import pytest
import yaml

from tests.apiserver import ApiServer
from tests.cli import files
from tests.cli.conftest import Run

RECOMMEND = files.CONFIG + "mode: recommend\n"


@pytest.fixture
def web(folder: Path) -> Path:
    """A folder with a pod, its Service, and a configuration with one profile."""
    (folder / "pod.yaml").write_text(files.POD)
    (folder / "cluster").mkdir()
    (folder / "cluster/service.yaml").write_text(files.SERVICE)
    (folder / "config.yaml").write_text(files.CONFIG)
    return folder


ADDED = [
    "+  annotations:",
    "+  topologySpreadConstraints:",
    "+  - maxSkew: 1",
    "+    topologyKey: topology.kubernetes.io/zone",
    "+    whenUnsatisfiable: ScheduleAnyway",
    "+    labelSelector:",
    "+      matchLabels:",
    "+        app: web",
]
"""What the profile adds to a pod, as lines of a diff."""


def added(lines: list[str]) -> list[str]:
    """List the added lines of a diff, without the annotation's long value."""
    return [line for line in lines if line.startswith("+") and "defaults" not in line]


@pytest.mark.usefixtures("web")
def test_a_patch_is_shown_as_a_diff(run: Run) -> None:
    ran = run("review", "-f", "pod.yaml", "--config", "config.yaml", "--facts", "cluster")

    assert (ran.code, ran.err) == (0, "")
    lines = ran.out.splitlines()
    assert lines[:3] == [
        "pod.yaml:1: Pod shop/web-1: patched by profile cluster",
        "--- Pod shop/web-1 as sent",
        "+++ Pod shop/web-1 as patched",
    ]
    assert added(lines[3:]) == ADDED
    assert lines[-1] == "1 answer: 1 patched, 0 allowed as they are, 0 denied"


@pytest.mark.parametrize("output", ["json", "yaml"])
@pytest.mark.usefixtures("web")
def test_a_patch_is_decoded_in_documents(output: str, run: Run) -> None:
    ran = run(
        *("review", "-f", "pod.yaml", "--config", "config.yaml"),
        *("--facts", "cluster", "--hook", "mutate", "-o", output),
    )

    answer: dict[str, Any] = yaml.safe_load(ran.out)
    response = answer.pop("response")
    assert answer == {
        "source": "pod.yaml",
        "line": 1,
        "hook": "mutate",
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
    }
    after = jsonpatch.apply_patch(yaml.safe_load(files.POD), response["patch"])
    assert after["spec"]["topologySpreadConstraints"][0]["maxSkew"] == 1
    assert response["auditAnnotations"]["profile"] == "cluster"


@pytest.mark.usefixtures("web")
def test_facts_come_from_the_files_themselves(run: Run) -> None:
    alone = run("review", "-f", "pod.yaml", "--config", "config.yaml")
    together = run("review", "-f", "pod.yaml", "-f", "cluster", "--config", "config.yaml")

    assert alone.out.startswith(
        "pod.yaml:1: Pod shop/web-1: allowed as it is, without defaults: "
        "no Service selects it, and no selector of an owner applies\n"
    )
    assert together.out.startswith("pod.yaml:1: Pod shop/web-1: patched by profile cluster\n")


@pytest.mark.usefixtures("web")
def test_the_validating_webhook_gets_the_patched_object(run: Run) -> None:
    ran = run(
        *("review", "-f", "pod.yaml", "--config", "config.yaml", "--facts", "cluster"),
        *("-o", "json"),
    )

    first, second = ran.documents
    assert (first["hook"], second["hook"]) == ("mutate", "validate")
    assert "patch" in first["response"]
    assert second["response"] == {"uid": first["response"]["uid"], "allowed": True}


BY_NAME = """\
apiVersion: evenspread.io/v1alpha1
kind: SpreadConfiguration
profiles:
- name: named
  match: {namespaceSelector: {matchLabels: {LABEL}}}
  defaultConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: ScheduleAnyway}]
"""


@pytest.mark.parametrize(
    ("label", "sentence", "notes"),
    [
        ("kubernetes.io/metadata.name: shop", "patched by profile named", 0),
        ("tier: prod", "no profile matches it\n", 1),
        ("kubernetes.io/metadata.name: other", "no profile matches it\n", 0),
    ],
)
def test_the_name_of_a_namespace_is_a_known_label(
    folder: Path, run: Run, label: str, sentence: str, notes: int
) -> None:
    (folder / "config.yaml").write_text(BY_NAME.replace("LABEL", label))
    (folder / "pod.yaml").write_text(f"{files.POD}---\n{files.SERVICE}")

    ran = run("review", "-f", "pod.yaml", "--config", "config.yaml")

    assert sentence in ran.out
    assert ran.err.count("its Namespace is not among the facts") == notes


def test_a_workload_is_shown_with_the_pod_that_it_gets(web: Path, run: Run) -> None:
    (web / "web.yaml").write_text(files.DEPLOYMENT_WITHOUT_CONSTRAINTS)

    ran = run("review", "-f", "web.yaml", "--config", "config.yaml", "--facts", "cluster")

    lines = ran.out.splitlines()
    assert lines[:2] == [
        "web.yaml:1: Deployment shop/web: allowed as it is",
        "web.yaml:6: pod of Deployment shop/web: patched by profile cluster",
    ]
    assert added(lines[2:])[1:] == [*ADDED, "+        pod-template-hash: hash"]
    assert '"selectorFrom":["Service/web","ReplicaSet/web-hash"]' in ran.out
    assert lines[-1] == "2 answers: 1 patched, 1 allowed as they are, 0 denied"


def test_documents_of_a_created_pod_contain_it(web: Path, run: Run) -> None:
    (web / "web.yaml").write_text(files.DEPLOYMENT_WITHOUT_CONSTRAINTS)

    ran = run("review", "-f", "web.yaml", "--config", "config.yaml", "-o", "json")

    answers = ran.documents
    assert [(answer["hook"], answer.get("createdBy", "")) for answer in answers] == [
        ("mutate", ""),
        ("validate", ""),
        ("mutate", "Deployment shop/web"),
        ("validate", "Deployment shop/web"),
    ]
    sent, patched = answers[2]["object"], answers[3]["object"]
    assert sent["metadata"]["labels"] == {"app": "web", "pod-template-hash": "hash"}
    assert patched == jsonpatch.apply_patch(sent, answers[2]["response"]["patch"])


def test_a_denied_workload_gets_no_pods(folder: Path, run: Run) -> None:
    (folder / "web.yaml").write_text(files.DEPLOYMENT)

    ran = run("review", "-f", "web.yaml", "-o", "json")

    assert [answer["response"]["allowed"] for answer in ran.documents] == [False]


def test_pods_of_a_dumped_revision_are_those_of_its_deployment(web: Path, run: Run) -> None:
    owner = "{apiVersion: apps/v1, kind: Deployment, name: web, controller: true}"
    replica_set = files.DEPLOYMENT_WITHOUT_CONSTRAINTS.replace(
        "kind: Deployment", "kind: ReplicaSet"
    )
    owned = replica_set.replace("name: web,", f"name: web-1, ownerReferences: [{owner}],", 1)
    (web / "all.yaml").write_text(f"{files.DEPLOYMENT_WITHOUT_CONSTRAINTS}---\n{owned}")
    (web / "alone.yaml").write_text(owned)

    all_of_them = run("review", "-f", "all.yaml")
    alone = run("review", "-f", "alone.yaml")

    assert all_of_them.out.count("pod of ") == 1
    assert alone.out.count("pod of ReplicaSet shop/web-1") == 1


def test_a_broken_selector_is_reported(web: Path, run: Run) -> None:
    broken = files.DEPLOYMENT_WITHOUT_CONSTRAINTS.replace("{app: web}}\n  t", "{app: 7}}\n  t")
    (web / "web.yaml").write_text(broken)

    ran = run("review", "-f", "web.yaml")

    assert ran.code == 3
    assert "spec.selector.matchLabels.app: " in ran.err


def test_a_scheduler_configuration_provides_the_defaults(web: Path, run: Run) -> None:
    (web / "scheduler.yaml").write_text(files.SCHEDULER)

    ran = run(
        *("review", "-f", "pod.yaml", "--scheduler-config", "scheduler.yaml"),
        *("--facts", "cluster", "-o", "json"),
    )

    (annotation,) = [
        operation["value"]["evenspread.io/defaults"]
        for operation in ran.documents[0]["response"]["patch"]
        if operation["path"] == "/metadata/annotations"
    ]
    assert json.loads(annotation)["profile"] == "default-scheduler"


def test_recommend_mode_warns(web: Path, run: Run) -> None:
    (web / "config.yaml").write_text(RECOMMEND)
    args = ("review", "-f", "pod.yaml", "--config", "config.yaml", "--facts", "cluster")

    ran = run(*args)

    assert (ran.code, run(*args, "--fail-on", "warn").code) == (0, 1)
    assert ran.out.splitlines()[1].startswith("    warning: evenspread would ")


def test_objects_without_a_pod_template_are_skipped(run: Run) -> None:
    ran = run("review", "-f", "-", stdin=files.SERVICE.encode())

    assert (ran.code, ran.out) == (0, "0 answers: 0 patched, 0 allowed as they are, 0 denied\n")


def test_unreadable_facts_are_reported_after_the_answers(web: Path, run: Run) -> None:
    (web / "cluster/broken.yaml").write_text("kind: [\n")

    ran = run("review", "-f", "pod.yaml", "--config", "config.yaml", "--facts", "cluster")

    assert ran.code == 3
    assert "patched by profile cluster" in ran.out
    assert ran.err.startswith("error: cluster/broken.yaml:")


@pytest.mark.usefixtures("web")
def test_two_configurations_are_an_error(run: Run) -> None:
    both = ("--config", "config.yaml", "--scheduler-config", "config.yaml")

    ran = run("review", "-f", "pod.yaml", *both)

    assert ran.code == 2
    assert ran.err.startswith("error: --scheduler-config: cannot be given together with --config")


@pytest.mark.usefixtures("web")
def test_services_are_read_from_the_live_cluster_too(run: Run, api: ApiServer) -> None:
    api.add(yaml.safe_load(files.SERVICE))

    ran = run(
        *("review", "-f", "pod.yaml", "--config", "config.yaml", "--hook", "mutate"),
        *("--live", "--kubeconfig", "kubeconfig"),
    )

    assert (ran.code, ran.err) == (0, "")
    assert "+        app: web" in ran.out


def test_labels_select_the_objects_to_review(web: Path, run: Run) -> None:
    (web / "two.yaml").write_text(f"{files.POD}---\n{files.POD.replace('app: web', 'app: db')}")

    ran = run("review", "two.yaml", "-l", "app=db", "--hook", "validate")

    assert ran.out.endswith("1 answer: 0 patched, 1 allowed as they are, 0 denied\n")


JOB_SET = """\
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {name: train, namespace: shop}
spec:
  replicatedJobs:
  - name: driver
    template: {spec: {template: {metadata: {labels: {app: web}}, spec: {containers: []}}}}
  - name: workers
    template:
      spec:
        template:
          metadata: {labels: {app: web}}
          spec:
            containers: []
            topologySpreadConstraints:
            - {maxSkew: 1, topologyKey: zone, labelSelector: {matchLabels: {app: web}}}
"""


def test_every_template_of_an_object_is_patched_and_has_a_pod(web: Path, run: Run) -> None:
    (web / "job.yaml").write_text(JOB_SET)

    ran = run("review", "-f", "job.yaml", "--config", "config.yaml", "--facts", "cluster")

    lines = ran.out.splitlines()
    assert lines[0] == "job.yaml:1: JobSet shop/train: patched"
    assert "+              whenUnsatisfiable: DoNotSchedule" in lines
    answers = [line for line in lines if "pod of JobSet" in line and line.startswith("job.yaml")]
    assert [answer.partition(": ")[2] for answer in answers] == [
        "pod of JobSet shop/train: patched by profile cluster",
        "pod of JobSet shop/train: allowed as it is, without defaults: it has its own constraints",
    ]


def test_a_denial_names_the_template(web: Path, run: Run) -> None:
    (web / "job.yaml").write_text(JOB_SET.replace("maxSkew: 1", "maxSkew: 0"))

    ran = run("review", "-f", "job.yaml")

    at = "spec.replicatedJobs[1].template.spec.template.spec.topologySpreadConstraints[0].maxSkew"
    assert (ran.code, f"job.yaml:16: JobSet shop/train: denied: {at}: " in ran.out) == (1, True)


@pytest.mark.usefixtures("web")
def test_a_pod_without_a_namespace_is_in_the_given_one(run: Run, folder: Path) -> None:
    """So the Service of that namespace selects it."""
    (folder / "pod.yaml").write_text(files.POD.replace("  namespace: shop\n", ""))
    options = ("--config", "config.yaml", "--facts", "cluster", "--hook", "mutate")

    ran = run("review", "pod.yaml", "-n", "shop", *options)

    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith("pod.yaml:1: Pod shop/web-1: patched by profile cluster\n")
    assert "+        app: web" in ran.out


@pytest.mark.usefixtures("web")
def test_only_objects_of_the_namespace_are_reviewed(run: Run, folder: Path) -> None:
    other = files.POD.replace("namespace: shop", "namespace: ops")
    (folder / "pods.yaml").write_text(f"{files.POD}---\n{other}")

    ran = run("review", "pods.yaml", "-n", "ops", "--hook", "validate")
    absent = run("review", "pods.yaml", "-n", "opps")

    assert ran.out.endswith("1 answer: 0 patched, 1 allowed as they are, 0 denied\n")
    assert (absent.code, absent.out) == (2, "")
    assert "there is no namespace 'opps': did you mean ops?" in absent.err


def test_names_are_those_of_objects_with_a_patch_a_denial_or_a_warning(web: Path, run: Run) -> None:
    plain = files.POD.replace("web-1", "own") + files.VALID
    denied = files.POD.replace("web-1", "bad") + files.BROKEN
    (web / "all.yaml").write_text(f"{files.POD}---\n{plain}---\n{denied}---\n{REFERRED}")

    ran = run(
        *("review", "all.yaml", "--config", "config.yaml", "--facts", "cluster", "-o", "name")
    )

    assert ran.out.splitlines() == ["pod/web-1", "pod/bad", "deployment.apps/web"]


REFERRED = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  replicas: 0
  selector: {matchLabels: {app: web}}
  template: {metadata: {labels: {app: web}}, spec: {containers: []}}
"""
