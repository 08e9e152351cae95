import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.config.configs import HEAD, check_scheduler, errors_of, read
from webhook.config.documents import check
from webhook.config.validation import DocumentValidation, read_document
from webhook.errors import CombinedConfigError, ConfigError
from webhook.policy.catalogue import DEFAULT_ACTIONS

ERRORS = {
    "a duplicate key": (
        "mode: apply\nmode: apply",
        "4: duplicate key 'mode': remove one of the two",
    ),
    "a second document": ("---\na: 1", "4: is a second document: keep one in a file"),
    "invalid YAML": (
        "a: [",
        "3: invalid YAML: while parsing a flow node, did not find expected node content",
    ),
}


@pytest.mark.parametrize(("text", "message"), ERRORS.values(), ids=ERRORS.keys())
def test_a_text_that_is_no_single_document_is_refused(text: str, message: str) -> None:
    assert errors_of(HEAD + text) == [f"etc/spread.yaml:{message}"]


BAD_FILE = (
    'etc/bad.yaml:3: defaultingType: Unsupported value: "list": supported values: '
    '"System", "List"; write `defaultingType: List`, or leave out defaultConstraints'
)

FILE_ERRORS = {
    "an empty file": ("", ["etc/spread.yaml: is empty: write at least apiVersion and kind"]),
    "only a comment": ("# x", ["etc/spread.yaml: is empty: write at least apiVersion and kind"]),
    "a list": ("[1]", ["etc/spread.yaml: must be a mapping: write at least apiVersion and kind"]),
    "no apiVersion and no kind": (
        "mode: apply",
        [
            (
                "etc/spread.yaml:1: apiVersion: is missing: "
                "write it, as `apiVersion: evenspread.io/v1alpha1`"
            ),
            "etc/spread.yaml:1: kind: is missing: write it, as `kind: SpreadConfiguration`",
        ],
    ),
    "an unknown apiVersion": (
        "apiVersion: evenspread.io/v1\nkind: SpreadConfiguration",
        [
            (
                "etc/spread.yaml:1: apiVersion: cannot be 'evenspread.io/v1': "
                "did you mean evenspread.io/v1alpha1?"
            )
        ],
    ),
    "several errors, in the order of lines": (
        (
            f"{HEAD}caOverlap: x\nmode: x\nprofiles:\n- name: a\n  "
            f"schedulerConfiguration: bad.yaml\n"
            "- name: b\n  schedulerConfiguration: bad.yaml\nrules: {TSC001: off, TSC999: off}"
        ),
        [
            "etc/spread.yaml:3: caOverlap: must be a duration, not 'x': write it as `10m`",
            "etc/spread.yaml:4: mode: cannot be 'x': write apply or recommend",
            BAD_FILE,
            (
                "etc/spread.yaml:10: rules.TSC001: is a rule of the API, "
                "which kube-apiserver denies by as well: leave it out"
            ),
            (
                f"etc/spread.yaml:10: rules.TSC999: is no policy rule: write "
                f"{', '.join([*DEFAULT_ACTIONS][:-1])} or {[*DEFAULT_ACTIONS][-1]}"
            ),
        ],
    ),
    "errors in a file that two profiles name, reported once": (
        (
            f"{HEAD}profiles:\n- name: a\n  schedulerConfiguration: bad.yaml\n"
            "- name: b\n  schedulerConfiguration: bad.yaml"
        ),
        [
            BAD_FILE,
        ],
    ),
}


@pytest.mark.parametrize(("text", "messages"), FILE_ERRORS.values(), ids=FILE_ERRORS.keys())
def test_all_errors_of_a_file_are_reported_together(text: str, messages: list[str]) -> None:
    assert errors_of(text) == messages


def test_null_fields_are_absent() -> None:
    document = read_document("a: null\nb: [{c: null}, 1]\n", "x.yaml")

    assert document.value == {"b": [{}, 1]}


def test_an_error_of_another_file_has_the_line_of_the_value_that_names_it() -> None:
    validation = DocumentValidation(read_document("a: 1\nb: 2\n", "x.yaml"))
    validation.refuse("is 2", ("b",))
    validation.add_error(ConfigError("is bad", "y.yaml:9"), ("a",))

    with pytest.raises(CombinedConfigError) as raised:
        validation.finish()

    assert str(raised.value) == "y.yaml:9: is bad\nx.yaml:2: b: is 2"
    assert validation.where() == "x.yaml:1"


# fmt: off
KEYS = st.sampled_from(
    [
        "apiVersion", "kind", "mode", "profiles", "name", "match", "merge", "completeSelectors",
        "scaleDown", "scaleDownRepair", "gangs",
        "defaultConstraints", "exempt", "schedulerConfiguration", "namespaceSelector",
        "objectSelector", "matchLabels", "matchExpressions", "key", "operator", "values",
        "ownerKinds", "schedulerNames", "maxSkew", "topologyKey", "whenUnsatisfiable",
        "labelSelector", "minDomains", "nodeAffinityPolicy", "nodeTaintsPolicy", "matchLabelKeys",
        "rules", "TSC101", "TSC001", "action", "exemptible", "featureGates", "AllBeta",
        "podTemplates", "ownerSelectors", "group", "path", "selectorPath", "caOverlap",
        "namespaces", "pluginConfig", "args", "defaultingType"
    ]
)
WORDS = st.sampled_from(
    [
        "apply", "deny", "List", "System", "DoNotSchedule", "ScheduleAnyway", "Honor", "In",
        "Exists", "KeepSpread", "PodTopologySpread", "10m", "two.yaml", "bad.yaml", "args.yaml",
        "kubescheduler.config.k8s.io/v1beta1", "PodTopologySpreadArgs", "spec.template"
    ]
)
# fmt: on
SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text(max_size=9), WORDS
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.one_of(KEYS, st.text(max_size=3)), inner, max_size=5),
    ),
    max_leaves=20,
)
MEMBERS = st.dictionaries(KEYS, VALUES, max_size=6)
PROFILES = st.lists(MEMBERS, max_size=2)


def errors_in(text: str, *, scheduler: bool) -> str:
    """Return the message about a text; empty if it loads. Other exceptions fail the test."""
    try:
        if scheduler:
            check_scheduler(text)
        else:
            check(read_document(text, "x.yaml"), read)
    except CombinedConfigError as error:
        return str(error)
    return ""


@given(MEMBERS, st.one_of(VALUES, PROFILES), st.booleans())
def test_any_file_loads_or_its_errors_are_described(
    members: dict[str, Any], profiles: Any, scheduler: bool
) -> None:
    head = ("kubescheduler.config.k8s.io/v1", "KubeSchedulerConfiguration")
    ours = ("evenspread.io/v1alpha1", "SpreadConfiguration")
    api_version, kind = head if scheduler else ours
    value = members | {"apiVersion": api_version, "kind": kind, "profiles": profiles}

    message = errors_in(json.dumps(value), scheduler=scheduler)

    assert "Input should" not in message  # a message of pydantic
    assert all(line for line in message.splitlines())


@given(st.one_of(st.text(), VALUES.map(json.dumps)), st.booleans())
def test_any_text_loads_or_its_errors_are_described(text: str, scheduler: bool) -> None:
    assert "Input should" not in errors_in(text, scheduler=scheduler)
