#!/usr/bin/env bash
# Renders the manifests in deploy/ that come from the chart; with --print to standard output.
set -euo pipefail
cd "$(dirname "$0")/.."
helm=${HELM:-${CARGO_TARGET_DIR:-target}/bed/bin/helm}

rollout() {
  cat <<'END'
# narthex rollout for the whole cluster: two replicas, of which one acts, and the rights they need.
# Rendered from charts/narthex by `make manifests`; the chart has values for everything else, such as some namespaces only.
---
apiVersion: v1
kind: Namespace
metadata:
  name: narthex-rollout
END
  # There is no release of Helm behind these objects.
  "$helm" template --no-hooks narthex charts/narthex --namespace narthex-rollout --set controller.enabled=false,rollout.enabled=true \
    | sed -e '/^# Source: /d' -e '/helm.sh\/chart: /d' -e '/app.kubernetes.io\/managed-by: /d'
}

case ${1:-} in
  --print) rollout ;;
  *) rollout >deploy/rollout.yaml.new && mv deploy/rollout.yaml.new deploy/rollout.yaml ;;
esac
