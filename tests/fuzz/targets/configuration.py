"""
Configuration files: a ``SpreadConfiguration``, or kube-scheduler's own file.

Expected: a ``CombinedConfigError`` whose errors name a place in the file, or a configuration that
is the same when it is read again, and whose policy judges a pod.
"""

import re

from tests import build
from tests.fuzz.targets import expect
from webhook.config.configuration import Configuration, policy
from webhook.config.documents import check as check_configuration
from webhook.config.documents import check_scheduler
from webhook.config.gates import gates_in_force
from webhook.config.validation import read_document
from webhook.errors import CombinedConfigError, ConfigError, SourceError
from webhook.manifests.files import decode
from webhook.policy.api.versions import NEWEST_VERSION
from webhook.policy.request import Hook
from webhook.policy.verdict import judge

SOURCE = "etc/spread.yaml"
NAMED = "kind: KubeSchedulerConfiguration\napiVersion: kubescheduler.config.k8s.io/v1\n"

TOKENS = (
    b"apiVersion: evenspread.io/v1alpha1\n", b"kind: SpreadConfiguration\n", b"mode: recommend\n",
    b"profiles:\n- name: a\n", b"  defaultConstraints:\n", b"  - maxSkew: 1\n",
    b"    topologyKey: topology.kubernetes.io/zone\n", b"    whenUnsatisfiable: ScheduleAnyway\n",
    b"    minDomains: 2\n", b"    matchLabelKeys: [a]\n", b"    nodeTaintsPolicy: Honor\n",
    b"  match:\n", b"    namespaces: [shop]\n", b"    namespaceSelector:\n",
    b"    podSelector:\n", b"    ownerKinds: [ReplicaSet]\n",
    b"    schedulerNames: [default-scheduler]\n", b"  schedulerConfiguration: k.yaml\n",
    b"podTemplates:\n", b"- group: argoproj.io\n", b"  kind: Rollout\n",
    b"  path: spec.template\n", b"ownerSelectors:\n", b"exempt:\n",
    b"  namespaces: [kube-system]\n", b"rules:\n", b"  TS101: deny\n", b"featureGates:\n",
    b"  AllAlpha: true\n", b"caOverlap: 10m\n", b"fieldDefaults: ", b"matchLabels: {a: b}\n",
    b"matchExpressions: [{key: a, operator: In, values: [b]}]\n",
    b"kind: KubeSchedulerConfiguration\n", b"apiVersion: kubescheduler.config.k8s.io/v1\n",
    b"kind: PodTopologySpreadArgs\n", b"pluginConfig:\n- name: PodTopologySpread\n", b"  args:\n",
    b"defaultingType: List\n", b"---\n", b"&a ", b"*a", b"<<: ", b"!!str ", b"{", b"}", b"[",
    b"]", b"null", b"off", b"1.0", b"0x10", b"1e3", b"\t", b"|\n", b"? ", b": ", b"%YAML 1.1\n",
    b"\xef\xbb\xbf",
)  # fmt: skip

_place = re.compile(r"(etc/spread\.yaml|k\.yaml)(:\d+)?(: .*)?", re.DOTALL).fullmatch


def check(data: bytes) -> None:
    """Read a file as either of the two kinds."""
    try:
        text = decode(data, SOURCE)
    except SourceError:
        return
    for is_scheduler in (False, True):
        _check_file(text, is_scheduler=is_scheduler)


def _check_file(text: str, *, is_scheduler: bool) -> None:
    try:
        configuration = _load(text, is_scheduler=is_scheduler)
    except CombinedConfigError as error:
        lines = text.count("\n") + 1
        for single in error.errors:
            place = _place(single.where)
            expect(place, f"an error names no place: {single}")
            expect(single.problem, "an error has no message")
            if place and place[1] == SOURCE and place[2]:
                expect(1 <= int(place[2][1:]) <= lines, f"a line that is not in the file: {single}")
        return
    expect(configuration == _load(text, is_scheduler=is_scheduler), "read again, it differs")
    _check_policy(configuration)


def _load(text: str, *, is_scheduler: bool) -> Configuration:
    document = read_document(text, SOURCE)
    return check_scheduler(document) if is_scheduler else check_configuration(document, _read)


def _read(file: str) -> str:
    if not file.endswith("k.yaml"):
        raise ConfigError(f"{file!r} cannot be read: No such file or directory")
    return NAMED


def _check_policy(configuration: Configuration) -> None:
    try:
        gates = gates_in_force(configuration, NEWEST_VERSION)
    except CombinedConfigError as error:
        expect(str(error), "an error has no message")
        return
    requested = policy(configuration, gates)
    for hook in Hook:
        verdict = judge(build.request(build.pod()), hook, requested, build.facts())
        expect(verdict.allowed, f"a plain pod is denied: {verdict.message}")
