package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/apiserver/pkg/warning"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	_ "k8s.io/kubernetes/pkg/apis/apps/install"
	_ "k8s.io/kubernetes/pkg/apis/batch/install"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	"k8s.io/kubernetes/pkg/features"
	"k8s.io/kubernetes/pkg/registry/apps/daemonset"
	"k8s.io/kubernetes/pkg/registry/apps/deployment"
	"k8s.io/kubernetes/pkg/registry/apps/replicaset"
	"k8s.io/kubernetes/pkg/registry/apps/statefulset"
	"k8s.io/kubernetes/pkg/registry/batch/cronjob"
	"k8s.io/kubernetes/pkg/registry/batch/job"
	"k8s.io/kubernetes/pkg/registry/core/pod"
	"k8s.io/kubernetes/pkg/registry/core/podtemplate"
	"k8s.io/kubernetes/pkg/registry/core/replicationcontroller"
)

// What kube-apiserver does to each kind when an object is created or updated.
type kind struct {
	resource string
	strategy rest.RESTCreateUpdateStrategy
	spec     []string // path of the pod's specification
}

var template = []string{"spec", "template", "spec"}

var kinds = map[string]kind{
	"Pod":                   {"pods", pod.Strategy, []string{"spec"}},
	"PodTemplate":           {"podtemplates", podtemplate.Strategy, []string{"template", "spec"}},
	"ReplicationController": {"replicationcontrollers", replicationcontroller.Strategy, template},
	"Deployment":            {"deployments", deployment.Strategy, template},
	"ReplicaSet":            {"replicasets", replicaset.Strategy, template},
	"StatefulSet":           {"statefulsets", statefulset.Strategy, template},
	"DaemonSet":             {"daemonsets", daemonset.Strategy, template},
	"Job":                   {"jobs", job.Strategy, template},
	"CronJob": {"cronjobs", cronjob.Strategy,
		[]string{"spec", "jobTemplate", "spec", "template", "spec"}},
}

// The gates that decide on constraints and that these versions do not lock.
var gates = []string{
	string(features.MatchLabelKeysInPodTopologySpread),
	string(features.MatchLabelKeysInPodTopologySpreadSelectorMerge),
}

// A case without an operation is a create; an update has the stored object in Old.
type validationCase struct {
	FeatureGates map[string]bool `json:"featureGates"`
	Operation    string          `json:"operation"`
	Object       json.RawMessage `json:"object"`
	Old          json.RawMessage `json:"old"`
}

type cause struct {
	Reason  string `json:"reason"`
	Message string `json:"message"`
	Field   string `json:"field"`
}

type validationAnswer struct {
	Code     int      `json:"code"`
	Message  string   `json:"message,omitempty"`
	Causes   []cause  `json:"causes,omitempty"`
	Stored   []any    `json:"stored,omitempty"`
	Warnings []string `json:"warnings,omitempty"`
}

type warnings struct{ texts []string }

func (w *warnings) AddWarning(_, text string) { w.texts = append(w.texts, text) }

func judgeValidation(line []byte) (any, error) {
	var given validationCase
	if err := json.Unmarshal(line, &given); err != nil {
		return nil, err
	}
	if err := setGates(given.FeatureGates); err != nil {
		return nil, err
	}
	obj, gvk, err := decode(given.Object)
	if err != nil {
		return nil, err
	}
	found, known := kinds[gvk.Kind]
	if !known {
		return nil, fmt.Errorf("no strategy for %s", gvk.Kind)
	}
	recorded, code := &warnings{}, 201
	if given.Operation == "UPDATE" {
		code = 200
		err = update(found, *gvk, obj, given.Old, recorded)
	} else {
		err = create(found, *gvk, obj, recorded)
	}
	if err != nil {
		return refusal(err)
	}
	stored, err := constraintsOf(found, *gvk, obj)
	return validationAnswer{Code: code, Stored: stored, Warnings: recorded.texts}, err
}

// decode returns an object with the API server's defaults, in its internal version.
func decode(written []byte) (runtime.Object, *schema.GroupVersionKind, error) {
	obj, gvk, err := legacyscheme.Codecs.UniversalDeserializer().Decode(written, nil, nil)
	if err != nil {
		return nil, nil, err
	}
	legacyscheme.Scheme.Default(obj)
	internal, err := legacyscheme.Scheme.ConvertToVersion(
		obj, schema.GroupVersion{Group: gvk.Group, Version: runtime.APIVersionInternal})
	return internal, gvk, err
}

func setGates(requested map[string]bool) error {
	wanted := map[string]bool{}
	for _, gate := range gates {
		on, given := requested[gate]
		wanted[gate] = on || !given
	}
	return utilfeature.DefaultMutableFeatureGate.SetFromMap(wanted)
}

func create(found kind, gvk schema.GroupVersionKind, obj runtime.Object, recorded *warnings) error {
	accessor, err := meta.Accessor(obj)
	if err != nil {
		return err
	}
	rest.FillObjectMetaSystemFields(accessor)
	ctx := requestContext("create", found, gvk, accessor.GetNamespace(), recorded)
	return rest.BeforeCreate(found.strategy, ctx, obj)
}

// update replaces an object that is stored as it is written, even if it is invalid: an earlier
// version, or one with other gates, may have accepted it.
func update(
	found kind, gvk schema.GroupVersionKind, obj runtime.Object, written []byte, recorded *warnings,
) error {
	old, _, err := decode(written)
	if err != nil {
		return err
	}
	stored, err := meta.Accessor(old)
	if err != nil {
		return err
	}
	rest.FillObjectMetaSystemFields(stored)
	stored.SetResourceVersion("1")
	sent, err := meta.Accessor(obj)
	if err != nil {
		return err
	}
	sent.SetResourceVersion(stored.GetResourceVersion())
	ctx := requestContext("update", found, gvk, stored.GetNamespace(), recorded)
	return rest.BeforeUpdate(found.strategy, ctx, obj, old)
}

func requestContext(
	verb string, found kind, gvk schema.GroupVersionKind, namespace string, recorded *warnings,
) context.Context {
	ctx := request.WithNamespace(context.Background(), namespace)
	ctx = warning.WithWarningRecorder(ctx, recorded)
	return request.WithRequestInfo(ctx, &request.RequestInfo{
		IsResourceRequest: true, Verb: verb, Namespace: namespace,
		APIGroup: gvk.Group, APIVersion: gvk.Version, Resource: found.resource,
	})
}

func refusal(err error) (any, error) {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Details == nil {
		return nil, err
	}
	answer := validationAnswer{Code: int(status.Status().Code), Message: status.Status().Message}
	for _, one := range status.Status().Details.Causes {
		answer.Causes = append(answer.Causes, cause{string(one.Type), one.Message, one.Field})
	}
	return answer, nil
}

func constraintsOf(found kind, gvk schema.GroupVersionKind, obj runtime.Object) ([]any, error) {
	versioned, err := legacyscheme.Scheme.ConvertToVersion(obj, gvk.GroupVersion())
	if err != nil {
		return nil, err
	}
	written, err := json.Marshal(versioned)
	if err != nil {
		return nil, err
	}
	var value map[string]any
	if err := json.Unmarshal(written, &value); err != nil {
		return nil, err
	}
	for _, step := range found.spec {
		value, _ = value[step].(map[string]any)
	}
	listed, _ := value["topologySpreadConstraints"].([]any)
	return listed, nil
}
