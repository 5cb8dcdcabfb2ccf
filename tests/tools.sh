#!/bin/bash
# Fetches the programs that tests run for real (a registry, minisign, container runtimes, Prometheus, Alertmanager, Slurm,
# PostgreSQL, a clock to set, qemu-user) from Debian, without installing them: a runtime that is installed and does not run
# would show in scans of this machine.
#
#   tools.sh FOLDER [arm]     leaves them in FOLDER and prints the value for GPUD_TEST_TOOLS; `arm`: with qemu-user
set -euo pipefail

folder=$(mkdir -p -- "$1" && realpath -- "$1")
cd "$folder"
fetch() { apt-get download "$@" >&2; }
# The version of PostgreSQL that this Debian has.
postgresql=$(apt-cache depends postgresql 2>/dev/null | sed -n 's/^ *Depends: \(postgresql-[0-9]*\)$/\1/p' | head -n 1)
: "${postgresql:=postgresql-15}"
mapfile -t libraries < <(apt-cache depends "$postgresql" 2>/dev/null |
    sed -n 's/^ *Depends: \(lib\(icu\|ldap\|pq\|xml2\)[^ ]*\)$/\1/p')
packages=(containerd docker-registry docker.io libfaketime libhwloc15 libmunge2 libsasl2-2 minisign munge "${libraries[@]}"
    "$postgresql" "postgresql-client-${postgresql#postgresql-}" prometheus prometheus-alertmanager runc slurm-client
    slurm-wlm-basic-plugins slurmctld slurmd)
[[ ${2:-} != arm ]] || packages+=(qemu-user-static)
missing=()
for package in "${packages[@]}"; do
    # The second time, nothing is fetched.
    [[ -e $package.done ]] || missing+=("$package")
done
if ((${#missing[@]})); then
    fetch "${missing[@]}" || { apt-get update >&2 && fetch "${missing[@]}"; }
fi
unpack() {
    dpkg-deb --extract "$1"_*.deb .
    rm -- "$1"_*.deb
    # One of 80 processors is used here.
    [[ $1 != qemu-user-static ]] || find usr/bin -name 'qemu-*-static' ! -name qemu-aarch64-static -delete
    touch "$1.done"
}
export -f unpack
((${#missing[@]} == 0)) || printf '%s\0' "${missing[@]}" |
    xargs -0 -n 1 -P "$(nproc)" bash -euo pipefail -c 'unpack "$1"' unpack
echo "$folder/usr/bin:$folder/usr/sbin:$PATH"
