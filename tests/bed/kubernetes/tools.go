//go:build tools

// Package bed pins the Kubernetes binaries of the test bed. It is never
// compiled: the imports only make go.mod and go.sum cover what ../build.sh builds.
package bed

import (
	_ "k8s.io/kubernetes/cmd/kube-apiserver"
	_ "k8s.io/kubernetes/cmd/kube-controller-manager"
	_ "k8s.io/kubernetes/cmd/kubectl"
)
