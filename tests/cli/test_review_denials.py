"""Objects that the webhook or kube-apiserver denies, or warns of, in ``evenspread review``."""

from pathlib import Path

from tests.audit import world
from tests.cli import files
from tests.cli.conftest import Run


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


MISSPELT = files.POD + files.VALID + "    minDomain: 3\n"


def test_fields_that_the_api_server_drops_are_warned_of(folder: Path, run: Run) -> None:
    (folder / "pod.yaml").write_text(MISSPELT)

    ran = run("review", "-f", "pod.yaml")

    assert ran.code == 0
    assert "pod.yaml:15: Pod shop/web-1: warning: unknown field" in ran.out
    assert run("review", "-f", "pod.yaml", "--fail-on", "warn").code == 1
    dropped = run("review", "-f", "pod.yaml", "-o", "json").documents[0]
    assert dropped["response"]["allowed"]
    assert "minDomain" in dropped["response"]["warnings"][0]


def test_a_misspelt_field_of_a_denied_object_is_shown_once(folder: Path, run: Run) -> None:
    wrong_type = MISSPELT.replace("maxSkew: 1", 'maxSkew: "1"')
    (folder / "pod.yaml").write_text(wrong_type)

    ran = run("review", "-f", "pod.yaml")

    assert ran.code == 1
    assert ran.out.count("warning: unknown field") == 1
    assert ran.out.count("denied: spec.topologySpreadConstraints[0].maxSkew") == 1


def test_strict_refuses_unknown_fields_before_the_webhook(folder: Path, run: Run) -> None:
    (folder / "pod.yaml").write_text(MISSPELT)

    ran = run("review", "-f", "pod.yaml", "--strict", "-o", "json")

    (refusal,) = ran.documents
    assert ran.code == 1
    assert refusal["response"]["status"]["code"] == 400


def test_the_webhook_itself_warns_of_custom_kinds(folder: Path, run: Run) -> None:
    rollout = world.DEPLOYMENT.replace("apps/v1", "argoproj.io/v1alpha1")
    rollout = rollout.replace("Deployment", "Rollout").replace("maxSkew: 1", "maxskew: 1")
    (folder / "rollout.yaml").write_text(rollout.replace("maxskew: 1", "maxSkew: 1\n        a: 1"))

    ran = run("review", "-f", "rollout.yaml", "--hook", "validate", "-o", "json")

    assert [d["response"]["warnings"][0][:6] for d in ran.documents[:1]] == ["TSC011"]


def test_the_copy_of_a_stored_pod_is_denied_only_if_it_is_created_again(
    folder: Path, run: Run
) -> None:
    (folder / "pod.yaml").write_text(world.STORED_POD)

    ran = run("review", "-f", "pod.yaml")

    assert ran.code == 1
    assert ran.out.splitlines()[2] == (
        "    instead: to create the pod again, remove the expression of app from labelSelector: "
        "kube-apiserver has added it for matchLabelKeys[0]"
    )
