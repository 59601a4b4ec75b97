//go:build tools

// Package bed pins the API server of another version of Kubernetes. It is never
// compiled: the import only makes go.mod and go.sum cover what ../build.sh builds.
package bed

import _ "k8s.io/kubernetes/cmd/kube-apiserver"
