#!/usr/bin/env bash
# Runs inside the bed: applies run-cluster.yaml and serves it.
set -euo pipefail
bin=$1
# Not 8080: the Pods listen there, on addresses of this machine.
http=8880 https=8843 health=10254
kubectl apply -f examples/class.yaml -f scripts/run-cluster.yaml >/dev/null
kubectl rollout status deployment/hello --timeout=60s >/dev/null
work=$(mktemp -d)
narthex=
finish() {
  trap - EXIT
  # A second Ctrl-C must not cut the tidying short.
  trap '' INT TERM HUP
  if [ -n "$narthex" ]; then kill -TERM "$narthex" 2>/dev/null || true; wait "$narthex" 2>/dev/null || true; fi
  rm -rf "$work"
}
trap finish EXIT
trap 'exit 0' INT TERM HUP
setsid "$bin/narthex" run --kubeconfig "$KUBECONFIG" --work-dir "$work" --drain-timeout 2 --publish-status-address 10.77.0.1 \
  --http-port "$http" --https-port "$https" --healthz-port "$health" &
narthex=$!
for _ in $(seq 100); do
  curl -fs -o /dev/null "http://127.0.0.1:$health/healthz" && break
  kill -0 "$narthex" 2>/dev/null || { wait "$narthex" || exit $?; exit 1; }
  sleep 0.1
done
# The bed has a network of its own.
enter="nsenter --target ${OUTSIDE_PID:-PID_OF_THE_BED} --net --mount"
[ "${OUTSIDE_UID:-0}" = 0 ] || enter="$enter --user --preserve-credentials"
# The bed's own: there may be none outside.
kubectl=$(command -v kubectl)
cat <<END

  Narthex serves a cluster with real Deployments. In another terminal:

    $enter curl -s -H 'Host: hello.example.com' http://127.0.0.1:$http/

    export KUBECONFIG=$KUBECONFIG
    $enter $kubectl scale deployment hello --replicas 5
    $enter $kubectl get ingress,pods

  Ctrl-C ends it.

END
wait "$narthex"
