import json
from pathlib import Path
from typing import Any

import jsonpatch
import pytest
import yaml

from tests.cli import files
from tests.cli.conftest import Run

RECORDED = Path(__file__).parents[1] / "recorded"
EXAMPLES = Path(__file__).parents[2] / "examples"

RECOMMEND = files.CONFIG + "mode: recommend\n"


@pytest.fixture
def shop(folder: Path) -> Path:
    """A pod, its Service, and a configuration with one profile."""
    (folder / "pod.yaml").write_text(files.POD)
    (folder / "cluster").mkdir()
    (folder / "cluster/service.yaml").write_text(files.SERVICE)
    (folder / "config.yaml").write_text(files.CONFIG)
    return folder


@pytest.mark.usefixtures("shop")
def test_a_patch_is_shown_as_a_diff(run: Run) -> None:
    ran = run("review", "-f", "pod.yaml", "--config", "config.yaml", "--cluster", "cluster")

    assert (ran.code, ran.err) == (0, "")
    lines = ran.out.splitlines()
    assert lines[:3] == [
        "pod.yaml:1: Pod shop/web-1: patched by profile cluster",
        "--- Pod shop/web-1 as sent",
        "+++ Pod shop/web-1 as patched",
    ]
    assert [line for line in lines[3:] if line.startswith("+") and "defaults" not in line] == [
        "+  annotations:",
        "+  topologySpreadConstraints:",
        "+  - maxSkew: 1",
        "+    topologyKey: topology.kubernetes.io/zone",
        "+    whenUnsatisfiable: ScheduleAnyway",
        "+    labelSelector:",
        "+      matchLabels:",
        "+        app: web",
    ]
    assert lines[-1] == "1 answer: 1 patched, 0 allowed as they are, 0 denied"


@pytest.mark.parametrize("output", ["json", "yaml"])
@pytest.mark.usefixtures("shop")
def test_a_patch_is_decoded_in_documents(output: str, run: Run) -> None:
    ran = run(
        *("review", "-f", "pod.yaml", "--config", "config.yaml"),
        *("--cluster", "cluster", "-o", output),
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


@pytest.mark.usefixtures("shop")
def test_facts_come_from_the_files_themselves(run: Run) -> None:
    alone = run("review", "-f", "pod.yaml", "--config", "config.yaml")
    together = run("review", "-f", "pod.yaml", "-f", "cluster", "--config", "config.yaml")

    assert alone.out.startswith(
        "pod.yaml:1: Pod shop/web-1: allowed as it is, without defaults: "
        "no Service selects it and its owner is unknown\n"
    )
    assert together.out.startswith("pod.yaml:1: Pod shop/web-1: patched by profile cluster\n")


@pytest.mark.usefixtures("shop")
def test_the_validating_webhook_gets_the_patched_object(run: Run) -> None:
    ran = run(
        *("review", "-f", "pod.yaml", "--config", "config.yaml", "--cluster", "cluster"),
        *("--hook", "both", "-o", "json"),
    )

    first, second = ran.documents
    assert (first["hook"], second["hook"]) == ("mutate", "validate")
    assert "patch" in first["response"]
    assert second["response"] == {"uid": first["response"]["uid"], "allowed": True}


def test_a_scheduler_configuration_provides_the_defaults(shop: Path, run: Run) -> None:
    (shop / "scheduler.yaml").write_text(files.SCHEDULER)

    ran = run(
        *("review", "-f", "pod.yaml", "--scheduler-config", "scheduler.yaml"),
        *("--cluster", "cluster", "-o", "json"),
    )

    (annotation,) = [
        operation["value"]["evenspread.io/defaults"]
        for operation in ran.documents[0]["response"]["patch"]
        if operation["path"] == "/metadata/annotations"
    ]
    assert json.loads(annotation)["profile"] == "default-scheduler"


def test_a_denial_has_causes_and_fixes(folder: Path, run: Run) -> None:
    (folder / "web.yaml").write_text(files.DEPLOYMENT)

    ran = run("review", "-f", "web.yaml")
    (answer,) = run("review", "-f", "web.yaml", "--hook", "both", "-o", "json").documents

    assert (ran.code, ran.out.splitlines()) == (
        1,
        [
            "web.yaml:1: Deployment default/web: denied by mutate with 422",
            (
                "web.yaml:9: Deployment default/web: denied: "
                "spec.template.spec.topologySpreadConstraints[0].maxSkew: "
                "Invalid value: -1: must be greater than zero [TSC001]"
            ),
            (
                "    instead: write at least 1: how many more pods a domain may have than the "
                "emptiest domain, for example `maxSkew: 1`"
            ),
            "1 answer: 0 patched, 0 allowed as they are, 1 denied",
        ],
    )
    assert answer["response"]["status"]["code"] == 422
    assert answer["response"]["status"]["details"]["causes"][0]["reason"] == "FieldValueInvalid"


def test_a_type_error_is_denied_by_the_api_server_itself(folder: Path, run: Run) -> None:
    (folder / "pod.yaml").write_text(files.POD + files.TYPE_ERROR)

    ran = run("review", "-f", "pod.yaml")
    (answer,) = run("review", "-f", "pod.yaml", "-o", "json").documents

    assert ran.code == 1
    assert ran.out.startswith(
        "pod.yaml:12: Pod shop/web-1: denied: spec.topologySpreadConstraints[0].maxSkew: "
        "expected an integer, got a string\n"
    )
    assert (answer["response"]["allowed"], answer["response"]["status"]["code"]) == (False, 400)


def test_recommend_mode_warns(shop: Path, run: Run) -> None:
    (shop / "config.yaml").write_text(RECOMMEND)
    args = ("review", "-f", "pod.yaml", "--config", "config.yaml", "--cluster", "cluster")

    ran = run(*args)

    assert (ran.code, run(*args, "--fail-on", "warn").code) == (0, 1)
    assert ran.out.splitlines()[1].startswith("    warning: evenspread would ")


@pytest.mark.parametrize("path", sorted(RECORDED.glob("*.json")), ids=lambda path: str(path.stem))
def test_a_recorded_review_is_answered_by_its_webhook(path: Path, run: Run) -> None:
    request = json.loads(path.read_text())["review"]["request"]

    ran = run("review", "-f", str(path), "--cluster", str(EXAMPLES / "cluster"), "-o", "json")

    (answer,) = ran.documents
    assert (ran.code, answer["response"]) == (0, {"uid": request["uid"], "allowed": True})
    assert answer["hook"] == ("validate" if "validating" in path.name else "mutate")


def test_the_shipped_reviews_are_allowed(run: Run) -> None:
    ran = run(
        *("review", "-f", str(EXAMPLES / "reviews"), "--cluster", str(EXAMPLES / "cluster")),
        *("--config", str(EXAMPLES / "config/spread.yaml")),
    )

    assert ran.code == 0
    assert ran.out.endswith("3 answers: 1 patched, 2 allowed as they are, 0 denied\n")


# what stands in the file, message
BROKEN_REVIEWS = {
    "no request": ({"apiVersion": "admission.k8s.io/v1"}, "has no request"),
    "an old version": ({"apiVersion": "admission.k8s.io/v1beta1"}, "is not of admission.k8s.io/v1"),
    "no uid": (
        {"apiVersion": "admission.k8s.io/v1", "request": {"operation": "CREATE"}},
        "request.uid is missing",
    ),
}


@pytest.mark.parametrize(("members", "problem"), BROKEN_REVIEWS.values(), ids=BROKEN_REVIEWS.keys())
def test_an_invalid_review_is_an_error(members: dict[str, Any], problem: str, run: Run) -> None:
    review = json.dumps({**members, "kind": "AdmissionReview"})

    ran = run("review", "-f", "-", stdin=review.encode())

    assert ran.code == 3
    assert ran.err.startswith("error: stdin:1: the server would answer 400: ")
    assert problem in ran.err


def test_objects_without_a_pod_template_are_skipped(run: Run) -> None:
    ran = run("review", "-f", "-", stdin=files.SERVICE.encode())

    assert (ran.code, ran.out) == (0, "0 answers: 0 patched, 0 allowed as they are, 0 denied\n")


def test_unreadable_facts_are_reported_after_the_answers(shop: Path, run: Run) -> None:
    (shop / "cluster/broken.yaml").write_text("kind: [\n")

    ran = run("review", "-f", "pod.yaml", "--config", "config.yaml", "--cluster", "cluster")

    assert ran.code == 3
    assert "patched by profile cluster" in ran.out
    assert ran.err.startswith("error: cluster/broken.yaml:")


@pytest.mark.usefixtures("shop")
def test_two_configurations_are_an_error(run: Run) -> None:
    both = ("--config", "config.yaml", "--scheduler-config", "config.yaml")

    ran = run("review", "-f", "pod.yaml", *both)

    assert ran.code == 2
    assert ran.err.startswith("error: --scheduler-config: cannot be given together with --config")
