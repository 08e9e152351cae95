// The peer of the benchmark: a mutating webhook on controller-runtime that gives a pod two default
// constraints, with the selector of its Services and its ReplicaSet.
//
// It is written as its library suggests: decode the pod, change it, answer with the difference.
// It does a part of what evenspread does: no rules, no gates, no provenance, no update.
//
//	peer PORT SERVICES FOLDER
//
// SERVICES are in the pod's namespace, one of them selects it; FOLDER has t.crt and t.key.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strconv"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

const name = "app.kubernetes.io/name"

var topologyKeys = []string{corev1.LabelTopologyZone, corev1.LabelHostname}

// owner is the namespace and the name of a ReplicaSet.
type owner struct{ namespace, name string }

// spreader injects constraints; it knows the cluster as a cache of informers would.
type spreader struct {
	decoder     admission.Decoder
	services    []*corev1.Service // of the only namespace there is
	replicaSets map[owner]*metav1.LabelSelector
}

// Handle answers one review.
func (s *spreader) Handle(_ context.Context, request admission.Request) admission.Response {
	pod := &corev1.Pod{}
	if err := s.decoder.Decode(request, pod); err != nil {
		return admission.Errored(http.StatusBadRequest, err)
	}
	if len(pod.Spec.TopologySpreadConstraints) > 0 {
		return admission.Allowed("it has constraints of its own")
	}
	selector := s.selector(request.Namespace, pod)
	if len(selector) == 0 {
		return admission.Allowed("nothing selects it")
	}
	for _, key := range topologyKeys {
		pod.Spec.TopologySpreadConstraints = append(pod.Spec.TopologySpreadConstraints,
			corev1.TopologySpreadConstraint{
				MaxSkew:           1,
				TopologyKey:       key,
				WhenUnsatisfiable: corev1.ScheduleAnyway,
				LabelSelector:     &metav1.LabelSelector{MatchLabels: selector},
			})
	}
	changed, err := json.Marshal(pod)
	if err != nil {
		return admission.Errored(http.StatusInternalServerError, err)
	}
	return admission.PatchResponseFromRaw(request.Object.Raw, changed)
}

// selector merges what selects a pod, as kube-scheduler's DefaultSelector does.
func (s *spreader) selector(namespace string, pod *corev1.Pod) labels.Set {
	merged := labels.Set{}
	carried := labels.Set(pod.Labels)
	for _, service := range s.services {
		if service.Spec.Selector == nil {
			continue
		}
		if labels.Set(service.Spec.Selector).AsSelectorPreValidated().Matches(carried) {
			merged = labels.Merge(merged, service.Spec.Selector)
		}
	}
	if controller := metav1.GetControllerOfNoCopy(pod); controller != nil {
		if known, ok := s.replicaSets[owner{namespace, controller.Name}]; ok {
			merged = labels.Merge(merged, known.MatchLabels)
		}
	}
	return merged
}

func service(selector labels.Set) *corev1.Service {
	return &corev1.Service{Spec: corev1.ServiceSpec{Selector: selector}}
}

func newSpreader(services int) (*spreader, error) {
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		return nil, err
	}
	made := &spreader{
		decoder:  admission.NewDecoder(scheme),
		services: []*corev1.Service{service(labels.Set{name: "checkout"})},
		replicaSets: map[owner]*metav1.LabelSelector{
			{"shop", "checkout-7d4b9c6f5d"}: {MatchLabels: labels.Set{
				name:                         "checkout",
				"app.kubernetes.io/instance": "checkout-prod",
				"pod-template-hash":          "7d4b9c6f5d",
			}},
		},
	}
	for i := 1; i < services; i++ {
		other := labels.Set{name: fmt.Sprintf("service-%d", i), "team": "payments"}
		made.services = append(made.services, service(other))
	}
	return made, nil
}

func serve(port, services, folder string) error {
	number, err := strconv.Atoi(port)
	if err != nil {
		return err
	}
	count, err := strconv.Atoi(services)
	if err != nil {
		return err
	}
	handler, err := newSpreader(count)
	if err != nil {
		return err
	}
	log.SetLogger(logr.Discard())
	server := webhook.NewServer(webhook.Options{
		Host: "127.0.0.1", Port: number, CertDir: folder, CertName: "t.crt", KeyName: "t.key",
	})
	server.Register("/mutate", &webhook.Admission{Handler: handler})
	return server.Start(context.Background())
}

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: peer PORT SERVICES FOLDER")
		os.Exit(2)
	}
	if err := serve(os.Args[1], os.Args[2], os.Args[3]); err != nil {
		fmt.Fprintln(os.Stderr, "peer:", err)
		os.Exit(1)
	}
}
