//go:build tools

// Package bed pins the etcd server of the test bed. It is never compiled: the
// import only makes go.mod and go.sum cover what ../build.sh builds.
package bed

import _ "go.etcd.io/etcd/server/v3"
