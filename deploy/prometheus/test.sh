#!/usr/bin/env bash
# Tests the rules with promtool, and every query of rules and dashboards in a real Prometheus that scrapes a real gpud on a
# made-up machine of eight GPUs of NVIDIA, two of AMD and one InfiniBand port. A query that gives nothing fails. The GPUs of AMD
# need root, which gives gpud a /sys/bus/pci of its own; without, and for their PCIe links, the names of metrics are compared
# with those in the sources of the checks.
#
#   deploy/prometheus/test.sh [GPUD]
#
# Exit status: 0 passed, 1 failed, 77 could not be run here (the reason is on standard error).
set -euo pipefail
cd "$(dirname "$0")/../.."
target=${CARGO_TARGET_DIR:-target}
gpud=$(realpath -- "${1:-$target/debug/gpud}")
mock=$(dirname -- "$gpud")/libgpud_nvml_mock.so
[[ -e $mock ]] || mock=$(dirname -- "$gpud")/deps/libgpud_nvml_mock.so
mock=${GPUD_TEST_NVML_MOCK:-$mock}
export PATH="${GPUD_TEST_TOOLS:-$PATH}"
for program in promtool prometheus; do
  command -v "$program" >/dev/null || { echo "NOT RUN: there is no $program (Debian: prometheus)" >&2; exit 77; }
done

promtool check rules deploy/prometheus/gpud.rules.yaml
promtool test rules deploy/prometheus/gpud.rules.test.yaml
python3 deploy/grafana/dashboards.py --check

work=$(mktemp -d)
pids=()
finish() {
  status=$?
  for pid in "${pids[@]}"; do
    kill "$pid" 2>/dev/null || true
    wait "$pid" 2>/dev/null || true
  done
  if [[ $status -ne 0 ]]; then
    tail --lines 15 "$work"/*.log >&2 || true
  fi
  rm -rf "$work"
}
trap finish EXIT

# The machine: an NVML without GPUs behind it, and the kernel's folder of one port.
mkdir -p "$work/nvml" "$work/data"
cp "$mock" "$work/nvml/libnvidia-ml.so.1"
printf 'product: h100-sxm\ngpus: 8\n' >"$work/nvml/nvml-mock.yaml"
port=$work/infiniband/mlx5_0/ports/1
mkdir -p "$port/counters"
echo InfiniBand >"$port/link_layer"
echo '4: ACTIVE' >"$port/state"
echo '5: LinkUp' >"$port/phys_state"
echo '400 Gb/sec (4X NDR)' >"$port/rate"
for counter in link_downed link_error_recovery symbol_error local_link_integrity_errors excessive_buffer_overrun_errors \
  port_rcv_errors port_xmit_discards; do
  echo 0 >"$port/counters/$counter"
done
free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }
listen=127.0.0.1:$(free_port)
web=127.0.0.1:$(free_port)

# The links of PCI devices are the kernel's own; nothing can stand for them.
absent=(accelerator_amd_pcie_)
within=()
if [[ $(id -u) = 0 ]] && unshare --mount --propagation=private mount -t tmpfs none /sys/bus/pci 2>/dev/null; then
  # shellcheck disable=SC2016
  within=(unshare --mount --propagation=private bash -ec
    '. deploy/prometheus/amd.sh; mount -t tmpfs none /sys/bus/pci; amd_gpus /sys/bus/pci; exec "$@"' bash)
else
  echo "GPUs of AMD: NOT RUN, mounts of its own need root" >&2
  absent=(accelerator_amd_)
fi
KMSG_FILE_PATH=/dev/null "${within[@]}" "$gpud" run --data-dir "$work/data" --local-socket none --listen-address "$listen" \
  --nvml-library "$work/nvml/libnvidia-ml.so.1" --infiniband-class-root-dir "$work/infiniband" \
  --infiniband-expected-port-states '{"at_least_ports": 1, "at_least_rate": 400}' >"$work/gpud.log" 2>&1 &
pids+=($!)
cat >"$work/prometheus.yaml" <<YAML
global: {scrape_interval: 2s, evaluation_interval: 2s}
rule_files: [$PWD/deploy/prometheus/gpud.rules.yaml]
scrape_configs:
  - job_name: gpud
    scheme: https
    tls_config: {insecure_skip_verify: true}
    static_configs: [{targets: ['$listen']}]
YAML
prometheus --config.file="$work/prometheus.yaml" --storage.tsdb.path="$work/tsdb" --web.listen-address="$web" \
  >"$work/prometheus.log" 2>&1 &
pids+=($!)

python3 deploy/prometheus/queries.py "http://$web" 150 "${absent[@]}"
