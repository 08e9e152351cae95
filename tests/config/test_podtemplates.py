import pytest

from tests.config.configs import HEAD, check, errors_of
from webhook.config.podtemplates import collect_templates, parse_pattern
from webhook.policy.kinds import BUILT_IN_TEMPLATES, SHIPPED_TEMPLATES
from webhook.policy.model import GroupKind
from webhook.policy.places import ENTRIES, TemplatePatterns

KIND = GroupKind("g", "K")
NAMES = "must be names of members with dots between them, as in `spec.template`"

TEMPLATE_PATHS = {
    "": NAMES,
    "spec..template": NAMES,
    "$.spec.template": NAMES,
    "{.spec.template}": NAMES,
    "spec.jobs[0].template": ("names one entry of a list: did you mean 'spec.jobs[*].template'?"),
    "spec.jobs[].template": "names one entry of a list: did you mean 'spec.jobs[*].template'?",
    "spec.jobs.*.template": (
        "write [*] after the name of a list for all entries, as in `spec.jobs[*].template`"
    ),
    "Spec.template": "begins with 'Spec': did you mean 'spec.template'?",
    "sepc.template": "begins with 'sepc': did you mean 'spec.template'?",
    "status.template": ("cannot begin with status, which holds no pod template: begin with `spec`"),
    "spec": "is no pod template: write the path of one, as in `spec.template`",
    "spec.template.spec": (
        "is the specification in a pod template, not the template: did you mean 'spec.template'?"
    ),
    "spec.template.spec.topologySpreadConstraints": (
        "is the list in a pod template, not the template: did you mean 'spec.template'?"
    ),
    "spec.topologySpreadConstraints": (
        "is a bare list of constraints: move the entry to `constraintLists`"
    ),
}

LIST_PATHS = {
    "spec": (
        "must end in topologySpreadConstraints: did you mean 'spec.topologySpreadConstraints'?"
    ),
    "spec.topologySpreadConstraint": (
        "is no list of constraints: did you mean 'spec.topologySpreadConstraints'?"
    ),
    "spec.template.spec.topologySpreadConstraints": (
        "is in a pod template: write 'spec.template' under `podTemplates`"
    ),
    "spec.topologySpreadConstraints[0]": (
        "names one entry of a list: did you mean 'spec.topologySpreadConstraints[*]'?"
    ),
}


@pytest.mark.parametrize(("path", "problem"), TEMPLATE_PATHS.items(), ids=TEMPLATE_PATHS.keys())
def test_a_path_that_leads_to_no_pod_template_is_refused(path: str, problem: str) -> None:
    text = f"podTemplates: [{{group: g, kind: K, path: '{path}'}}]"

    assert errors_of(HEAD + text) == [f"etc/spread.yaml:3: podTemplates[0].path: {problem}"]


@pytest.mark.parametrize(("path", "problem"), LIST_PATHS.items(), ids=LIST_PATHS.keys())
def test_a_path_that_leads_to_no_bare_list_is_refused(path: str, problem: str) -> None:
    text = f"constraintLists: [{{group: g, kind: K, path: '{path}'}}]"

    assert errors_of(HEAD + text) == [f"etc/spread.yaml:3: constraintLists[0].path: {problem}"]


REPEATED = {
    "a built-in kind": (
        "podTemplates: [{group: apps, kind: Deployment, path: spec.template}]",
        "3: podTemplates[0].kind: Deployment.apps is built in: remove the entry",
    ),
    "a place that occurs twice": (
        ("podTemplates:\n- {group: g, kind: K, path: spec.a}\n- {group: g, kind: K, path: spec.a}"),
        "5: podTemplates[1].path: K.g has this path twice: remove one of the two",
    ),
}


@pytest.mark.parametrize(("text", "message"), REPEATED.values(), ids=REPEATED.keys())
def test_a_place_that_cannot_be_configured_is_refused(text: str, message: str) -> None:
    assert errors_of(HEAD + text) == [f"etc/spread.yaml:{message}"]


def test_a_path_with_lists_is_parsed() -> None:
    assert parse_pattern("spec.a[*].b[*][*]") == (
        *("spec", "a", ENTRIES, "b"), ENTRIES, ENTRIES,
    )  # fmt: skip


def test_a_configured_kind_stands_beside_the_shipped_ones() -> None:
    configuration = check("podTemplates: [{group: g, kind: K, path: spec.pod}]")

    assert configuration.pod_templates == {**collect_templates(()), KIND: ("spec", "pod")}


def test_a_kind_may_have_several_places() -> None:
    configuration = check(
        "podTemplates:\n- {group: g, kind: K, path: spec.head.template}\n"
        "- {group: g, kind: K, path: 'spec.workers[*].template'}\n"
        "constraintLists:\n- {group: g, kind: K, path: spec.topologySpreadConstraints}"
    )

    assert configuration.pod_templates[KIND] == TemplatePatterns(
        (
            ("spec", "head", "template"),
            ("spec", "workers", ENTRIES, "template"),
            ("spec", "topologySpreadConstraints"),
        )
    )


def test_a_single_path_with_a_list_is_a_pattern() -> None:
    configuration = check("podTemplates: [{group: g, kind: K, path: 'spec.jobs[*].template'}]")

    expected = TemplatePatterns((("spec", "jobs", ENTRIES, "template"),))
    assert configuration.pod_templates[KIND] == expected


def test_a_configured_kind_replaces_a_shipped_one() -> None:
    shipped = next(iter(SHIPPED_TEMPLATES))

    configuration = check(
        f"podTemplates: [{{group: {shipped.group}, kind: {shipped.kind}, path: spec.b}}]"
    )

    assert configuration.pod_templates[shipped] == ("spec", "b")


def test_without_configuration_the_built_in_and_the_shipped_kinds_are_known() -> None:
    assert collect_templates(()) == {**BUILT_IN_TEMPLATES, **SHIPPED_TEMPLATES}
