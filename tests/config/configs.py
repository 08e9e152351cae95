"""Configuration texts, and the files that they may name."""

import pytest

from webhook.config import documents
from webhook.config.configuration import Configuration
from webhook.config.validation import read_document
from webhook.errors import CombinedConfigError, ConfigError

HEAD = "apiVersion: evenspread.io/v1alpha1\nkind: SpreadConfiguration\n"
ARGS = "kind: PodTopologySpreadArgs\ndefaultingType: List\ndefaultConstraints: [%s]\n"
SOFT = "{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: ScheduleAnyway}"
HARD = "maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule"

FILES = {
    "etc/system.yaml": """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
""",
    "etc/args.yaml": ARGS % SOFT,
    "etc/two.yaml": """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: default-scheduler
- schedulerName: other
  pluginConfig:
  - name: PodTopologySpread
    args: {defaultingType: List}
""",
    "etc/bad.yaml": "kind: PodTopologySpreadArgs\n\ndefaultingType: list\n",
}


def read(file: str) -> str:
    if file not in FILES:
        raise ConfigError(f"{file!r} cannot be read: No such file or directory")
    return FILES[file]


def check(text: str) -> Configuration:
    return documents.check(read_document(HEAD + text, "etc/spread.yaml"), read)


def check_scheduler(text: str) -> Configuration:
    return documents.check_scheduler(read_document(text, "k.yaml"))


def errors_of(text: str) -> list[str]:
    """List the errors of a configuration file, a message for every error."""
    with pytest.raises(CombinedConfigError) as caught:
        documents.check(read_document(text, "etc/spread.yaml"), read)
    return str(caught.value).splitlines()


def one_profile(members: str) -> str:
    return f"profiles:\n- name: a\n  {members}\n"


def one_default(members: str) -> str:
    return one_profile(f"defaultConstraints:\n  - {{{members}}}")
