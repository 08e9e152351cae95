import pytest

from webhook.cli.inputs.whatif import parse_edits, whatif_options
from webhook.errors import ConfigError
from webhook.policy.explain.nodeedits import AddNodes, Cordon, RemoveNodes

ZONE = "topology.kubernetes.io/zone"

EDITS = {
    "no edits": ((), (), (), ()),
    "a zone is lost": (("zone=us-1c",), (), (), (RemoveNodes(ZONE, "us-1c"),)),
    "a node is cordoned": ((), ("n1",), (), (Cordon("n1"),)),
    "a node is added": ((), (), ("zone=us-1d",), (AddNodes({ZONE: "us-1d"}, 1),)),
    "nodes with two labels are added": (
        (),
        (),
        ("zone=us-1d,disk=ssd:3",),
        (AddNodes({ZONE: "us-1d", "disk": "ssd"}, 3),),
    ),
}


@pytest.mark.parametrize(("without", "cordon", "add", "edits"), EDITS.values(), ids=EDITS.keys())
def test_options_become_edits(
    without: tuple[str, ...], cordon: tuple[str, ...], add: tuple[str, ...], edits: tuple[object]
) -> None:
    assert parse_edits(without, cordon, add) == edits


INVALID = {
    "a label without a value": (("zone",), (), "'zone' is not a label"),
    "a label with an invalid key": (("-=a",), (), "is not a label"),
    "no labels": ((), (":3",), "is not an addition"),
    "no nodes": ((), ("zone=a:0",), "a number up to 1000"),
    "too many nodes": ((), ("zone=a:1001",), "a number up to 1000"),
}


@pytest.mark.parametrize(("without", "add", "message"), INVALID.values(), ids=INVALID.keys())
def test_invalid_values_are_errors(
    without: tuple[str, ...], add: tuple[str, ...], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        parse_edits(without, (), add)


def test_every_option_has_a_help_text() -> None:
    assert all(option.help for option in whatif_options())
