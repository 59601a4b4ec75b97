//go:build tools

// Package bed pins the helm of the test bed. It is never compiled: the import
// only makes go.mod and go.sum cover what ../build.sh builds.
package bed

import _ "helm.sh/helm/v3/cmd/helm"
