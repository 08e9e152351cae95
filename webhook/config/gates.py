"""Resolve the feature gates in force; for each gate, the flag takes precedence over the file."""

from collections.abc import Mapping

import msgspec

from webhook.config.configuration import Configuration, ConfiguredGate
from webhook.config.gatenames import GATE_NAMES, describe_unknown_gate
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
    Decide which gates are on, with the source of each setting.

    Args:
        configuration: The gates of the file.
        version: Kubernetes version of the cluster, which decides the defaults.
        flag: The text of ``--feature-gates``, such as ``A=true,B=false``.
        allow_locked: Whether a feature that Kubernetes has locked on may be switched off.

    Raises:
        CombinedConfigError: Every gate that cannot be set as configured.
    """
    configured = {**configuration.configured_gates, **_parse_flag(flag)}
    resolved = _resolve(configured, version, allow_locked=allow_locked)
    settings = {
        gate: _with_source(gate, setting, configured) for gate, setting in resolved.settings.items()
    }
    return msgspec.structs.replace(resolved, settings=settings)


def _parse_flag(flag: str) -> dict[str, ConfiguredGate]:
    try:
        parsed = gates.parse_gates(flag)
    except GateError as error:
        raise CombinedConfigError([ConfigError(str(error), GATES_FLAG)]) from error
    if unknown := [name for name in parsed if name not in GATE_NAMES]:
        raise CombinedConfigError(
            [ConfigError(f"{name!r} {describe_unknown_gate(name)}", GATES_FLAG) for name in unknown]
        )
    return {name: ConfiguredGate(on, GATES_FLAG) for name, on in parsed.items()}


def _resolve(
    configured: Mapping[str, ConfiguredGate], version: Version, *, allow_locked: bool
) -> Gates:
    """Resolve the gates; drop each invalid gate and retry, to report all invalid gates at once."""
    left = {name: gate.on for name, gate in configured.items()}
    errors: list[ConfigError] = []
    while True:
        try:
            resolved = gates.resolve(version, left, allow_locked=allow_locked)
        except GateError as error:
            where = configured[error.gate].where if error.gate in configured else GATES_FLAG
            errors.append(ConfigError(str(error), where))
            if left.pop(error.gate, None) is None:
                raise CombinedConfigError(errors) from error
        else:
            if errors:
                raise CombinedConfigError(errors)
            return resolved


def _with_source(
    gate: str, setting: GateSetting, configured: Mapping[str, ConfiguredGate]
) -> GateSetting:
    """Set the source of a value; a gate's own name takes precedence over that of its stage."""
    for name in (gate, _BY_STAGE.get(setting.stage, "")):
        if name in configured:
            where = configured[name].where
            return setting._replace(source=where if name == gate else f"{name} in {where}")
    return setting
