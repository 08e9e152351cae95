"""Notes about RuntimeClasses that do not show the nodes of pods."""

import pytest

from tests.audit.test_runtimeclasses import AGENT, CONTRADICTING, COPIED, FOUR, KATA, SECURE
from tests.audit.world import gather, inventory
from webhook.cli.inputs.unknownclasses import note_unknown_classes

OTHER = SECURE.replace("name: secure", "name: other").replace("namespace: shop", "namespace: ops")
UNJUDGED = "no rule judges the nodes that these pods can go to"
ONE = f"note: RuntimeClass kata of Deployment shop/secure is unknown; {UNJUDGED}"
REFUSED = ONE.replace("is unknown", "contradicts nodeSelector: kube-apiserver refuses the pods")
MISLED = (
    "note: RuntimeClass kata of DaemonSet shop/secure is not known to the controller of a "
    "DaemonSet, which chooses nodes by the template: write its nodeSelector and tolerations into "
    f"the template; {UNJUDGED}"
)

# objects and the audited namespace -> the notes
NOTES: dict[str, tuple[str, str, list[str]]] = {
    "a class that is known": (FOUR + KATA + SECURE, "", []),
    "no class": (FOUR + SECURE.replace("runtimeClassName: kata", ""), "", []),
    "an unknown class": (FOUR + SECURE, "", [ONE]),
    "two workloads": (
        FOUR + SECURE + OTHER, "",
        [ONE.replace("Deployment shop", "Deployment ops/other, Deployment shop")],
    ),
    "one namespace": (FOUR + SECURE + OTHER, "shop", [ONE]),
    "another namespace": (FOUR + SECURE, "ops", []),
    "no nodes": (SECURE, "", []),
    "a DaemonSet": (FOUR + KATA + AGENT, "", [MISLED]),
    "a DaemonSet that has all of its class": (FOUR + KATA + COPIED, "", []),
    "a contradiction": (
        FOUR + KATA + CONTRADICTING, "",
        [REFUSED],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("text", "namespace", "notes"), NOTES.values(), ids=NOTES.keys())
def test_an_unknown_class_is_noted(text: str, namespace: str, notes: list[str]) -> None:
    found = inventory(gather(text).snapshot)

    assert list(note_unknown_classes(found, namespace)) == notes
