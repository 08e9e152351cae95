package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sort"
	"strings"
	_ "unsafe" // for go:linkname

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/controller"
	"k8s.io/kubernetes/pkg/controller/replicaset"
)

type scaledownCase struct {
	Cluster  cluster     `json:"cluster"`
	Workload string      `json:"workload"` // KIND/NAMESPACE/NAME
	Replicas int         `json:"replicas"`
	Now      metav1.Time `json:"now"`
}

// Groups are the pods among which the order depends on that of the informer's cache: those that
// compare equal, and those that compare in a circle. Groups of one pod are left out.
type scaledownAnswer struct {
	Removed []string   `json:"removed"`
	Groups  [][]string `json:"groups,omitempty"`
}

//go:linkname rankPods k8s.io/kubernetes/pkg/controller/replicaset.getPodsRankedByRelatedPodsOnSameNode
func rankPods(podsToRank, relatedPods []*corev1.Pod) controller.ActivePodsWithRanks

//go:linkname findRelated k8s.io/kubernetes/pkg/controller/replicaset.(*ReplicaSetController).getIndirectlyRelatedPods
func findRelated(c *replicaset.ReplicaSetController, logger klog.Logger, rs *appsv1.ReplicaSet) ([]*corev1.Pod, error)

func judgeScaledown(line []byte) (any, error) {
	var given scaledownCase
	if err := json.Unmarshal(line, &given); err != nil {
		return nil, err
	}
	rs, kind, err := given.replicaSet()
	if err != nil {
		return nil, err
	}
	factory := informers.NewSharedInformerFactory(fake.NewClientset(), 0)
	sets, pods := factory.Apps().V1().ReplicaSets(), factory.Core().V1().Pods()
	ctx := context.Background()
	found := replicaset.NewReplicaSetController(ctx, sets, pods, fake.NewClientset(), replicaset.BurstReplicas)
	if err := add(sets.Informer(), given.Cluster.ReplicaSets); err != nil {
		return nil, err
	}
	if err := add(pods.Informer(), given.Cluster.Pods); err != nil {
		return nil, err
	}
	active, err := given.claim(ctx, rs, kind)
	if err != nil {
		return nil, err
	}
	related, err := findRelated(found, klog.FromContext(ctx), rs)
	if err != nil {
		return nil, err
	}
	return given.remove(active, related), nil
}

// The ReplicaSet to scale: a ReplicationController is one without a controller, and a Deployment
// scales the one that has pods. Source: pkg/controller/replication conversion.go.
func (c *scaledownCase) replicaSet() (*appsv1.ReplicaSet, string, error) {
	parts := strings.Split(c.Workload, "/")
	if len(parts) != 3 {
		return nil, "", fmt.Errorf("workload %q is not KIND/NAMESPACE/NAME", c.Workload)
	}
	kind, namespace, name := parts[0], parts[1], parts[2]
	for _, rc := range c.Cluster.ReplicationControllers {
		if kind == "ReplicationController" && rc.Namespace == namespace && rc.Name == name {
			spec := appsv1.ReplicaSetSpec{Selector: &metav1.LabelSelector{MatchLabels: rc.Spec.Selector}}
			return &appsv1.ReplicaSet{ObjectMeta: rc.ObjectMeta, Spec: spec}, kind, nil
		}
	}
	var found *appsv1.ReplicaSet
	for _, rs := range c.Cluster.ReplicaSets {
		owner := metav1.GetControllerOf(rs)
		owned := kind == "Deployment" && owner != nil && owner.Name == name
		itself := kind == "ReplicaSet" && rs.Name == name
		if rs.Namespace == namespace && (owned || itself) && (found == nil || c.hasPods(rs)) {
			found = rs
		}
	}
	if found == nil {
		return nil, "", fmt.Errorf("%s is not in the cluster", c.Workload)
	}
	return found, "ReplicaSet", nil
}

func (c *scaledownCase) hasPods(rs *appsv1.ReplicaSet) bool {
	return slices.ContainsFunc(c.Cluster.Pods, func(pod *corev1.Pod) bool {
		return metav1.IsControlledBy(pod, rs) && controller.IsPodActive(pod)
	})
}

// The active pods of a ReplicaSet, in the order of the cluster. Source: syncReplicaSet.
func (c *scaledownCase) claim(
	ctx context.Context, rs *appsv1.ReplicaSet, kind string,
) ([]*corev1.Pod, error) {
	selector, err := metav1.LabelSelectorAsSelector(rs.Spec.Selector)
	if err != nil {
		return nil, err
	}
	var own []*corev1.Pod
	for _, pod := range c.Cluster.Pods {
		owner := metav1.GetControllerOf(pod)
		if pod.Namespace == rs.Namespace && (owner == nil || owner.UID == rs.UID) {
			own = append(own, pod)
		}
	}
	claims := controller.NewPodControllerRefManager(
		&controller.FakePodControl{}, rs, selector, appsv1.SchemeGroupVersion.WithKind(kind),
		func(context.Context) error { return nil },
	)
	return claims.ClaimPods(ctx, controller.FilterActivePods(klog.FromContext(ctx), own))
}

// Source: manageReplicas and getPodsToDelete, with the case's time.
func (c *scaledownCase) remove(active, related []*corev1.Pod) scaledownAnswer {
	number := max(0, min(len(active)-c.Replicas, replicaset.BurstReplicas))
	ranked := rankPods(active, related)
	ranked.Now = c.Now
	answer := scaledownAnswer{Removed: []string{}}
	if number < len(active) {
		sort.Sort(ranked)
		answer.Groups = groups(ranked)
	} else if len(active) > 1 {
		answer.Groups = [][]string{names(active)}
	}
	answer.Removed = append(answer.Removed, names(active[:number])...)
	return answer
}

// The strongly connected components of the relation "does not go after", in order. A sort keeps
// their order; among the pods of one, it depends on the order before.
func groups(ranked controller.ActivePodsWithRanks) [][]string {
	var found [][]string
	start := 0
	for end := 1; end <= ranked.Len(); end++ {
		if !separates(ranked, end) {
			continue
		}
		if end-start > 1 {
			found = append(found, names(ranked.Pods[start:end]))
		}
		start = end
	}
	return found
}

func separates(ranked controller.ActivePodsWithRanks, end int) bool {
	for i := range end {
		for j := end; j < ranked.Len(); j++ {
			if !ranked.Less(i, j) {
				return false
			}
		}
	}
	return true
}

func names(pods []*corev1.Pod) []string {
	var found []string
	for _, pod := range pods {
		found = append(found, pod.Name)
	}
	return found
}
