"""What an API server of a version makes of topologySpreadConstraints, in one sentence."""

from collections.abc import Iterator

from webhook.policy.api.gates import Gate, Gates, Stage


def abilities(gates: Gates) -> str:
    """
    Say which fields there are, and which form of matchLabelKeys.

    Args:
        gates: Of the API server; they carry its version.
    """
    return f"Kubernetes {gates.version} {'; '.join(_abilities(gates))}"


def _abilities(gates: Gates) -> Iterator[str]:
    if Gate.EVEN_PODS_SPREAD not in gates:
        yield f"drops topologySpreadConstraints, since {Gate.EVEN_PODS_SPREAD} is off"
        return
    unknown = [field for field, gate in gates.fields_off.items() if not _exists(gate, gates)]
    dropped = [field for field, gate in gates.fields_off.items() if _exists(gate, gates)]
    if unknown:
        yield f"does not know {', '.join(unknown)}"
    if dropped:
        yield f"drops {', '.join(dropped)}, since the feature gate is off"
    if not gates.fields_off:
        yield "knows every field"
    if Gate.SELECTOR_MERGE in gates:
        yield "merges matchLabelKeys into the selector of a new pod"
    elif Gate.MATCH_LABEL_KEYS in gates:
        yield "refuses a key in both matchLabelKeys and labelSelector"


def _exists(gate: Gate, gates: Gates) -> bool:
    return gates.settings[gate].stage is not Stage.ABSENT
