import click
import pytest

from webhook.cli.ruleoptions import explain_rule, explain_rules, parse_rules, rules_options
from webhook.errors import ConfigError
from webhook.policy.catalogue import CATALOGUE


def parse(*arguments: str) -> dict[str, frozenset[str]]:
    command = click.Command("test", params=list(rules_options("Rules.")))
    return command.make_context("test", list(arguments)).params


def test_without_options_all_rules_apply() -> None:
    assert parse() == {"rules": frozenset(), "exclude_rules": frozenset()}


def test_rules_are_named_by_id_and_pattern() -> None:
    assert parse("--rules", "tsc001, TSC11?,")["rules"] > {"TSC001", "TSC110", "TSC112"}
    assert parse("--exclude-rules", "TSC00*")["exclude_rules"] > {"TSC001"}


@pytest.mark.parametrize("flag", ["--rules", "--exclude-rules"])
def test_an_unknown_rule_is_an_error(flag: str) -> None:
    with pytest.raises(ConfigError, match=r"^--.*rules: 'TSC999' is not a rule: use some of "):
        parse(flag, "TSC001,TSC999")


def test_rules_are_explained_in_the_order_of_the_catalogue() -> None:
    first, second = explain_rules("TSC111,tsc001", "--explain").split("\n\n")

    assert first == explain_rule(CATALOGUE["TSC001"])
    assert second.startswith("TSC111: ")


def test_rules_that_are_written_as_ids_are_distinct_from_those_of_patterns() -> None:
    found = parse_rules("tsc104,TSC11*", "--rules")

    assert found > {"TSC104", "TSC112"}
    assert found.by_id == {"TSC104"}


def test_a_list_may_have_empty_parts() -> None:
    assert set(parse_rules(", ,TSC001,", "--rules")) == {"TSC001"}
