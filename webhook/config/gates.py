"""The feature gates in force: those of the flag over those of the file, gate by gate."""

from collections.abc import Mapping

import msgspec

from webhook.config.configuration import Configuration, ConfiguredGate
from webhook.config.spread import GATE_NAMES, describe_unknown_gate
from webhook.errors import CombinedConfigError, ConfigError, GateError
from webhook.policy.api import gates
from webhook.policy.api.gates import Gates, GateSetting, Stage
from webhook.policy.api.versions import Version

GATES_FLAG = "--feature-gates"

_BY_STAGE = {Stage.ALPHA: "AllAlpha", Stage.BETA: "AllBeta"}


def gates_in_force(
    configuration: Configuration,
    version: Version,
    flag: str = "",
    *,
    allow_locked: bool = False,
) -> Gates:
    """
    Decide which gates are on.

    Args:
        configuration: What the file asks for.
        version: Of the cluster, which decides the defaults.
        flag: The text of ``--feature-gates``, as ``A=true,B=false``.
        allow_locked: Whether a feature that Kubernetes has locked on may be switched off.

    Returns:
        Each setting names the place that it comes from.

    Raises:
        MistakesError: Every gate that cannot be set as asked.
    """
    asked = {**configuration.asked_gates, **_asked_by_flag(flag)}
    resolved = _resolve(asked, version, allow_locked=allow_locked)
    settings = {
        gate: _with_source(gate, setting, asked) for gate, setting in resolved.settings.items()
    }
    return msgspec.structs.replace(resolved, settings=settings)


def _asked_by_flag(flag: str) -> dict[str, ConfiguredGate]:
    try:
        asked = gates.parse_gates(flag)
    except GateError as error:
        raise CombinedConfigError([ConfigError(str(error), GATES_FLAG)]) from error
    if unknown := [name for name in asked if name not in GATE_NAMES]:
        raise CombinedConfigError(
            [ConfigError(f"{name!r} {describe_unknown_gate(name)}", GATES_FLAG) for name in unknown]
        )
    return {name: ConfiguredGate(on, GATES_FLAG) for name, on in asked.items()}


def _resolve(asked: Mapping[str, ConfiguredGate], version: Version, *, allow_locked: bool) -> Gates:
    """Resolve, leaving out whatever gate is wrong, until every wrong one is known."""
    left = {name: each.on for name, each in asked.items()}
    errors: list[ConfigError] = []
    while True:
        try:
            resolved = gates.resolve(version, left, allow_locked=allow_locked)
        except GateError as error:
            where = asked[error.gate].where if error.gate in asked else GATES_FLAG
            errors.append(ConfigError(str(error), where))
            if left.pop(error.gate, None) is None:
                raise CombinedConfigError(errors) from error
        else:
            if errors:
                raise CombinedConfigError(errors)
            return resolved


def _with_source(
    gate: str, setting: GateSetting, asked: Mapping[str, ConfiguredGate]
) -> GateSetting:
    """Say where a value comes from; a gate's own name counts before that of its stage."""
    for name in (gate, _BY_STAGE.get(setting.stage, "")):
        if name in asked:
            where = asked[name].where
            return setting._replace(source=where if name == gate else f"{name} in {where}")
    return setting
