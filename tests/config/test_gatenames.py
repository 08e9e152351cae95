from webhook.config.gatenames import GATE_NAMES, describe_unknown_gate


def test_an_unknown_gate_is_described_with_the_known_ones() -> None:
    assert describe_unknown_gate("AllBetas") == "is no feature gate: did you mean AllBeta?"
    assert describe_unknown_gate("X").endswith(f"{GATE_NAMES[-2]} or {GATE_NAMES[-1]}")
