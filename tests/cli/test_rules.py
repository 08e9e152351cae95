import pytest
import yaml

from tests.cli.conftest import Run
from webhook.cli.rules import RULE_HEADINGS, WIDE_HEADINGS, describe_rule, format_markdown
from webhook.policy.catalogue import CATALOGUE, DEFAULT_ACTIONS


def test_the_table_lists_every_rule(run: Run) -> None:
    ran = run("rules")

    headings, *lines = ran.out.splitlines()
    assert (ran.code, headings.split()) == (0, " ".join(RULE_HEADINGS).split())
    assert [line.split()[0] for line in lines] == list(CATALOGUE)


def test_named_rules_are_explained(run: Run) -> None:
    one, several = run("rules", "tsc101"), run("rules", "TSC10[12]", "TSC001")

    assert one.out.startswith(f"TSC101: {CATALOGUE['TSC101'].title}\n  otherwise: ")
    assert one.out == run("validate", "--explain", "TSC101").out
    assert several.out.count("  instead: ") == 3


@pytest.mark.parametrize(
    ("rule", "cell", "described"),
    [
        ("TSC101", "admission, audit", "admission and audit"),
        ("TSC111", "admission, audit", "admission, by what drops the field, and audit"),
        ("TSC112", "audit", "audit"),
        ("TSC001", "", ""),
    ],
)
def test_where_a_rule_runs_is_shown(run: Run, rule: str, cell: str, described: str) -> None:
    lines = run("rules", rule).out.splitlines()
    row = run("rules", rule, "-o", "markdown").out.splitlines()[-1]

    assert row.split(" | ")[4] == cell
    assert run("rules", rule, "-o", "json").documents[0]["checkedBy"] == described
    assert [line for line in lines if "checked by" in line] == (
        [f"  checked by: {described}"] if described else []
    )


def test_json_has_a_document_for_each_rule(run: Run) -> None:
    documents = run("rules", "-o", "json").documents

    assert [document["id"] for document in documents] == list(CATALOGUE)
    assert {item["id"] for item in documents if item["configurable"]} == set(DEFAULT_ACTIONS)
    assert documents[0] == describe_rule(next(iter(CATALOGUE.values())))


def test_markdown_is_a_table(run: Run) -> None:
    ran = run("rules", "TSC001", "-o", "markdown")

    assert ran.out == format_markdown([CATALOGUE["TSC001"]]) + "\n"
    assert ran.out.splitlines()[1] == "| --- | --- | --- | --- | --- | --- |"


def test_yaml_has_the_content_of_json(run: Run) -> None:
    ran = run("rules", "TSC10*", "-o", "yaml")

    assert list(yaml.safe_load_all(ran.out)) == run("rules", "TSC10*", "-o", "json").documents


def test_names_are_ids(run: Run) -> None:
    assert run("rules", "TSC101", "tsc001", "-o", "name").out == "TSC001\nTSC101\n"


def test_the_wide_table_has_the_explanations(run: Run) -> None:
    headings, line = run("rules", "TSC101", "-o", "wide").out.splitlines()

    assert headings.split() == " ".join((*RULE_HEADINGS, *WIDE_HEADINGS)).split()
    assert line.split()[0] == "TSC101"
    assert CATALOGUE["TSC101"].effect in line
    assert line.endswith(CATALOGUE["TSC101"].fix)


def test_an_unknown_rule_is_an_error(run: Run) -> None:
    ran = run("rules", "TSC9*")

    assert ran.code == 2
    assert ran.err.startswith("error: RULE: 'TSC9*' matches no rule: use some of ")
