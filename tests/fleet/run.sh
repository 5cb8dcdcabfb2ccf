#!/bin/bash
# Runs gpud together with the real engines that it exports to. docs/fleet.md has the figures.
#
#   run.sh story GPUD               one machine, an API server, Slurm, Prometheus, Alertmanager, PostgreSQL, S3 and OTLP at once:
#                                   an Xid 79 reaches all of them, and set-healthy clears all of them; about five minutes
#   run.sh outage GPUD [OPTIONS]    one machine: every engine is away at once, one of them half open, and comes back; nothing is
#                                   lost, and repeats have their ids; two minutes (--seconds 20 --every 2 --json FILE)
#   run.sh faults GPUD              one machine: names that cannot be looked up, certificates that are over, secrets that are
#                                   replaced, a full disk, a wrong edit, a clock that jumps; four minutes, as root
#   run.sh size GPUD [OPTIONS]      many machines, an API server and PostgreSQL: what a fleet writes, and a storm of faults;
#                                   about 15 minutes and 25 MiB for each machine (--nodes 200 --storm 5 --per-second 1
#                                   --quiet 420 --json FILE)
#   run.sh figures GPUD [OPTIONS]   one machine with all exports: how late a verdict arrives, what exports cost when idle, and
#                                   memory while an endpoint is dead; about 15 minutes (--changes 100 --idle 600
#                                   --only idle|latencies|dead --json FILE)
#
# The first time it builds the API server (tests/kubernetes/apiserver.sh, ten minutes) and the collector (tests/otlp/collector.sh).
# Slurm, Prometheus, Alertmanager and PostgreSQL are those of GPUD_TEST_TOOLS (tests/tools.sh fetches them), else those that are installed.
# Exit status: 0 passed, 1 failed, 77 could not be run here (the reason is on standard error).
set -euo pipefail
here=$(dirname -- "$(realpath -- "$0")")
export PYTHONDONTWRITEBYTECODE=1
usage() { sed -n '2,15s/^# \{0,1\}//p' "$0" >&2; exit 1; }
not_run() { echo "NOT RUN: $1" >&2; exit 77; }
what=${1:-}
gpud=${2:-${CARGO_TARGET_DIR:-$here/../../target}/debug/gpud}
case $what in story | outage | faults | size | figures) ;; *) usage ;; esac
for program in openssl python3; do
    command -v "$program" >/dev/null || not_run "there is no $program"
done
gpud=$(realpath -e -- "$gpud")
beside=$(dirname -- "$gpud")
mock=${GPUD_TEST_NVML_MOCK:-}
for folder in "$beside" "$beside/deps" "$beside/../release"; do
    [[ -n $mock || ! -e $folder/libgpud_nvml_mock.so ]] || mock=$folder/libgpud_nvml_mock.so
done
[[ -e $mock ]] || not_run "there is no libgpud_nvml_mock.so beside $gpud (cargo build --package gpud-nvml-mock)"

tools=$("$here/../kubernetes/apiserver.sh")
python=$("$here/../rows/python.sh")
collector=
[[ $what = size ]] || collector=$("$here/../otlp/collector.sh")
work=$(mktemp -d)
# PostgreSQL runs as another user.
chmod 755 "$work"
trap 'rm -rf -- "$work"' EXIT
# gpud loads a library only by this name.
cp -- "$mock" "$work/libnvidia-ml.so.1"
export PATH="$tools:${GPUD_TEST_TOOLS:-$PATH:/usr/sbin}" GPUD_TEST_COLLECTOR=$collector
ulimit -n "$(ulimit -H -n)"
"$python" "$here/$what.py" "$gpud" "$work" "${@:3}"
