package main

import (
	"context"
	"encoding/json"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/parallelize"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/feature"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/podtopologyspread"
	"k8s.io/kubernetes/pkg/scheduler/metrics"
)

type defaults struct {
	DefaultConstraints []corev1.TopologySpreadConstraint `json:"defaultConstraints"`
	DefaultingType     string                            `json:"defaultingType"`
}

type placementCase struct {
	Cluster      cluster         `json:"cluster"`
	Pod          *corev1.Pod     `json:"pod"`
	Defaults     defaults        `json:"defaults"`
	FeatureGates map[string]bool `json:"featureGates"`
}

type placementAnswer struct {
	Filter   map[string]string `json:"filter"`
	PreScore string            `json:"preScore"`
	RawScore map[string]int64  `json:"rawScore,omitempty"`
	Score    map[string]int64  `json:"score,omitempty"`
}

// What the plugin requires of the scheduler around it.
type handle struct {
	fwk.Handle
	nodes   *cache.Snapshot
	objects informers.SharedInformerFactory
}

func (h handle) SnapshotSharedLister() fwk.SharedLister                 { return h.nodes }
func (h handle) SharedInformerFactory() informers.SharedInformerFactory { return h.objects }
func (h handle) Parallelizer() fwk.Parallelizer                         { return parallelize.NewParallelizer(1) }

type plugin interface {
	fwk.PreFilterPlugin
	fwk.FilterPlugin
	fwk.PreScorePlugin
	fwk.ScorePlugin
}

func init() {
	metrics.InitMetrics() // the parallelizer counts in them
}

func judgePlacement(line []byte) (any, error) {
	var given placementCase
	if err := json.Unmarshal(line, &given); err != nil {
		return nil, err
	}
	factory, err := given.Cluster.informers()
	if err != nil {
		return nil, err
	}
	snapshot := cache.NewSnapshot(given.Cluster.Pods, given.Cluster.Nodes)
	ctx := context.Background()
	made, err := podtopologyspread.New(
		ctx, given.arguments(), handle{nodes: snapshot, objects: factory}, given.features())
	if err != nil {
		return nil, err
	}
	return place(ctx, made.(plugin), given.Pod, snapshot)
}

func (c *placementCase) arguments() *config.PodTopologySpreadArgs {
	kind := config.ListDefaulting
	if c.Defaults.DefaultingType == string(config.SystemDefaulting) {
		kind = config.SystemDefaulting
	}
	return &config.PodTopologySpreadArgs{
		DefaultConstraints: c.Defaults.DefaultConstraints, DefaultingType: kind,
	}
}

func (c *placementCase) features() feature.Features {
	on := func(gate string) bool {
		value, given := c.FeatureGates[gate]
		return value || !given
	}
	return feature.Features{
		EnableNodeInclusionPolicyInPodTopologySpread: on("NodeInclusionPolicyInPodTopologySpread"),
		EnableMatchLabelKeysInPodTopologySpread:      on("MatchLabelKeysInPodTopologySpread"),
	}
}

func place(
	ctx context.Context, pl plugin, pod *corev1.Pod, snapshot *cache.Snapshot,
) (any, error) {
	nodes, err := snapshot.NodeInfos().List()
	if err != nil {
		return nil, err
	}
	state := framework.NewCycleState()
	answer := placementAnswer{Filter: map[string]string{}}
	_, before := pl.PreFilter(ctx, state, pod, nodes)
	if before.Code() == fwk.Error {
		return nil, before.AsError()
	}
	var passing []fwk.NodeInfo
	for _, node := range nodes {
		status := before
		if !before.IsSkip() {
			status = pl.Filter(ctx, state, pod, node)
		}
		answer.Filter[node.Node().Name] = describe(status)
		if status.IsSuccess() || status.IsSkip() {
			passing = append(passing, node)
		}
	}
	scored := pl.PreScore(ctx, state, pod, passing)
	answer.PreScore = describe(scored)
	if scored.IsSuccess() && len(passing) > 0 {
		return score(ctx, pl, state, pod, passing, answer)
	}
	return answer, nil
}

func describe(status *fwk.Status) string {
	if message := status.Message(); message != "" {
		return status.Code().String() + ": " + message
	}
	return status.Code().String()
}

func score(
	ctx context.Context, pl plugin, state fwk.CycleState, pod *corev1.Pod, nodes []fwk.NodeInfo,
	answer placementAnswer,
) (any, error) {
	var scores fwk.NodeScoreList
	answer.RawScore, answer.Score = map[string]int64{}, map[string]int64{}
	for _, node := range nodes {
		raw, status := pl.Score(ctx, state, pod, node)
		if !status.IsSuccess() {
			return nil, status.AsError()
		}
		answer.RawScore[node.Node().Name] = raw
		scores = append(scores, fwk.NodeScore{Name: node.Node().Name, Score: raw})
	}
	status := pl.ScoreExtensions().NormalizeScore(ctx, state, pod, scores)
	if !status.IsSuccess() {
		return nil, status.AsError()
	}
	for _, one := range scores {
		answer.Score[one.Name] = one.Score
	}
	return answer, nil
}
