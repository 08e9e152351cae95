"""An installation gives its objects, and raises for those that could not be read."""

import pytest

from tests.doctor.installations import (
    build_installation,
    build_policy,
    configuration,
    deployment,
    hooks,
    replica,
    serving_with,
)
from webhook.doctor.installation import Lookup, NotReadableError, read_profiles
from webhook.policy.request import Hook


def test_a_lookup_without_problem_has_its_value() -> None:
    assert Lookup(1).value == 1
    assert Lookup[int]().value is None
    assert Lookup(1).or_none == 1


def test_a_lookup_with_a_problem_raises_it() -> None:
    unknown = Lookup[int](problem="needs a right")

    assert unknown.or_none is None
    with pytest.raises(NotReadableError, match="needs a right"):
        _ = unknown.value


def test_the_webhook_is_ours() -> None:
    webhook = build_installation().webhook(Hook.MUTATE)

    assert webhook is not None
    assert webhook.name == "mutate.evenspread.io"
    missing = build_installation(configurations={**hooks(), Hook.MUTATE: Lookup()})
    assert missing.webhook(Hook.MUTATE) is None


@pytest.mark.parametrize(("tls", "mode"), [("auto", "self"), ("files", "files")])
def test_the_mode_is_that_of_the_settings(tls: str, mode: str) -> None:
    assert build_installation(deployment=deployment(serving_with(f"--tls={tls}"))).mode == mode


@pytest.mark.parametrize(
    ("name", "target"),
    [("evenspread-1", "evenspread-1"), ("127.0.0.1:8080", "deployment/evenspread")],
)
def test_the_log_of_a_replica_known_by_address_is_that_of_the_deployment(
    name: str, target: str
) -> None:
    command = build_installation().log_command(replica(name=name))

    assert command == f"kubectl -n evenspread logs {target}"


def test_only_registered_webhooks_are_listed() -> None:
    installation = build_installation(configurations={**hooks(), Hook.MUTATE: Lookup()})

    assert [(hook, webhook.name) for hook, webhook in installation.webhooks()] == [
        (Hook.VALIDATE, "validate.evenspread.io")
    ]


def test_a_configuration_is_read_if_it_exists() -> None:
    assert build_installation().valid_configuration is not None
    assert build_installation(configuration=Lookup()).valid_configuration is None
    with pytest.raises(NotReadableError, match="needs a right"):
        _ = build_installation(configuration=Lookup(problem="needs a right")).valid_configuration


POLICIES = (build_policy("a"), build_policy("b", order="x"))
CONFIGURED = configuration(
    "apiVersion: evenspread.io/v1alpha1\nkind: SpreadConfiguration\n"
    "profiles: [{name: web, defaultConstraints: []}]\n"
)


def test_policies_that_cannot_be_read_have_no_profile() -> None:
    assert [profile.name for profile in read_profiles(POLICIES)] == ["a"]


@pytest.mark.parametrize(
    ("source", "names"), [("both", ["web", "a"]), ("resource", ["a"]), ("file", ["web"])]
)
def test_profiles_come_from_the_sources_of_the_setting(source: str, names: list[str]) -> None:
    merged = build_installation(
        configuration=CONFIGURED,
        policies=Lookup(POLICIES),
        deployment=deployment(serving_with(f"--policies={source}")),
    ).merged_profiles

    assert merged is not None
    assert [profile.name for profile in merged.profiles] == names


def test_without_a_configuration_there_are_no_profiles() -> None:
    assert build_installation(configuration=Lookup()).merged_profiles is None
