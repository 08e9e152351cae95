"""The sentence about the nodes of a DaemonSet."""

import pytest

from webhook.explain.daemonreport import DaemonReport, MissingPod, summarize_daemons

FITS = MissingPod("a", "", "not created", "")
LATE = MissingPod("b", "", "not created", "", "zone: skew 2 > maxSkew 1")
STUCK = MissingPod("c", "p", "Pending", "zone: skew 2 > maxSkew 1")


def report(
    *missing: MissingPod, replacing: tuple[MissingPod, ...] = (), unneeded: tuple[str, ...] = ()
) -> DaemonReport:
    return DaemonReport(3, 3 - len(missing), missing, unneeded, replacing)


SENTENCES: dict[str, tuple[DaemonReport, str]] = {
    "all": (report(), "3 of 3 nodes that need one"),
    "one can be placed": (
        report(FITS), "2 of 3 nodes that need one; 1 pod missing, which can be placed"
    ),
    "one cannot": (
        report(FITS, STUCK),
        "1 of 3 nodes that need one; 2 pods missing, 1 of which cannot be placed",
    ),
    "the only missing one cannot": (
        report(STUCK), "2 of 3 nodes that need one; 1 pod missing, which cannot be placed"
    ),
    "none can be placed": (
        report(STUCK, STUCK),
        "1 of 3 nodes that need one; 2 pods missing, none of which can be placed",
    ),
    "not all together": (
        report(FITS, LATE), "1 of 3 nodes that need one; 2 pods missing, 1 of which can be placed"
    ),
    "one on a node that needs none": (
        report(unneeded=("g",)), "3 of 3 nodes that need one; 1 unneeded pod"
    ),
    "a new pod that can be placed": (
        report(replacing=(FITS,)),
        "3 of 3 nodes that need one; 1 new pod beside old ones, which can be placed",
    ),
    "new pods that cannot all be placed": (
        report(replacing=(FITS, STUCK)),
        "3 of 3 nodes that need one; 2 new pods beside old ones, 1 of which cannot be placed",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("found", "sentence"), SENTENCES.values(), ids=SENTENCES.keys())
def test_the_summary_counts_nodes_and_pods(found: DaemonReport, sentence: str) -> None:
    assert summarize_daemons(found) == f"has its pod on {sentence}"


def test_pods_that_do_not_run_are_awaited() -> None:
    assert report(FITS, replacing=(STUCK,)).awaited == (FITS, STUCK)
    assert [one.is_placeable for one in (FITS, LATE, STUCK)] == [True, False, False]
