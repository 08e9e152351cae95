package main

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/apis/core"
	_ "k8s.io/kubernetes/pkg/apis/storage/install"
	"k8s.io/kubernetes/pkg/registry/core/pod"
	"k8s.io/kubernetes/pkg/scheduler"
	schedulercache "k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

type filtersCase struct {
	Cluster cluster     `json:"cluster"`
	Pod     *corev1.Pod `json:"pod"`
}

// Nodes are absent if the pod fits; then kube-scheduler does not report those that it rejected.
type filtersAnswer struct {
	Message string              `json:"message"`
	Fits    bool                `json:"fits,omitempty"`
	Nodes   map[string][]string `json:"nodes,omitzero"`
}

// An informer that never starts. Handlers get an object when it is added, in the same goroutine.
type informer struct {
	cache.SharedIndexInformer
	handlers []cache.ResourceEventHandler
}

func (i *informer) AddEventHandler(
	handler cache.ResourceEventHandler,
) (cache.ResourceEventHandlerRegistration, error) {
	i.handlers = append(i.handlers, handler)
	return i.SharedIndexInformer.AddEventHandler(handler)
}

// follow makes a factory give out such an informer for a type of objects.
func follow(factory informers.SharedInformerFactory, example runtime.Object) *informer {
	indexers := cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}
	made := &informer{
		SharedIndexInformer: cache.NewSharedIndexInformer(&cache.ListWatch{}, example, 0, indexers),
	}
	factory.InformerFor(example, func(kubernetes.Interface, time.Duration) cache.SharedIndexInformer {
		return made
	})
	return made
}

func deliver[T any](to *informer, objects []T) error {
	if err := add(to, objects); err != nil {
		return err
	}
	for _, obj := range objects {
		for _, handler := range to.handlers {
			handler.OnAdd(obj, true)
		}
	}
	return nil
}

func judgeFilters(line []byte) (any, error) {
	var given filtersCase
	if err := json.Unmarshal(line, &given); err != nil {
		return nil, err
	}
	if err := given.store(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(klog.NewContext(context.Background(), klog.Logger{}))
	defer cancel()
	sched, err := given.Cluster.scheduler(ctx)
	if err != nil {
		return nil, err
	}
	return schedule(ctx, sched, given.Pod)
}

// store changes the objects to what kube-apiserver stores: with its defaults, and in pod affinity
// with the matchLabelKeys and mismatchLabelKeys merged into the selector.
func (c *filtersCase) store() error {
	setDefaults(c.Cluster.Nodes)
	setDefaults(c.Cluster.Namespaces)
	setDefaults(c.Cluster.PersistentVolumes)
	setDefaults(c.Cluster.PersistentVolumeClaims)
	setDefaults(c.Cluster.StorageClasses)
	for _, one := range append([]*corev1.Pod{c.Pod}, c.Cluster.Pods...) {
		if err := storePod(one); err != nil {
			return err
		}
	}
	return nil
}

func setDefaults[T runtime.Object](objects []T) {
	for _, obj := range objects {
		legacyscheme.Scheme.Default(obj)
	}
}

func storePod(given *corev1.Pod) error {
	legacyscheme.Scheme.Default(given)
	internal := &core.Pod{}
	if err := legacyscheme.Scheme.Convert(given, internal, nil); err != nil {
		return err
	}
	status := internal.Status
	pod.Strategy.PrepareForCreate(context.Background(), internal)
	internal.Status = status // a running pod's
	return legacyscheme.Scheme.Convert(internal, given, nil)
}

// scheduler returns kube-scheduler with its default profile, and the cluster in its cache.
func (c *cluster) scheduler(ctx context.Context) (*scheduler.Scheduler, error) {
	factory, err := c.informers()
	if err != nil {
		return nil, err
	}
	nodes, pods := follow(factory, &corev1.Node{}), follow(factory, &corev1.Pod{})
	volumes := follow(factory, &corev1.PersistentVolume{})
	claims := follow(factory, &corev1.PersistentVolumeClaim{})
	storage := factory.Storage().V1()
	if err := errors.Join(
		add(factory.Core().V1().Namespaces().Informer(), c.Namespaces),
		add(storage.StorageClasses().Informer(), c.StorageClasses),
		add(storage.CSINodes().Informer(), c.CSINodes),
	); err != nil {
		return nil, err
	}
	recorders := func(string) events.EventRecorderLogger { return &events.FakeRecorder{} }
	sched, err := scheduler.New(
		ctx, client, factory, nil, recorders, scheduler.WithParallelism(1))
	if err != nil {
		return nil, err
	}
	return sched, errors.Join(
		deliver(nodes, c.Nodes),
		deliver(volumes, c.PersistentVolumes),
		deliver(claims, c.PersistentVolumeClaims),
		deliver(pods, c.unfinishedPods()),
	)
}

// kube-scheduler lists and watches no others. Source: newPodInformer.
func (c *cluster) unfinishedPods() []*corev1.Pod {
	var found []*corev1.Pod
	for _, one := range c.Pods {
		if phase := one.Status.Phase; phase != corev1.PodSucceeded && phase != corev1.PodFailed {
			found = append(found, one)
		}
	}
	return found
}

// schedule runs a scheduling cycle up to preemption: what PostFilter plugins add to the message is
// not part of the answer. So no pod needs the preemptionPolicy Never.
func schedule(ctx context.Context, sched *scheduler.Scheduler, incoming *corev1.Pod) (any, error) {
	profile := sched.Profiles[corev1.DefaultSchedulerName]
	snapshot := profile.SnapshotSharedLister().(*schedulercache.Snapshot)
	if err := sched.Cache.UpdateSnapshot(klog.FromContext(ctx), snapshot); err != nil {
		return nil, err
	}
	info, err := framework.NewPodInfo(incoming)
	if err != nil {
		return nil, err
	}
	queued := &framework.QueuedPodInfo{PodInfo: info}
	_, err = sched.SchedulePod(ctx, profile, framework.NewCycleState(), queued)
	if err == nil {
		return filtersAnswer{Fits: true}, nil
	}
	answer := filtersAnswer{Message: err.Error(), Nodes: map[string][]string{}}
	var unfit *framework.FitError
	if !errors.As(err, &unfit) {
		return answer, nil // no nodes, or a plugin failed: kube-scheduler reports no node
	}
	nodes, err := snapshot.NodeInfos().List()
	if err != nil {
		return nil, err
	}
	for _, node := range nodes {
		name := node.Node().Name
		answer.Nodes[name] = unfit.Diagnosis.NodeToStatus.Get(name).Reasons()
	}
	return answer, nil
}
