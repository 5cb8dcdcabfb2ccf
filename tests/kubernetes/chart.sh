#!/bin/bash
# Renders deploy/helm/gpud with several sets of values, and has a real API server accept every object (a dry run with strict
# validation of fields). Combinations that cannot work are refused by the chart with a reason.
#
# The first time it builds helm (helm.sh) and the API server (apiserver.sh), which takes many minutes.
# Exit status: 0 passed, 1 failed, 77 could not be run here (the reason is on standard error).
set -euo pipefail
here=$(dirname -- "$(realpath -- "$0")")
chart=$here/../../deploy/helm/gpud
export PYTHONDONTWRITEBYTECODE=1
for program in openssl python3; do
    command -v "$program" >/dev/null || { echo "NOT RUN: there is no $program" >&2; exit 77; }
done
helm=$("$here/helm.sh")
tools=$("$here/apiserver.sh")
export PATH="$helm:$tools:$PATH"
work=$(mktemp -d)
trap 'rm -rf -- "$work"' EXIT
export HELM_CACHE_HOME=$work/helm HELM_CONFIG_HOME=$work/helm HELM_DATA_HOME=$work/helm

helm lint --strict "$chart" >&2
mkdir "$work/rendered"
# The version of the API server: a helm from its module alone believes in a very old one.
version=$(kube-apiserver --version | sed 's/^Kubernetes v//')
template() { helm template gpud "$chart" --namespace gpud --kube-version "$version" "$@"; }
# render NAME ARGUMENTS…
render() { template --output-dir "$work/rendered/$1" "${@:2}" >/dev/null; }
cat >"$work/policy.yaml" <<'END'
cpu:
  policy:
    cpu_soft_lockup: {severity: fatal, threshold: 3, window_seconds: 3600}
END
render plain
render all --set podMonitor.enabled=true --set runtimeClassName=nvidia --set rights.hostRoot=true \
    --set 'devices={/dev/ipmi0}' --set 'secretFiles={gpud-webhook}' --set 'extraArgs={--require-token}' \
    --set 'rights.extraCapabilities={NET_ADMIN}' --set-file "specs=$here/../../specs/tag-group.yaml" \
    --set-file "componentConfigs=$work/policy.yaml" --set 'nodeSelector.nvidia\.com/gpu\.present=true' \
    --set podLabels.tier=1,podAnnotations.watched=true,podMonitor.labels.release=7,serviceAccount.annotations.made=true
render least --set rights.root=false,rights.kernelLog=false,rights.hostPID=false,rights.hostNetwork=false \
    --set listen=pod,exports=,rbac.create=false,serviceAccount.create=false,stateHostPath=
# Each capability goes by itself, and with the right that it belongs to.
capabilities() { template "$@" | sed -n '/^              add:$/,/^ \{0,14\}[^ ]/s/^                - //p' | paste --serial --delimiters ,; }
gives() {
    local found
    found=$(capabilities "${@:2}")
    [[ $found = "$1" ]] || { echo "the capabilities of ${*:2} are $found, not $1" >&2; exit 1; }
}
gives SYSLOG,SYS_PTRACE,DAC_READ_SEARCH
gives SYS_PTRACE,DAC_READ_SEARCH --set rights.kernelLog=false
gives SYSLOG --set rights.hostPID=false
gives SYS_PTRACE --set 'rights.capabilities={SYS_PTRACE}'
gives SYSLOG,SYS_PTRACE,NET_ADMIN --set 'rights.capabilities={SYSLOG,SYS_PTRACE}' --set 'rights.extraCapabilities={NET_ADMIN,SYSLOG}'
gives "" --set-json 'rights.capabilities=[]'
gives "" --set rights.kernelLog=false,rights.root=false
render capabilities --set-json 'rights.capabilities=[]'

render plugin --set rights.kernelLogResource=squat.ai/kmsg
render named --set fullnameOverride=health,nameOverride=other,serviceAccount.name=somebody,image.tag=1.2.3

refused() {
    local text=$1 output
    shift
    if output=$(template "$@" 2>&1); then
        echo "not refused: $*" >&2
        exit 1
    fi
    [[ $output = *"$text"* ]] || { printf 'no "%s" in: %s\n' "$text" "$output" >&2; exit 1; }
}
refused "incompatible with Kubernetes" --kube-version 1.24.0
template --kube-version 1.25.0 >/dev/null
refused "listen: pod is for" --set listen=pod
refused "rights.kernelLog needs rights.root" --set rights.root=false
refused "does not reach the loopback" --set podMonitor.enabled=true,listen=loopback
refused "misspelt" --set misspelt=1
refused "extraCapabilities" --set 'rights.extraCapabilities={ALL}'

timeout --kill-after=10 300 python3 "$here/chart.py" "$work"
