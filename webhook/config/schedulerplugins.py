"""
The default constraints that kube-scheduler applies with the plugins of a profile.

``drop_disabled`` is the entry point. A profile can disable PodTopologySpread at each extension
point, or at all of them with ``multiPoint``. Other plugins, and errors in their lists, are ignored.

Source: kubernetes pkg/scheduler/apis/config/v1/default_plugins.go ``mergePluginSet``;
pkg/scheduler/framework/runtime/framework.go ``expandMultiPointPlugins``.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from webhook.policy.api.schedulerargs import PLUGIN
from webhook.policy.model import DO_NOT_SCHEDULE, SCHEDULE_ANYWAY, Constraint
from webhook.policy.paths import find_value, is_array

ALL_PLUGINS = "*"
MULTI_POINT = "multiPoint"

EXTENSION_POINTS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {DO_NOT_SCHEDULE: ("preFilter", "filter"), SCHEDULE_ANYWAY: ("preScore", "score")}
)
"""whenUnsatisfiable -> the extension points that have to be enabled for such a constraint."""


def drop_disabled(
    constraints: tuple[Constraint, ...], plugins: Any
) -> tuple[tuple[Constraint, ...], str]:
    """
    Drop the constraints that have no effect, since an extension point of the plugin is disabled.

    Args:
        plugins: The member ``plugins`` of a profile, of JSON's types; it need not be valid.

    Returns:
        The other constraints, and the extension points, as ``preScore and score``, which are
        disabled and would have an effect; empty if there are none.
    """
    disabled = {
        action: [point for point in points if not _is_enabled(plugins, point)]
        for action, points in EXTENSION_POINTS.items()
    }
    kept = tuple(one for one in constraints if not disabled.get(one.when_unsatisfiable))
    lost = {one.when_unsatisfiable for one in constraints if one not in kept}
    named = [point for action, points in disabled.items() if action in lost for point in points]
    return kept, " and ".join(named)


def _is_enabled(plugins: Any, point: str) -> bool:
    """Whether the plugin runs at an extension point; the lists of the point override multiPoint."""
    if PLUGIN in _list_names(plugins, point, "enabled"):
        return True
    if _disables(plugins, point):
        return False
    is_listed = PLUGIN in _list_names(plugins, MULTI_POINT, "enabled")
    return is_listed or not _disables(plugins, MULTI_POINT)


def _disables(plugins: Any, point: str) -> bool:
    return not {PLUGIN, ALL_PLUGINS}.isdisjoint(_list_names(plugins, point, "disabled"))


def _list_names(plugins: Any, point: str, member: str) -> list[str]:
    entries = find_value(plugins, (point, member))
    names = (find_value(one, ("name",)) for one in (entries if is_array(entries) else ()))
    return [name for name in names if isinstance(name, str)]
