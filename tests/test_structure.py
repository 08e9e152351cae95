import pytest

from tests import structure


@pytest.mark.parametrize(
    ("module", "part"),
    [
        ("webhook.policy.api.rules", "webhook.policy"),
        ("webhook.errors", "webhook.errors"),
        ("webhook", "webhook"),
        ("certs.plan", "certs"),
    ],
)
def test_a_module_belongs_to_a_part(module: str, part: str) -> None:
    assert structure.part_of(module) == part


def test_arrows_to_a_higher_layer_are_found() -> None:
    order = [frozenset({"webhook.cli"}), frozenset({"webhook.policy", "webhook.config"})]
    down, up = ("webhook.cli", "webhook.policy"), ("webhook.policy", "webhook.cli")

    assert structure.upward(frozenset({down, up}), order) == [up]


def test_circles_are_found() -> None:
    arrows = frozenset({("a", "b"), ("b", "c"), ("c", "a"), ("c", "d")})

    assert structure.circles(arrows) == ["a -> b -> c -> a", "b -> c -> a -> b", "c -> a -> b -> c"]
    assert structure.circles(arrows - {("c", "a")}) == []


def test_every_part_has_its_layer() -> None:
    placed = frozenset[str]().union(*structure.layers())

    assert placed >= structure.measure().lines.keys() - {"certs"}
