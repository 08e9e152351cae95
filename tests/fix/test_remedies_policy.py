"""Remedies of policy rules that are not about selectors."""

import pytest

from tests.audit.world import NODES
from tests.fix.cases import FixCase, assert_fixed
from tests.fix.fixed import TAINTED, UNEVEN, deployment
from webhook.policy.api.versions import Version

TAINTED_POOL = "{key: gpu, effect: NoSchedule}"
POOLS = "".join(
    f"---\napiVersion: v1\nkind: Node\n"
    f"metadata: {{name: {zone}, labels: {{topology.kubernetes.io/zone: {zone}, pool: {pool}}}}}\n"
    f"spec: {{taints: [{taint}]}}\n"
    for zone, pool, taint in (("a", "web", ""), ("b", "batch", ""), ("c", "web", TAINTED_POOL))
)

# Beside a pod in zone a and rack r, no node is in the other zone and the other rack.
RACKS = "".join(
    f"---\napiVersion: v1\nkind: Node\nmetadata:\n"
    f"  name: {zone}{rack}\n  labels: {{topology.kubernetes.io/zone: {zone}, rack: {rack}}}\n"
    for zone, rack in ("ar", "br", "as")
)

FIXED = {
    "TSC103: a label without its prefix": FixCase(
        "TSC103",
        """
        topologySpreadConstraints:
        - {maxSkew: 1, topologyKey: zone, whenUnsatisfiable: ScheduleAnyway, labelSelector: {}}
        """,
        """
        topologySpreadConstraints:
        - {maxSkew: 1, topologyKey: topology.kubernetes.io/zone, """
        """whenUnsatisfiable: ScheduleAnyway, labelSelector: {}}
        """,
        cluster=NODES,
    ),
    "TSC104: more domains than there are": FixCase(
        "TSC104",
        """
        topologySpreadConstraints:
        - maxSkew: 1
          minDomains: 5 # one day
          topologyKey: topology.kubernetes.io/zone
          whenUnsatisfiable: DoNotSchedule
          labelSelector: {matchLabels: {app: web}}
        """,
        """
        topologySpreadConstraints:
        - maxSkew: 1
          minDomains: 3 # one day
          topologyKey: topology.kubernetes.io/zone
          whenUnsatisfiable: DoNotSchedule
          labelSelector: {matchLabels: {app: web}}
        """,
        cluster=NODES,
    ),
    "TSC104: beside a soft constraint, if the racks leave too few places": FixCase(
        "TSC104",
        """
        topologySpreadConstraints:
        - maxSkew: 1
          minDomains: 3
          topologyKey: topology.kubernetes.io/zone
          whenUnsatisfiable: DoNotSchedule
          labelSelector: {matchLabels: {app: web}}
        - maxSkew: 1
          topologyKey: topology.kubernetes.io/zone
          whenUnsatisfiable: ScheduleAnyway # at least
          labelSelector: {matchLabels: {app: web}}
        - maxSkew: 1
          topologyKey: rack
          whenUnsatisfiable: DoNotSchedule
          labelSelector: {matchLabels: {app: web}}
        """,
        """
        topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: topology.kubernetes.io/zone
          whenUnsatisfiable: ScheduleAnyway # at least
          labelSelector: {matchLabels: {app: web}}
        - maxSkew: 1
          topologyKey: rack
          whenUnsatisfiable: DoNotSchedule
          labelSelector: {matchLabels: {app: web}}
        """,
        cluster=RACKS,
    ),
    "TSC105: tainted nodes": FixCase(
        "TSC105",
        """
        topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: kubernetes.io/hostname
          whenUnsatisfiable: DoNotSchedule
          labelSelector: {matchLabels: {app: web}}
        """,
        """
        topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: kubernetes.io/hostname
          whenUnsatisfiable: DoNotSchedule
          labelSelector: {matchLabels: {app: web}}
          nodeTaintsPolicy: Honor
        """,
        cluster=NODES + TAINTED,
    ),
    "TSC107: a key more": FixCase(
        "TSC107",
        """
        topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: a
          whenUnsatisfiable: ScheduleAnyway
          labelSelector:
            matchLabels: {app: web}
        - maxSkew: 1
          topologyKey: b
          whenUnsatisfiable: ScheduleAnyway
          matchLabelKeys:
            - tier
          labelSelector:
            matchLabels: {app: web}
        """,
        """
        topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: a
          whenUnsatisfiable: ScheduleAnyway
          labelSelector:
            matchLabels: {app: web}
          matchLabelKeys:
          - pod-template-hash
        - maxSkew: 1
          topologyKey: b
          whenUnsatisfiable: ScheduleAnyway
          matchLabelKeys:
            - tier
            - pod-template-hash
          labelSelector:
            matchLabels: {app: web}
        """,
        labels="{app: web, tier: front}",
    ),
    "TSC107: a key by which no other workload counts": FixCase(
        "TSC107",
        """
        topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: a
          whenUnsatisfiable: ScheduleAnyway
          matchLabelKeys: [shard]
          labelSelector: {matchLabels: {app: web}}
        """,
        """
        topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: a
          whenUnsatisfiable: ScheduleAnyway
          matchLabelKeys: [shard, pod-template-hash]
          labelSelector: {matchLabels: {app: web}}
        """,
        labels="{app: web, shard: a}",
        cluster=deployment("", "{app: web, shard: b}").replace("name: web,", "name: cache,"),
    ),
    "TSC119: each revision apart": FixCase(
        "TSC119",
        """
        topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: topology.kubernetes.io/zone
          whenUnsatisfiable: DoNotSchedule
          labelSelector: {matchLabels: {app: web}}
        - maxSkew: 1
          topologyKey: kubernetes.io/hostname
          whenUnsatisfiable: DoNotSchedule
          labelSelector: {matchLabels: {app: web}}
        """,
        """
        topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: topology.kubernetes.io/zone
          whenUnsatisfiable: DoNotSchedule
          labelSelector: {matchLabels: {app: web}}
          matchLabelKeys:
          - pod-template-hash
        - maxSkew: 1
          topologyKey: kubernetes.io/hostname
          whenUnsatisfiable: DoNotSchedule
          labelSelector: {matchLabels: {app: web}}
          matchLabelKeys:
          - pod-template-hash
        """,
        cluster=UNEVEN,
    ),
    "TSC110: nothing spreads it": FixCase(
        "TSC110",
        "",
        """
        topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: topology.kubernetes.io/zone
          whenUnsatisfiable: ScheduleAnyway
          matchLabelKeys:
          - pod-template-hash
          labelSelector:
            matchLabels:
              app: web
        - maxSkew: 1
          topologyKey: kubernetes.io/hostname
          whenUnsatisfiable: ScheduleAnyway
          matchLabelKeys:
          - pod-template-hash
          labelSelector:
            matchLabels:
              app: web
        """,
    ),
    "TSC110: an empty list": FixCase(
        "TSC110",
        """
        topologySpreadConstraints: []  # none
        """,
        """
        topologySpreadConstraints:  # none
        - maxSkew: 1
          topologyKey: topology.kubernetes.io/zone
          whenUnsatisfiable: ScheduleAnyway
          matchLabelKeys:
          - pod-template-hash
          labelSelector:
            matchLabels:
              app: web
        - maxSkew: 1
          topologyKey: kubernetes.io/hostname
          whenUnsatisfiable: ScheduleAnyway
          matchLabelKeys:
          - pod-template-hash
          labelSelector:
            matchLabels:
              app: web
        """,
    ),
    "TSC111: a field that came later": FixCase(
        "TSC111",
        """
        topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: a
          whenUnsatisfiable: DoNotSchedule
          labelSelector: {matchLabels: {app: web}}
          minDomains: 3
          nodeTaintsPolicy: Honor
        """,
        """
        topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: a
          whenUnsatisfiable: DoNotSchedule
          labelSelector: {matchLabels: {app: web}}
        """,
        version=Version(1, 23),
    ),
    "TSC112: on request": FixCase(
        "TSC112",
        """
        topologySpreadConstraints:
        - maxSkew: 9
          topologyKey: a
          whenUnsatisfiable: DoNotSchedule
          labelSelector: {matchLabels: {app: web}}
        """,
        """
        topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: a
          whenUnsatisfiable: DoNotSchedule
          labelSelector: {matchLabels: {app: web}}
        """,
    ),
    "TSC116: zones that a node selector closes, one of them by a taint alone": FixCase(
        "TSC116",
        """
        topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: topology.kubernetes.io/zone
          whenUnsatisfiable: DoNotSchedule
          labelSelector: {matchLabels: {app: web}}
          nodeAffinityPolicy: Ignore # as before
        nodeSelector: {pool: web}
        """,
        """
        topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: topology.kubernetes.io/zone
          whenUnsatisfiable: DoNotSchedule
          labelSelector: {matchLabels: {app: web}}
          nodeAffinityPolicy: Honor # as before
          nodeTaintsPolicy: Honor
        nodeSelector: {pool: web}
        """,
        cluster=POOLS,
    ),
    "TSC116: fewer zones than minDomains are left": FixCase(
        "TSC116",
        """
        topologySpreadConstraints:
        - maxSkew: 1
          minDomains: 3
          topologyKey: topology.kubernetes.io/zone
          whenUnsatisfiable: DoNotSchedule
          labelSelector: {matchLabels: {app: web}}
          nodeAffinityPolicy: Ignore
        nodeSelector: {pool: batch}
        """,
        """
        topologySpreadConstraints:
        - maxSkew: 1
          minDomains: 1
          topologyKey: topology.kubernetes.io/zone
          whenUnsatisfiable: DoNotSchedule
          labelSelector: {matchLabels: {app: web}}
          nodeAffinityPolicy: Honor
        nodeSelector: {pool: batch}
        """,
        cluster=POOLS,
    ),
    "TSC117: a misspelled key, one of nothing, and only one of nothing": FixCase(
        "TSC117",
        """
        topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: a
          whenUnsatisfiable: ScheduleAnyway
          matchLabelKeys:
          - tier
          - pod-template-hsh # of the revision
          labelSelector: {matchLabels: {app: web}}
        - maxSkew: 1
          topologyKey: b
          whenUnsatisfiable: ScheduleAnyway
          matchLabelKeys: [tier]
          labelSelector: {matchLabels: {app: web}}
        """,
        """
        topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: a
          whenUnsatisfiable: ScheduleAnyway
          matchLabelKeys:
          - pod-template-hash # of the revision
          labelSelector: {matchLabels: {app: web}}
        - maxSkew: 1
          topologyKey: b
          whenUnsatisfiable: ScheduleAnyway
          labelSelector: {matchLabels: {app: web}}
        """,
    ),
}


@pytest.mark.parametrize("case", FIXED.values(), ids=FIXED.keys())
def test_a_finding_is_fixed_to_the_letter(case: FixCase) -> None:
    assert_fixed(case)
