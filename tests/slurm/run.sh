#!/usr/bin/env bash
# `gpud healthcheck --slurm` against a real Slurm (slurmctld, slurmd, munge) of one node on this machine's loopback: drains on
# an Xid in the real kernel log, leaves others' drains alone, resumes after set-healthy, as HealthCheckProgram, too.
#
#   tests/slurm/run.sh [GPUD]
#
# The programs are those of GPUD_TEST_TOOLS (tests/tools.sh fetches them), else those that are installed. Needs root, for the
# kernel log. Exit status: 0 passed, 1 failed, 77 could not be run here (the reason is on standard error).
set -euo pipefail
cd "$(dirname "$0")/../.."
target=${CARGO_TARGET_DIR:-target}
gpud=$(realpath -- "${1:-$target/debug/gpud}")
export PATH="${GPUD_TEST_TOOLS:-$PATH:/usr/sbin}"
not_run() { echo "NOT RUN: $1" >&2; exit 77; }

[[ $(id --user) = 0 ]] || not_run "only root may write into the kernel log"
[[ -w /dev/kmsg ]] || not_run "the kernel log cannot be written here"
# Debian calls the programs so, and links the usual names to them when they are installed.
program() { command -v "$1-wlm" || command -v "$1" || not_run "there is no $1 (Debian: slurm-wlm; or tests/tools.sh)"; }
slurmctld=$(program slurmctld)
slurmd=$(program slurmd)
slurmstepd=$(program slurmstepd)
scontrol=$(program scontrol)
munged=$(program munged)
libraries=$(realpath -- "$(dirname -- "$slurmctld")/../lib/$(uname -m)-linux-gnu")
export LD_LIBRARY_PATH=$libraries:$libraries/slurm-wlm

work=$(mktemp -d)
chmod 755 "$work"
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
start() { # LOG COMMAND…
  "${@:2}" >"$work/$1.log" 2>&1 &
  pids+=($!)
}
eventually() { # WHAT COMMAND…
  for _ in $(seq 300); do
    if "${@:2}" >/dev/null 2>&1; then return; fi
    sleep 0.1
  done
  echo "not within 30 s: $1" >&2
  exit 1
}
free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }

# Slurm.
node=gpud-test
mkdir "$work/munge" "$work/state" "$work/spool"
head --bytes 1024 /dev/urandom >"$work/munge/key"
chmod 400 "$work/munge/key"
export SLURM_CONF=$work/slurm.conf
host=$(hostname)
cat >"$SLURM_CONF" <<CONF
ClusterName=gpud
SlurmctldHost=${host%%.*}(127.0.0.1)
SlurmctldPort=$(free_port)
SlurmdPort=$(free_port)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$work/munge/socket
CredType=cred/munge
StateSaveLocation=$work/state
SlurmdSpoolDir=$work/spool
SlurmctldPidFile=$work/slurmctld.pid
SlurmdPidFile=$work/slurmd.pid
PluginDir=$libraries/slurm-wlm
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/linear
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SwitchType=switch/none
MpiDefault=none
ReturnToService=2
HealthCheckProgram=$work/health.sh
HealthCheckInterval=1
NodeName=$node NodeAddr=127.0.0.1 NodeHostname=${host%%.*} CPUs=1
PartitionName=all Nodes=$node Default=YES
CONF
# slurmd starts health checks with an empty environment.
cat >"$work/scontrol" <<SCRIPT
#!/bin/sh
export LD_LIBRARY_PATH=$LD_LIBRARY_PATH SLURM_CONF=$SLURM_CONF
exec $scontrol "\$@"
SCRIPT
cat >"$work/health.sh" <<SCRIPT
#!/bin/sh
[ -e $work/enabled ] || exit 0
exec $gpud healthcheck --slurm --data-dir $work/data --scontrol $work/scontrol >>$work/health.log 2>&1
SCRIPT
chmod 755 "$work/scontrol" "$work/health.sh"
start munged "$munged" --foreground --force --key-file="$work/munge/key" --socket="$work/munge/socket" \
  --pid-file="$work/munge/pid" --log-file="$work/munge/log" --seed-file="$work/munge/seed"
eventually "munged listens" test -S "$work/munge/socket"
start slurmctld "$slurmctld" -D -i
eventually "slurmctld answers" "$scontrol" ping
start slurmd "$slurmd" -D -N "$node" -d "$slurmstepd"
shown() { "$scontrol" show node "$node"; }
is() { shown | grep --quiet --extended-regexp "$1"; }
eventually "the node is idle" is 'State=IDLE '

# gpud, with two checks.
port=$(free_port)
run_gpud() {
  start gpud "$gpud" run --data-dir "$work/data" --listen-address "127.0.0.1:$port" --local-socket "$work/gpud.sock" \
    --plugin-specs-file= --exports-file= --components accelerator-nvidia-error-xid,cpu
  daemon=$!
}
run_gpud
check() { "$gpud" healthcheck --data-dir "$work/data" "$@"; }
all_checked() { [[ $(check || true) = *" starting=0 "* ]]; }
drain() { check --slurm --node "$node" --scontrol "$work/scontrol" "$@"; }
expect() { # STATUS TEXT ARGUMENTS…
  local status=0 said
  said=$(drain "${@:3}") || status=$?
  if [[ $status != "$1" || $said != *"$2"* ]]; then
    echo "expected $1 and ${2@Q}, but got $status and ${said@Q}" >&2
    exit 1
  fi
  echo "  $said"
}
node_is() { is "$1" || { echo "expected $1:" >&2; shown >&2; exit 1; }; }
xid() {
  "$gpud" inject-fault --kernel-log-level kern.err \
    --kernel-message "NVRM: Xid (PCI:00f3:5a:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus. slurm test $1"
  eventually "the Xid is seen" unhealthy
}
unhealthy() { [[ $(check || true) = CRITICAL* ]]; }
heal() {
  "$gpud" set-healthy accelerator-nvidia-error-xid --server "https://127.0.0.1:$port" >/dev/null
  eventually "set-healthy clears it" check
}

# The kernel log may hold Xids of other tests.
eventually "all components are checked" all_checked
heal

echo "a healthy node:"
expect 0 "$node is fit for jobs"
node_is 'State=IDLE '
echo "an Xid:"
xid 1
expect 0 "would drain $node: gpud: accelerator-nvidia-error-xid" --dry-run
node_is 'State=IDLE '
expect 0 "$node is fit for jobs" --components cpu
expect 1 "drained $node: gpud: accelerator-nvidia-error-xid"
node_is 'State=IDLE\+DRAIN '
node_is 'Reason=gpud: accelerator-nvidia-error-xid: .*79'
expect 1 "$node stays drained"
echo "after set-healthy:"
heal
expect 0 "would resume $node" --dry-run
node_is 'State=IDLE\+DRAIN '
expect 0 "resumed $node"
eventually "the node is idle" is 'State=IDLE '
if is 'Reason='; then echo "the reason stays: $(shown)" >&2; exit 1; fi
echo "a drain of somebody else:"
"$scontrol" update NodeName="$node" State=DRAIN Reason="bad dimm"
expect 0 "withheld by others (bad dimm)"
xid 2
expect 1 "withheld by others (bad dimm)"
heal
expect 0 "withheld by others (bad dimm)"
node_is 'State=IDLE\+DRAIN '
node_is 'Reason=bad dimm '
"$scontrol" update NodeName="$node" State=UNDRAIN
eventually "the node is idle" is 'State=IDLE '
echo "as HealthCheckProgram:"
touch "$work/enabled"
xid 3
eventually "slurmd's health check drains the node" is 'State=IDLE\+DRAIN '
node_is 'Reason=gpud: '
heal
eventually "slurmd's health check resumes the node" is 'State=IDLE '
rm "$work/enabled"
sort --unique "$work/health.log" | sed 's/^/  /'
echo "without an answer:"
kill "$daemon"
wait "$daemon" || true
expect 0 "$node is left alone, gpud does not answer"
node_is 'State=IDLE '
expect 1 "drained $node: gpud: does not answer" --drain-if-unreachable
node_is 'State=IDLE\+DRAIN '
run_gpud
eventually "all components are checked" all_checked
expect 0 "resumed $node"
echo "Slurm: passed"
