"""A RuntimeClass adds node labels and tolerations to what its pods require of a node."""

import pytest

from webhook.policy.placement.nodes import Demands, Toleration
from webhook.policy.placement.runtimeclasses import RuntimeClass

KATA_TAINT = Toleration("kata", "Exists")
KATA = RuntimeClass(name="kata", node_selector={"pool": "kata"}, tolerations=(KATA_TAINT,))
GPU_TAINT = Toleration("gpu", "Exists")

# what a template requires -> what its pods require
ADDED: dict[str, tuple[Demands, Demands]] = {
    "nothing": (Demands(), Demands((("pool", "kata"),), None, (KATA_TAINT,))),
    "others": (
        Demands((("disk", "ssd"),), (), (GPU_TAINT,)),
        Demands((("disk", "ssd"), ("pool", "kata")), (), (GPU_TAINT, KATA_TAINT)),
    ),
    "the same": (
        Demands((("pool", "kata"),), None, (KATA_TAINT,)),
        Demands((("pool", "kata"),), None, (KATA_TAINT,)),
    ),
    "no taints": (Demands(tolerations=None), Demands((("pool", "kata"),), None, None)),
}


@pytest.mark.parametrize(("written", "required"), ADDED.values(), ids=ADDED.keys())
def test_the_nodes_of_a_class_are_required(written: Demands, required: Demands) -> None:
    assert KATA.add_to(written) == required


def test_a_class_without_nodes_adds_nothing() -> None:
    plain, written = RuntimeClass(name="plain"), Demands((("disk", "ssd"),), None, (GPU_TAINT,))

    assert plain.add_to(written) == written
    assert plain.namespace == ""


def test_a_pod_that_contradicts_its_class_is_refused() -> None:
    assert KATA.refuses(Demands((("pool", "web"),)))
    assert not KATA.refuses(Demands((("disk", "ssd"), ("pool", "kata"))))
    assert not KATA.refuses(Demands())
