package main

import (
	"encoding/json"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/helper"
)

// The objects of a case that kube-scheduler reads.
type cluster struct {
	Nodes                  []*corev1.Node                  `json:"nodes"`
	Pods                   []*corev1.Pod                   `json:"pods"`
	Services               []*corev1.Service               `json:"services"`
	ReplicationControllers []*corev1.ReplicationController `json:"replicationControllers"`
	ReplicaSets            []*appsv1.ReplicaSet            `json:"replicaSets"`
	StatefulSets           []*appsv1.StatefulSet           `json:"statefulSets"`
	Namespaces             []*corev1.Namespace             `json:"namespaces"`
	PersistentVolumes      []*corev1.PersistentVolume      `json:"persistentVolumes"`
	PersistentVolumeClaims []*corev1.PersistentVolumeClaim `json:"persistentVolumeClaims"`
	StorageClasses         []*storagev1.StorageClass       `json:"storageClasses"`
	CSINodes               []*storagev1.CSINode            `json:"csiNodes"`
}

// No case writes to it. One for all cases, since it takes milliseconds to make.
var client = fake.NewClientset()

// Informers that hold the Services and controllers and never start.
func (c *cluster) informers() (informers.SharedInformerFactory, error) {
	factory := informers.NewSharedInformerFactory(client, 0)
	core, apps := factory.Core().V1(), factory.Apps().V1()
	if err := add(core.Services().Informer(), c.Services); err != nil {
		return nil, err
	}
	if err := add(core.ReplicationControllers().Informer(), c.ReplicationControllers); err != nil {
		return nil, err
	}
	if err := add(apps.ReplicaSets().Informer(), c.ReplicaSets); err != nil {
		return nil, err
	}
	return factory, add(apps.StatefulSets().Informer(), c.StatefulSets)
}

func add[T any](informer cache.SharedIndexInformer, objects []T) error {
	for _, obj := range objects {
		if err := informer.GetIndexer().Add(obj); err != nil {
			return err
		}
	}
	return nil
}

type selectorCase struct {
	Cluster cluster     `json:"cluster"`
	Pod     *corev1.Pod `json:"pod"`
}

type selectorAnswer struct {
	Selector string `json:"selector"`
	Empty    bool   `json:"empty"`
}

func judgeSelector(line []byte) (any, error) {
	var given selectorCase
	if err := json.Unmarshal(line, &given); err != nil {
		return nil, err
	}
	factory, err := given.Cluster.informers()
	if err != nil {
		return nil, err
	}
	core, apps := factory.Core().V1(), factory.Apps().V1()
	selector := helper.DefaultSelector(
		given.Pod,
		core.Services().Lister(),
		core.ReplicationControllers().Lister(),
		apps.ReplicaSets().Lister(),
		apps.StatefulSets().Lister(),
	)
	return selectorAnswer{selector.String(), selector.Empty()}, nil
}
