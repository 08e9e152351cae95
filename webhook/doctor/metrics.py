"""What replicas and the API server say of themselves, read from their pages of text."""

import math
import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

_feature = re.compile(
    r'^kubernetes_feature_enabled\{name="(?P<name>\w+)",stage="\w*"\} (?P<on>[01])$', re.MULTILINE
)
_condition = re.compile(r"^\[-\](?P<name>.+?) failed(?:: (?P<detail>.*))?$", re.MULTILINE)
_sample = re.compile(
    r"^(?P<name>evenspread_\w+)(?:\{(?P<labels>[^}]*)\})? (?P<value>\S+)$", re.MULTILINE
)
_label = re.compile(r'(\w+)="([^"]*)"')


class MetricSample(NamedTuple):
    """One number of a replica."""

    name: str
    labels: Mapping[str, str]
    value: float


def read_feature_gates(metrics: str) -> dict[str, bool]:
    """Read the feature gates that a Kubernetes component says it has, each on or off."""
    return {each["name"]: each["on"] == "1" for each in _feature.finditer(metrics)}


def read_failed_conditions(readiness: str) -> Iterator[tuple[str, str]]:
    """Read the conditions of ``/readyz?verbose`` that fail, with what they say."""
    for each in _condition.finditer(readiness):
        yield each["name"], each["detail"] or "failed"


def read_samples(metrics: str) -> Iterator[MetricSample]:
    """Read our metrics."""
    for each in _sample.finditer(metrics):
        yield MetricSample(
            each["name"], dict(_label.findall(each["labels"] or "")), _number(each["value"])
        )


def _number(text: str) -> float:
    try:
        return float(text)  # also of +Inf and NaN, as Prometheus writes them
    except ValueError:
        return math.nan
