// Command controlplane holds a whole Kubernetes control plane for tests: etcd, kube-apiserver,
// kube-scheduler, kube-controller-manager and kubectl are five entry points of this one program.
//
// The name it is called by picks the entry point, so a folder of symbolic links to it is what
// KUBEBUILDER_ASSETS means. Called by any other name it takes the entry point from its first
// argument:
//
//	controlplane kubectl version --client
//
// Linking everything once instead of five times keeps the build at minutes and the result at
// some 170 MB. Nothing is changed about the components; their flags are documented upstream.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"          // --logging-format=json
	_ "k8s.io/component-base/metrics/prometheus/clientgo" // rest_client_* on /metrics
	_ "k8s.io/component-base/metrics/prometheus/version"  // kubernetes_build_info on /metrics
	kubectl "k8s.io/kubectl/pkg/cmd"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
)

// entryPoints runs a component to its end with arguments as in os.Args, and never returns
// before that. etcd parses its own flags and exits by itself; the others are cobra commands,
// built only when asked for because building one registers its flags and feature gates.
var entryPoints = map[string]func(args []string) int{
	"etcd": func(args []string) int {
		etcdmain.Main(args)
		return 0
	},
	"kube-apiserver":          run(apiserver.NewAPIServerCommand),
	"kube-controller-manager": run(controllermanager.NewControllerManagerCommand),
	"kube-scheduler": run(func() *cobra.Command {
		return scheduler.NewSchedulerCommand() // its out-of-tree plugin options do not fit run
	}),
	"kubectl": run(kubectl.NewDefaultKubectlCommand),
}

func run(command func() *cobra.Command) func([]string) int {
	return func([]string) int { return cli.Run(command()) } // cobra reads os.Args itself
}

func main() {
	name := filepath.Base(os.Args[0])
	if _, known := entryPoints[name]; !known && len(os.Args) > 1 {
		os.Args = os.Args[1:]
		name = os.Args[0]
	}
	entryPoint, known := entryPoints[name]
	if !known {
		fmt.Fprintf(os.Stderr, "controlplane: %q is none of its components; "+
			"name etcd, kube-apiserver, kube-scheduler, kube-controller-manager or kubectl\n", name)
		os.Exit(2)
	}
	os.Exit(entryPoint(os.Args))
}
