import pytest
from hypothesis import given
from hypothesis import strategies as st

from webhook.errors import VersionError
from webhook.policy.api.versions import (
    NEWEST_VERSION,
    OLDEST_VERSION,
    Version,
    VersionRange,
    limit_to_known,
    parse_version,
    parse_version_range,
)

VERSIONS = {
    "two numbers": ("1.33", Version(1, 33)),
    "a release": ("v1.33.5", Version(1, 33)),
    "a vendor's release": ("v1.33.5-eks-113cf36", Version(1, 33)),
    "a vendor's build": ("v1.31.2+k3s1", Version(1, 31)),
    "a minor version with a plus": ("1.24+", Version(1, 24)),
    "a pre-release": ("1.37-alpha.1", Version(1, 37)),
    "space around it": (" 1.33\n", Version(1, 33)),
    "the first release with constraints": ("1.16", OLDEST_VERSION),
    "a version yet to come": ("2.0", Version(2, 0)),
}


@pytest.mark.parametrize(("text", "version"), VERSIONS.values(), ids=VERSIONS.keys())
def test_a_version_is_read_as_people_and_servers_write_it(text: str, version: Version) -> None:
    assert parse_version(text) == version


NO_VERSIONS = {
    "an empty text": "",
    "one number": "1",
    "a word": "latest",
    "a release before constraints": "1.15",
    "a number of more than four digits": "1.12345",
    "digits that are not ASCII": "1.३३",
    "letters after the number": "1.33a",
}


@pytest.mark.parametrize("text", NO_VERSIONS.values(), ids=NO_VERSIONS.keys())
def test_what_is_no_version_is_refused(text: str) -> None:
    with pytest.raises(VersionError) as raised:
        parse_version(text)

    assert raised.value.text == text
    assert (
        str(raised.value) == f"{text!r} is no Kubernetes version: write 1.16 or later, as in 1.33"
    )


@given(st.builds(Version, st.just(1), st.integers(16, 9999)))
def test_a_written_version_is_read_as_itself(version: Version) -> None:
    assert parse_version(str(version)) == version


V24, V36 = Version(1, 24), Version(1, 36)

SPANS = {
    "one version": ("1.24", VersionRange(V24, V24), "1.24", 1),
    "a range": ("1.24..1.36", VersionRange(V24, V36), "1.24..1.36", 13),
    "a range of releases": ("v1.24.3-gke.1 .. v1.36.0", VersionRange(V24, V36), "1.24..1.36", 13),
    "a range of one": ("1.24..1.24", VersionRange(V24, V24), "1.24", 1),
    "a range into the future": ("1.36..1.99", VersionRange(V36, Version(1, 99)), "1.36..1.99", 2),
    "a range in the future": (
        "1.98..2.1",
        VersionRange(Version(1, 98), Version(2, 1)),
        "1.98..2.1",
        1,
    ),
}


@pytest.mark.parametrize(("text", "span", "written", "judged"), SPANS.values(), ids=SPANS.keys())
def test_versions_are_named_alone_or_from_first_to_last(
    text: str, span: VersionRange, written: str, judged: int
) -> None:
    assert parse_version_range(text) == span
    assert str(span) == written
    assert len(span.versions) == judged


NO_SPANS = {
    "an empty text": "",
    "no last version": "1.24..",
    "no first version": "..1.36",
    "three versions": "1.24..1.30..1.36",
    "the last before the first": "1.36..1.24",
    "a first before constraints": "1.15..1.24",
    "a dash": "1.24-1.36..",
}


@pytest.mark.parametrize("text", NO_SPANS.values(), ids=NO_SPANS.keys())
def test_what_names_no_versions_is_refused(text: str) -> None:
    with pytest.raises(VersionError):
        parse_version_range(text)


def test_a_span_the_wrong_way_round_is_turned() -> None:
    with pytest.raises(VersionError, match=r"ends before it begins: write 1\.24\.\.1\.36"):
        parse_version_range("1.36..1.24")


@given(st.integers(16, 99), st.integers(16, 99))
def test_a_span_is_judged_version_by_version(one: int, other: int) -> None:
    span = parse_version_range(f"1.{min(one, other)}..1.{max(one, other)}")

    versions = span.versions
    assert (versions[0], versions[-1]) == (limit_to_known(span.first), limit_to_known(span.last))
    assert list(versions) == sorted(set(versions))
    assert all(OLDEST_VERSION <= version <= NEWEST_VERSION for version in versions)


def test_what_is_newer_than_known_is_judged_as_the_newest() -> None:
    assert limit_to_known(Version(2, 0)) == NEWEST_VERSION
    assert limit_to_known(V24) == V24
