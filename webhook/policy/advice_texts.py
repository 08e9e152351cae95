"""
The texts and default actions of the policy rules, evenspread's own advice.

``ADVICE_ENTRIES`` is the entry point; ``catalogue`` joins them with the entries of the API rules.
"""

from webhook.policy.api.versions import Version
from webhook.policy.rule_entry import Action, RuleScope, advice_entry

_1_18, _1_24, _1_25, _1_35 = (Version(1, minor) for minor in (18, 24, 25, 35))

ADVICE_ENTRIES = (
    advice_entry(
        "TSC101",
        "labelSelector matches the pod's own labels",
        "A pod that its own constraint does not count leaves no trace in the counts: the next one "
        "is placed as if it did not exist, and all of them may end in one domain. Labels that "
        "controllers add have known values, too: `job-name` of a Job is its name, "
        "that of a CronJob `<name>-<minutes>` with another number in each Job, and only one pod of "
        "a StatefulSet or an Indexed Job has a given index, as have the pods of one Job of a "
        "JobSet, and of one group of a LeaderWorkerSet. The `worker-index` of a LeaderWorkerSet is "
        "0 for the leader, so that no worker has it beside a `leaderTemplate`. No pod lacks a "
        "label that its controller adds. Names that kube-apiserver generates are not judged.",
        "select the pod's own labels, as `labelSelector: {matchLabels: {app: web}}`",
        action=Action.WARN,
    ),
    advice_entry(
        "TSC102",
        "labelSelector counts some pods",
        "A null selector matches no pod, and an empty one makes kube-scheduler count none. Every "
        "domain is then as empty as every other, and the constraint spreads nothing. The same "
        "happens to an empty selector whose matchLabelKeys the pods do not carry.",
        "select the pod's own labels, as `labelSelector: {matchLabels: {app: web}}`",
        action=Action.WARN,
    ),
    advice_entry(
        "TSC103",
        "topologyKey is a label of all schedulable nodes",
        "Nodes without the label are in no domain. A hard constraint never lets a pod go there, a "
        "soft one ranks them last; with a misspelled key this applies to every node. For pods with "
        "`spec.nodeName`, which bypass the scheduler, only a key of no node is reported.",
        "write a label that all nodes carry, as `topologyKey: topology.kubernetes.io/zone`",
        action=Action.WARN,
    ),
    advice_entry(
        "TSC104",
        "minDomains is at most the number of domains that the pods can reach",
        "While there are fewer domains than minDomains the global minimum counts as 0: each domain "
        "takes maxSkew pods, and all others stay Pending until a domain is added. If all replicas "
        "have a place, also during a rollout in which no replica may be missing, the rule is "
        "satisfied. More minDomains than domains is right if a node autoscaler adds domains for "
        "Pending pods: this is what the field is for. It is never right if nodeSelector or "
        "required node affinity allow fewer values of the key, unless nodeAffinityPolicy is "
        "Ignore: this is reported without any Node, too. At admission, nodeSelector and affinity "
        "are compared with the values of the topology key alone; an audit knows the other labels "
        "of the nodes in each domain, such as the capacity type. A pod of a DaemonSet can go to "
        "one node, and so to one domain: with `maxSurge`, the new pod of a node has no place "
        "beside the old one.",
        "keep it if a node autoscaler adds domains for Pending pods; otherwise write as many as "
        "there are, or `ScheduleAnyway` if another constraint would then keep pods Pending, or let "
        "the pods go to more by nodeSelector and tolerations",
        action=Action.WARN,
        since=_1_24,
    ),
    advice_entry(
        "TSC105",
        "no domain that counts consists of nodes that the pods cannot go to",
        "By default, taints are ignored when domains are counted. A zone of tainted nodes, or a "
        "control plane node where nodes are the domains, then counts as one that stays empty: the "
        "global minimum stays 0, every other domain takes maxSkew pods at most, and the rest stays "
        "Pending. It does not matter whether the nodes are cordoned as well. If all replicas have "
        "a place, also during a rollout in which no replica may be missing, and beside pods of "
        "other workloads that the constraint counts, the rule is satisfied.",
        "write `nodeTaintsPolicy: Honor`, so that these nodes do not count; if fewer domains than "
        "minDomains are left then, also lower minDomains to their number, or tolerate the taints",
        action=Action.WARN,
    ),
    advice_entry(
        "TSC106",
        "some node satisfies all hard constraints together",
        "Each constraint allows some nodes; the next pod needs one that all of them allow. A pod "
        "for which there is none stays Pending until pods are deleted or nodes are added. So does "
        "one that nodeSelector, affinity and taints keep off every node, and one for which all "
        "nodes are cordoned, not ready or tainted for now, as those that an autoscaler is about to "
        "delete or that wait for an agent. While all replicas run, and no autoscaler may add one, "
        "the next pod is the first of a new revision. If a replica may be missing meanwhile, this "
        "pod waits until an old one is deleted, and is reported only if it may have no node even "
        "then; `evenspread explain --what-if rollout` simulates the pods after it. The next pod of "
        "a StatefulSet is then the one with the last ordinal, which a rollout replaces first, and "
        "the finding names it. A Pending pod that keeps other constraints than the template now "
        "has is reported as well if no node accepts it, and its controller does not replace it. "
        "The pods' own required podAffinity and podAntiAffinity are judged together with the "
        "constraints for a workload with Pending pods that is not being rolled out, by the pods of "
        "its namespace. If they alone reject every node, the rule is silent about them: no "
        "constraint keeps the pods Pending. `evenspread explain --what-if` judges them for all "
        "replicas, by all pods, and the anti-affinity of other pods, too. A domain of nodes that "
        "are closed for now counts as well, and may leave the pods that wait after the next one no "
        "place. With `nodeTaintsPolicy: Honor` it does not count, and there may be fewer domains "
        "than minDomains, with the same effect. A domain that taints or affinity close as well is "
        "the subject of TSC105 and TSC116.",
        "raise maxSkew to the value in the finding, with which all pods that wait have a place in "
        "every order, and all replicas of a Deployment, a DeploymentConfig, a Rollout or a "
        "StatefulSet, whose pods the change creates anew; or make one of the constraints "
        "`ScheduleAnyway`; wait for nodes that are cordoned, not ready or tainted for now; count "
        "revisions apart by matchLabelKeys, if that places the first pod of a new one",
        scope=RuleScope.AUDIT,
    ),
    advice_entry(
        "TSC107",
        "constraints of a Deployment, a DeploymentConfig or a Rollout distinguish its revisions",
        "While a new revision is rolled out, its pods are placed by where the old ones are. After "
        "these are deleted, the pods of the new revision may be uneven, and nothing moves them. "
        "With `maxSurge: 0` an old pod is deleted first, and the new one takes its place: the "
        "rule is then silent.",
        "write `matchLabelKeys: [pod-template-hash]`; for an Argo Rollout, "
        "`matchLabelKeys: [rollouts-pod-template-hash]`, and for a DeploymentConfig "
        "`matchLabelKeys: [deployment]`",
        since=_1_25,
    ),
    advice_entry(
        "TSC108",
        "volumes of a StatefulSet pin no pod to a zone that a hard constraint rules out",
        "A volume of a zone pins its pod there. A StorageClass that binds Immediate creates it "
        "before the pod is placed, in any zone; one with allowedTopologies only in some zones. "
        "With WaitForFirstConsumer it is created where the pod is placed first. Then a pod always "
        "fits into its zone if there are at most maxSkew pods in each, and nearly always if all "
        "zones have as many: such StatefulSets, for example 3 replicas over 3 zones, are not "
        "reported. Neither are those whose constraint always finds an empty zone, since no zone "
        "takes more than maxSkew pods then. A pod that a hard constraint requires in another zone "
        "stays Pending. TSC114 reports pods that already run more unevenly than maxSkew allows.",
        "use a StorageClass with `volumeBindingMode: WaitForFirstConsumer`, as many replicas in "
        "each zone, or `whenUnsatisfiable: ScheduleAnyway` for the zone",
        scope=RuleScope.AUDIT,
    ),
    advice_entry(
        "TSC109",
        "all replicas can satisfy the hard constraints on two topology keys together",
        "Zones of different sizes cannot be even by zone and by node at once, nor by zone and by "
        "capacity type if only some zones have spot nodes. Some of the replicas stay Pending, "
        "though each of the two constraints looks harmless. Pods are placed one after another: "
        "all replicas wait for the first that has no place. The rule reports what no order "
        "avoids. With the suggested maxSkew, every order leaves all replicas a place; a smaller "
        "one may leave the last of them Pending, depending on where the first are placed.",
        "make the constraint that the finding names soft, or raise its maxSkew to the value in "
        "the finding",
        scope=RuleScope.AUDIT,
    ),
    advice_entry(
        "TSC110",
        "something spreads a workload of two or more replicas",
        "All replicas may run on one node, whose failure stops them all. Without a constraint or "
        "a pod anti-affinity, kube-scheduler's System defaults apply to pods of a Service, "
        "ReplicaSet, ReplicationController or StatefulSet: ScheduleAnyway with maxSkew 3 over "
        "nodes and 5 over zones. They prefer emptier domains and keep no pod from any. The rule "
        "is violated if no defaults apply, if each has a maxSkew of at least the number of "
        "replicas, which may then all be on one node without a skew that exceeds it, or if all "
        "running pods are in one domain. With a configuration file of kube-scheduler or a "
        "profile, its defaults count instead. For a worker of a LeaderWorkerSet, the System "
        "defaults count only the pods of its group, so that nothing spreads the workers of small "
        "groups. The rule does not apply to pods that "
        "use the same host port, which never share a node, nor to pods whose affinity places them "
        "beside those of another workload.",
        "write a constraint on kubernetes.io/hostname, and one on topology.kubernetes.io/zone if "
        "all nodes have this label",
        since=_1_18,
    ),
    advice_entry(
        "TSC111",
        "no field is behind a feature gate that is off",
        "Kubernetes drops such a field silently from an object that is created; an object that was "
        "stored with it earlier keeps it without effect.",
        "leave the field out, or have the gate switched on",
        action=Action.WARN,
        scope=RuleScope.DROPPING,
    ),
    advice_entry(
        "TSC112",
        "maxSkew of a hard constraint is below the number of replicas",
        "Even with all replicas in one domain and none in another the skew is their number: the "
        "constraint keeps a pod from no domain, unless it is an additional one of a rollout. With "
        "a HorizontalPodAutoscaler or a ScaledObject, the most replicas that it allows count. The "
        "suggested maxSkew is the smallest with which all replicas have a place, in whatever "
        "order they are placed, both while nodes are cordoned, not ready or tainted for now and "
        "after they return.",
        "write the largest skew that you accept, usually `maxSkew: 1`, or `ScheduleAnyway`",
        scope=RuleScope.AUDIT,
    ),
    advice_entry(
        "TSC113",
        "labelSelector counts the pods of one workload only",
        "Pods of other workloads fill domains that this workload's pods then avoid, though none of "
        "its own run there; the workloads are even only together. Workloads of another node pool "
        "do not count: kube-scheduler leaves out their nodes by the node inclusion policies.",
        "add a label to the selector that only this workload's pods carry",
        scope=RuleScope.AUDIT,
    ),
    advice_entry(
        "TSC114",
        "running pods are no more uneven than maxSkew allows",
        "The scheduler checks constraints when it places a pod and never again: scaling down, "
        "losing a node and draining one leave pods uneven until they are recreated. While a "
        "rollout runs, the pods of older revisions do not count: it deletes them. Nor is a skew of "
        "a soft constraint reported that a hard one on nested domains makes necessary. A restart "
        "of a Deployment places new pods by where the old ones are, unless the constraint counts "
        "each revision separately (TSC107), and can leave them uneven. No restart moves the pods "
        "of a StatefulSet whose volumes belong to a zone. In a zone that is too full for a hard "
        "constraint, a pod that is deleted without its claim stays Pending. While there are fewer "
        "domains than minDomains, or a counted domain is closed, the minimum does not rise: the "
        "finding names what raises it. Where two hard constraints exclude each other (TSC109), "
        "the finding names the one to relax first: a restart would leave replicas Pending.",
        "run `evenspread rebalance`, which plans the fewest evictions of pods in the domains that "
        "are too full, and evicts them with `--apply`; write `matchLabelKeys: [pod-template-hash]` "
        "for a Deployment, or restart one that has it; let a Job end, since a deleted pod counts "
        "as failed; delete the leaders of a LeaderWorkerSet, whose groups follow them; move pods "
        "with volumes of a zone by deleting them one after another with their claims, if the "
        "application can rebuild its data",
        scope=RuleScope.AUDIT,
    ),
    advice_entry(
        "TSC115",
        "running pods have the defaults of their profile",
        "Defaults are written into a pod when it is created. Pods that are older than the profile, "
        "or than a change of their Services, lack them, or count other pods than they should.",
        "recreate the pods",
        since=_1_18,
        scope=RuleScope.AUDIT,
    ),
    advice_entry(
        "TSC116",
        "no domain that counts is closed by nodeSelector or affinity",
        "With `nodeAffinityPolicy: Ignore`, nodes that the pods cannot go to by their nodeSelector "
        "or affinity count all the same. A zone of such nodes stays empty: the global minimum "
        "stays 0, every other domain takes maxSkew pods at most, and the rest stays Pending. It "
        "does not matter whether the nodes are cordoned as well: with `nodeTaintsPolicy: Honor` "
        "they do not count until they return, and the finding says so. If all replicas have a "
        "place, also during a rollout in which no replica may be missing, the rule is satisfied. "
        "At admission, nodeSelector and affinity are compared with the values of the topology key "
        "alone; an audit knows the other labels of the nodes in each domain, such as the capacity "
        "type. Each pod of a DaemonSet can go to one node only: a domain then takes maxSkew pods "
        "more than the one with the fewest of its nodes. With `maxSurge`, a new pod may have no "
        "place beside the old one while a domain has none: TSC105 and this rule report it.",
        "write `nodeAffinityPolicy: Honor`, or leave the field out, so that these nodes do not "
        "count; if fewer domains than minDomains are left then, also lower minDomains to their "
        "number",
        action=Action.WARN,
        since=_1_25,
    ),
    advice_entry(
        "TSC117",
        "matchLabelKeys are keys of labels that the pods carry",
        "kube-scheduler ignores a key that the pod does not carry, and the constraint counts more "
        "pods than intended. Pods carry the labels of their template, and those that their "
        "controller adds: `pod-template-hash` for a Deployment, `controller-revision-hash` for a "
        "StatefulSet or a DaemonSet, `rollouts-pod-template-hash` for an Argo Rollout. A Rollout "
        "with a `workloadRef` gives this label to pods of a Deployment's template, so the rule "
        "reports it on a Deployment only if the audit lists the Rollouts of a cluster and none "
        "refers to the Deployment, or if the Deployment's pods run without it. With a key "
        "that has another value on each pod, such as `statefulset.kubernetes.io/pod-name`, every "
        "pod counts only itself, and the constraint spreads nothing. A pod of a "
        "StatefulSet runs where its volume can be accessed. If a hard constraint counts its "
        "revision separately, a rollout may have no place for the pod there: then the rule "
        "suggests leaving out a key of a revision, unless the pods have no volumes of their own, "
        "or their StorageClasses are known and their volumes can be attached in every zone. "
        "It does the same for a DaemonSet with `nodeAffinityPolicy: Ignore`, whose pods are each "
        "meant for one node.",
        "write the key of a label that the pods share, or leave the key out",
        action=Action.WARN,
        since=_1_25,
    ),
    advice_entry(
        "TSC118",
        "a scale-down by an autoscaler keeps hard constraints",
        "kube-scheduler looks at the constraint when it places a pod; the ReplicaSet controller "
        "does not when it removes one. After a HorizontalPodAutoscaler or a ScaledObject scales "
        "down, most of the remaining pods can be in one domain, and are lost together if it fails. "
        "The rule computes the largest possible skew, from the most replicas that all hard "
        "constraints together give a place in every order, spread evenly over the domains of the "
        "cluster; where their number is not known, it is silent. Without a cluster, it supposes "
        "three domains, and skips `kubernetes.io/hostname`. It is satisfied if the autoscaler "
        "never scales down, by `selectPolicy: Disabled`.",
        "set `scaleDown: KeepSpread` in the profile that applies to the pods, with `mode: apply`",
        scope=RuleScope.AUDIT,
    ),
    advice_entry(
        "TSC119",
        "a rollout can finish",
        "If no replica may be missing (maxUnavailable 0, also 25 % of up to 3 replicas), the first "
        "new pod is placed beside all old ones. A hard constraint counts both revisions unless it "
        "distinguishes them. If two such constraints allow no more pods than replicas, the new pod "
        "stays Pending, no old pod is deleted, and the rollout hangs. A blue-green rollout of "
        "Argo, and a canary with traffic routing, place all new pods before an old one is deleted. "
        "A pod of a StatefulSet returns to the zone of its volume: if more pods run there than a "
        "hard constraint now allows, as after a zone was added, the new pod stays Pending, too. So "
        "does one that "
        "returns to a zone before another zone has a new pod, if the constraint counts the new "
        "revision separately. Where the selector also counts pods of other workloads, the finding "
        "names these. If the StatefulSet's own pods alone satisfy maxSkew, the cure is the "
        "selector of TSC113, and no data has to be moved. The rule reports only rollouts that hang "
        "wherever kube-scheduler places the pods, by constraints alone: not those that resources, "
        "host ports or required anti-affinity stop, or that hang because of which old pods a "
        "ReplicaSet deletes. `evenspread explain --what-if rollout` runs all filters, deletes old "
        "pods as their controller does, and shows these and what else can happen. Rollouts that a "
        "partition or OnDelete holds back are not judged. TSC104, TSC105 and TSC116 report a "
        "single constraint that allows no additional pod.",
        "count each revision separately, by `matchLabelKeys: [pod-template-hash]` in all hard "
        "constraints, or let one replica be missing, by `maxUnavailable: 1`. With volumes in a "
        "zone, leave `controller-revision-hash` out of matchLabelKeys, count no pods of other "
        "workloads, move the data, or write `ScheduleAnyway`",
        action=Action.WARN,
        since=_1_18,
    ),
    advice_entry(
        "TSC120",
        "the pods can go to more than one domain",
        "If nodeSelector, affinity and taints leave the pods one domain, or the cluster has no "
        "other, all of them run there, and are lost together. With `nodeName` in the pod template, "
        "this is one node: kube-scheduler does not place the pods, and evaluates no constraint. "
        "Replicas without a constraint are reported if they are written for one node by its name. "
        "With a required podAffinity to themselves over the topology key, or over smaller domains, "
        "the pods follow the first one to its domain, and a hard constraint keeps those beyond "
        "maxSkew Pending. Each pod of a DaemonSet has a node affinity for one node: a constraint "
        "has no effect, unless it ignores affinity, a node lacks its key, or it requires several "
        "domains and may count another pod on the node, as with maxSurge. "
        "The rule does not apply to a ScheduleAnyway constraint if the cluster has one domain, or "
        "if taints alone leave the pods one, also where other workloads tolerate them: nodes of "
        "the control plane and of other tenants are tainted on purpose, and the constraint may be "
        "meant for a cluster with more domains.",
        "let the pods go to more domains, or spread them over kubernetes.io/hostname; with a "
        "podAffinity, leave out the term or the constraint",
        scope=RuleScope.AUDIT,
    ),
    advice_entry(
        "TSC121",
        "a gang has no hard constraint",
        "The pods of a gang, with `schedulingGroup`, or `workloadRef` in Kubernetes 1.35, are "
        "scheduled all together or not at all. If their PodGroup is known to an audit, and its "
        "topology keeps all pods in one domain, it contradicts a hard constraint over these "
        "domains, or over larger ones. Every other hard constraint of a gang is reported too, also "
        "where the PodGroup is not known, as at admission: kube-scheduler tries few placements of "
        "the gang, and does not guarantee to find one that satisfies the constraint even if there "
        "is one (KEP-4671): the gang can stay Pending. A PodGroup with the policy `basic` is not a "
        "gang: only the contradiction is reported.",
        "write `whenUnsatisfiable: ScheduleAnyway`, or let the topology of the PodGroup place the "
        "pods",
        action=Action.WARN,
        since=_1_35,
    ),
)
"""By id, in the order in which rules are listed."""
