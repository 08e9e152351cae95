from pathlib import Path

import pytest

from tests.build import default, policy, profile
from webhook.cli.inputs.policy import RequestedPolicy, read_policy
from webhook.cli.terminal import Terminal
from webhook.cli.views.configuration import ExamplePod, as_document, show
from webhook.config.summary import example

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
def configured(folder: Path) -> RequestedPolicy:
    """The configuration of TEXT."""
    (folder / "config.yaml").write_text(TEXT)
    return request("config.yaml")


def defaulted() -> ExamplePod:
    """A pod with one default constraint."""
    rules = policy(profile(name="zones", constraints=(default(topology_key="rack"),)))
    return ExamplePod("Pod shop/web", example(rules))


def test_the_document_has_every_setting_and_its_source(configured: RequestedPolicy) -> None:
    document = as_document(configured, ["label the nodes"], defaulted())

    assert (document["files"], document["mode"]) == (["config.yaml"], "apply")
    assert [(row["name"], row["completeSelectors"]) for row in document["profiles"]] == [
        ("zones", True)
    ]
    assert document["gates"][0].keys() == {"name", "stage", "on", "source", "guards"}
    assert document["advice"] == ["label the nodes"]
    assert (document["example"]["profile"], document["example"]["reason"]) == ("zones", "")
    assert document["example"]["constraints"][0]["topologyKey"] == "rack"


def test_profiles_advice_and_defaults_are_text(
    configured: RequestedPolicy, capsys: pytest.CaptureFixture[str]
) -> None:
    show(configured, ["label the nodes"], defaulted(), Terminal())

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


def test_without_profiles_the_reason_is_given(capsys: pytest.CaptureFixture[str]) -> None:
    requested = request(kube_version="1.24")

    show(requested, [], ExamplePod("a pod", example(requested.policy)), Terminal())

    out = capsys.readouterr().out
    assert out.startswith(
        "configuration: no file, so the defaults; mode apply\nno profiles: no pod gets defaults\n"
    )
    cells = [line.split() for line in out.splitlines()]
    assert ["MatchLabelKeysInPodTopologySpread", "not", "yet", "off"] in [row[:4] for row in cells]
    assert out.endswith("defaults of a pod: none, since no profile matches it\n")
