from tests.cli.inputs.targetcases import NOW, WEB, build
from webhook.cli.inputs.placementtargets import TargetOptions
from webhook.explain.caveats import ALWAYS_IGNORED


def test_a_question_changes_nothing_unless_it_says_so() -> None:
    options = TargetOptions(now=NOW)

    assert (options.rolls_out, options.simulates, options.scale) == (False, False, None)


def test_every_target_says_what_placement_always_ignores() -> None:
    caveats = build("deploy/web", WEB).caveats

    assert caveats[: len(ALWAYS_IGNORED)] == ALWAYS_IGNORED
