//! A healthy bare-metal node in files: enough of `/proc`, `/sys` and `/etc` for each system component to have all that
//! it asks for. And what its programs and services answer.

use std::{collections::BTreeMap, fs, os::unix::fs::symlink, path::Path};

use gpud::node::simulated::{Canned, CannedPage, CannedProgram};

/// Path and content. Folders come of the paths.
pub const FILES: &[(&str, &str)] = &[
    (
        "/proc/stat",
        "cpu  547276 362 110020 6769100 1210 0 1609 1596 0 0\ncpu0 280277 175 53291 3624400 340 0 100 757 0 0\n\
         cpu1 266998 187 56729 3144600 869 0 1508 838 0 0\nintr 5542121 0 0\nctxt 9\nbtime 1699990000\nprocesses 9\n\
         procs_running 1\nprocs_blocked 0\n",
    ),
    ("/proc/loadavg", "0.25 0.53 0.13 1/205 14669\n"),
    ("/proc/uptime", "10000.12 19000.34\n"),
    (
        "/proc/meminfo",
        "MemTotal:       24684092 kB\nMemFree:        15000032 kB\nMemAvailable:   23042872 kB\n\
         Buffers:           55132 kB\nCached:           155132 kB\nSReclaimable:      55132 kB\n\
         VmallocTotal:   34359738367 kB\nVmallocUsed:       15804 kB\n",
    ),
    (
        "/proc/vmallocinfo",
        "0x00000000e686f18b-0x00000000d0b7a5c5   20480 bpf_jit_alloc_exec+0xe/0x10 pages=4 vmalloc N0=4\n",
    ),
    (
        "/proc/1/stat",
        "1 (init) S 0 1 1 0 -1 4194560 6 1 0 5 4 2 6 7 20 0 1 0 24 5690 538 1844\n",
    ),
    ("/proc/1/fd/0", ""),
    (
        "/proc/77/stat",
        "77 (nvidia-smi) S 1 77 77 0 -1 4194560 6 1 0 5 4 2 6 7 20 0 1 0 240 5690 538 1844\n",
    ),
    ("/proc/77/fd/0", ""),
    ("/proc/1/mountinfo", MOUNTINFO),
    ("/proc/self/mountinfo", MOUNTINFO),
    ("/proc/sys/fs/file-nr", "1212\t0\t2466177\n"),
    ("/proc/sys/fs/file-max", "2466177\n"),
    ("/proc/sys/kernel/pid_max", "4194304\n"),
    ("/proc/sys/kernel/osrelease", "6.8.0-60-generic\n"),
    ("/proc/sys/kernel/arch", "x86_64\n"),
    ("/proc/sys/kernel/numa_balancing", "0\n"),
    ("/proc/sys/net/netfilter/nf_conntrack_count", "12\n"),
    ("/proc/sys/net/netfilter/nf_conntrack_max", "262144\n"),
    (
        "/proc/self/net/stat/nf_conntrack",
        "entries  clashres found new invalid ignore delete chainlength insert insert_failed drop early_drop\n\
         00000003  00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000\n",
    ),
    ("/proc/sys/net/ipv4/ip_local_port_range", "32768\t60999\n"),
    (
        "/proc/self/net/sockstat",
        "sockets: used 52\nTCP: inuse 10 orphan 1 tw 1 alloc 10 mem 52\nUDP: inuse 0 mem 0\n",
    ),
    ("/proc/self/net/sockstat6", "TCP6: inuse 2\nUDP6: inuse 0\n"),
    (
        "/proc/self/net/tcp",
        "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n\
         \x20  0: 0100007F:B6D3 0200000A:0050 01 00000000:00000000 00:00000000 00000000     0        0 1145 1\n",
    ),
    (
        "/proc/self/net/tcp6",
        "  sl  local_address                         remote_address                        st\n",
    ),
    (
        "/proc/pressure/cpu",
        "some avg10=0.20 avg60=0.36 avg300=0.97 total=103608404\n",
    ),
    ("/proc/pressure/memory", PRESSURE),
    ("/proc/pressure/io", PRESSURE),
    (
        "/proc/modules",
        "nvidia 62771200 99 nvidia_uvm,nvidia_modeset, Live 0x0000000000000000 (POE)\n",
    ),
    (
        "/lib/modules/6.8.0-60-generic/modules.builtin",
        "kernel/fs/ext4/ext4.ko\n",
    ),
    ("/sys/module/nvidia/version", "570.133.20\n"),
    (
        "/etc/os-release",
        "PRETTY_NAME=\"Ubuntu 24.04.2 LTS\"\nNAME=\"Ubuntu\"\nID=ubuntu\nVERSION_ID=\"24.04\"\n",
    ),
    ("/etc/machine-id", "3d1219c7c4c5404aaa1f6d2a48adfda4\n"),
    (
        "/sys/class/dmi/id/product_uuid",
        "4C4C4544-0044-4810-8031-B9C04F503233\n",
    ),
    ("/sys/class/dmi/id/sys_vendor", "Dell Inc.\n"),
    ("/var/lib/systemd/pstore/1/dmesg.txt", "<6>all is well\n"),
    ("/sys/fs/fuse/connections/42/waiting", "0\n"),
    ("/sys/fs/fuse/connections/42/max_background", "12\n"),
    ("/sys/fs/fuse/connections/42/congestion_threshold", "9\n"),
    (
        "/sys/bus/pci/devices/0000:3b:00.0/uevent",
        "DRIVER=nvidia\nPCI_CLASS=30200\nPCI_ID=10DE:2330\nPCI_SLOT_NAME=0000:3b:00.0\n",
    ),
    ("/sys/bus/pci/devices/0000:3b:00.0/revision", "0xa1\n"),
    (
        "/sys/bus/pci/devices/0000:3b:00.0/config",
        "\u{1}\u{2}\u{3}\u{4}",
    ),
    (
        "/sys/bus/pci/devices/0000:3b:00.0/power/runtime_status",
        "active\n",
    ),
    (
        "/usr/share/misc/pci.ids",
        "10de  NVIDIA Corporation\n\t2330  GH100 [H100 SXM5 80GB]\n",
    ),
    ("/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1", "elf"),
    ("/usr/lib/x86_64-linux-gnu/libcuda.so.1", "elf"),
    ("/etc/ld.so.cache", "glibc-ld.so.cache1.1"),
    (
        "/etc/containerd/config.toml",
        "version = 2\nimports = [\"/etc/containerd/conf.d/*.toml\"]\n[plugins.\"io.containerd.grpc.v1.cri\".containerd]\n\
         default_runtime_name = \"nvidia\"\n",
    ),
    ("/etc/containerd/conf.d/nvidia.toml", "version = 2\n"),
    ("/usr/bin/containerd", "elf"),
    ("/run/containerd/containerd.sock", ""),
    ("/usr/bin/dockerd", "elf"),
    ("/run/docker.sock", ""),
    ("/var/run/docker.sock", ""),
    ("/usr/bin/kubelet", "elf"),
    (
        "/var/lib/kubelet/config.yaml",
        "kind: KubeletConfiguration\n",
    ),
    ("/etc/kubernetes/kubelet.conf", "kind: Config\n"),
    ("/usr/sbin/tailscaled", "elf"),
    (
        "/sys/class/net/eth0/device/uevent",
        "DRIVER=mlx5_core\nPCI_ID=15B3:1021\n",
    ),
    ("/sys/class/net/eth0/uevent", "INTERFACE=eth0\nIFINDEX=2\n"),
    ("/sys/class/net/eth0/type", "1\n"),
    ("/sys/class/net/eth0/flags", "0x1003\n"),
    ("/sys/class/net/eth0/carrier", "1\n"),
    ("/sys/class/net/eth0/carrier_down_count", "1\n"),
    ("/sys/class/net/eth0/speed", "200000\n"),
    ("/sys/class/net/eth0/bonding_slave/mii_status", "up\n"),
    ("/sys/class/net/eth0/statistics/rx_errors", "0\n"),
    ("/sys/class/net/eth0/statistics/tx_errors", "0\n"),
    ("/sys/class/net/eth0/statistics/rx_dropped", "3\n"),
    ("/sys/class/net/eth0/statistics/tx_dropped", "0\n"),
    ("/sys/class/net/bond0/bonding/mode", "802.3ad 4\n"),
    ("/sys/class/net/bond0/bonding/slaves", "eth0\n"),
    ("/sys/class/net/bond0/bonding/mii_status", "up\n"),
    ("/sys/class/net/bond0/bonding/active_slave", "\n"),
    ("/sys/class/net/bond0/bonding/ad_num_ports", "1\n"),
    (
        "/sys/class/net/bond0/uevent",
        "DEVTYPE=bond\nINTERFACE=bond0\nIFINDEX=3\n",
    ),
    ("/sys/class/net/bond0/type", "1\n"),
    ("/sys/class/net/bond0/flags", "0x1403\n"),
    ("/sys/class/net/bond0/carrier", "1\n"),
    (
        "/sys/devices/system/node/node0/meminfo",
        "Node 0 MemTotal:       24684092 kB\nNode 0 MemFree:        15000032 kB\nNode 0 MemUsed:  9684060 kB\n",
    ),
    ("/sys/devices/system/node/node0/cpulist", "0-1\n"),
    (
        "/sys/devices/system/node/node0/numastat",
        "numa_hit 198\nnuma_miss 0\nnuma_foreign 0\nlocal_node 198\nother_node 0\n",
    ),
    (
        "/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages",
        "0\n",
    ),
    (
        "/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages",
        "0\n",
    ),
    (
        "/sys/kernel/mm/transparent_hugepage/enabled",
        "always [madvise] never\n",
    ),
    (
        "/sys/fs/cgroup/cgroup.controllers",
        "cpuset cpu io memory pids\n",
    ),
    (
        "/sys/fs/cgroup/system.slice/memory.events",
        "low 0\nhigh 0\nmax 0\noom 0\noom_kill 0\noom_group_kill 0\n",
    ),
    (
        "/sys/fs/cgroup/system.slice/ssh.service/memory.events",
        "low 0\nhigh 0\nmax 0\noom 0\noom_kill 0\noom_group_kill 0\n",
    ),
    ("/run/systemd/system/x", ""),
    ("/sys/block/nvme0n1/device/uevent", "NVME_TRTYPE=pcie\n"),
    ("/sys/class/nvme/nvme0/transport", "pcie\n"),
    ("/dev/ipmi0", ""),
    ("/sys/class/hwmon/hwmon0/name", "coretemp\n"),
    ("/sys/class/hwmon/hwmon0/temp1_input", "41000\n"),
    ("/sys/class/hwmon/hwmon0/temp1_label", "Package id 0\n"),
    ("/sys/class/hwmon/hwmon0/temp1_crit", "100000\n"),
    ("/sys/class/hwmon/hwmon0/fan1_input", "5400\n"),
    ("/sys/class/hwmon/hwmon0/in1_input", "1210\n"),
    ("/sys/class/hwmon/hwmon0/power1_input", "97000000\n"),
    (
        "/sys/devices/system/cpu/cpufreq/policy0/scaling_governor",
        "performance\n",
    ),
    (
        "/sys/devices/system/cpu/cpufreq/policy0/scaling_driver",
        "intel_pstate\n",
    ),
    (
        "/sys/devices/system/cpu/cpufreq/policy0/scaling_max_freq",
        "3800000\n",
    ),
    (
        "/sys/devices/system/cpu/cpufreq/policy0/cpuinfo_max_freq",
        "3800000\n",
    ),
    ("/sys/devices/system/cpu/cpufreq/boost", "1\n"),
    ("/sys/devices/system/cpu/intel_pstate/no_turbo", "0\n"),
    ("/sys/class/thermal/thermal_zone0/type", "x86_pkg_temp\n"),
    ("/sys/class/thermal/thermal_zone0/temp", "41000\n"),
    ("/var/lib/docker/x", ""),
    ("/var/lib/containerd/x", ""),
    ("/mnt/data/x", ""),
];

const MOUNTINFO: &str = "22 27 0:21 / /proc rw,relatime - proc proc rw\n27 1 259:2 / / rw,relatime - ext4 /dev/nvme0n1p2 rw\n\
     30 27 0:40 / /mnt/data rw,relatime - nfs4 10.0.0.9:/export rw\n31 27 0:42 / /mnt/fuse rw - fuse.sshfs host:/x rw\n\
     32 27 259:1 / /boot/efi rw,relatime - vfat /dev/nvme0n1p1 rw\n33 27 0:44 / /dev/shm rw - tmpfs tmpfs rw\n";

const PRESSURE: &str = "some avg10=0.20 avg60=0.36 avg300=0.97 total=103608404\nfull avg10=0.00 avg60=0.06 avg300=0.14 total=8184573\n";

/// What programs print that a healthy node has. Each answers whatever it is asked.
const PROGRAMS: &[(&str, &str)] = &[
    ("systemd-detect-virt", "none\n"),
    ("uname", "x86_64\n"),
    (
        "lsblk",
        r#"{"blockdevices":[{"name":"/dev/nvme0n1","type":"disk","size":1920383410176,"rota":false,"serial":"S1","wwn":null,
            "vendor":null,"model":"MZ","rev":"1","mountpoint":null,"fstype":null,"fsused":null,"partuuid":null,
            "children":[{"name":"/dev/nvme0n1p2","type":"part","size":1919000000000,"rota":false,"mountpoint":"/",
            "fstype":"ext4","fsused":"81234567168"}]}]}"#,
    ),
    (
        "findmnt",
        r#"{"filesystems":[{"source":"/dev/nvme0n1p2","fstype":"ext4","size":"1.7T","used":"80G","avail":"1.6T","use%":"5%",
            "target":"/"}]}"#,
    ),
    ("systemctl", "active\n"),
    (
        "chronyc",
        "A9FEA97B,169.254.169.123,4,1699999990.1,0.000001,0.000002,0.000003,1.0,0.0,0.1,0.001,0.001,16.0,Normal\n",
    ),
    ("timedatectl", "NTP=yes\nNTPSynchronized=yes\n"),
    (
        "smartctl",
        r#"{"smart_status":{"passed":true},"nvme_smart_health_information_log":{"critical_warning":0,"temperature":37,
            "available_spare":100,"percentage_used":1,"media_errors":0},"temperature":{"current":37}}"#,
    ),
    (
        "nvme",
        r#"{"critical_warning":0,"temperature":310,"avail_spare":100,"spare_thresh":10,"percent_used":1}"#,
    ),
    ("ipmitool", "Inlet Temp,24,degrees C,ok\n"),
    ("bash", ""),
];

/// Services and a page of each.
const PAGES: &[(&str, &str, &str)] = &[
    ("unix:/var/run/docker.sock", "/_ping", "OK"),
    ("unix:/var/run/docker.sock", "/containers/json?all=1", "[]"),
    (
        "unix:/var/run/docker.sock",
        "/containers/json?all=true",
        "[]",
    ),
    (
        "unix:/var/run/tailscale/tailscaled.sock",
        "/localapi/v0/status?peers=false",
        r#"{"BackendState":"Running"}"#,
    ),
    ("loopback:10248", "/healthz", "ok"),
    ("loopback:10255", "/pods", r#"{"items":[]}"#),
];

/// Lays the files out below a folder.
pub fn lay_out(root: &Path) {
    for (path, content) in FILES {
        write(root, path, content.as_bytes());
    }
    let link = root.join("sys/dev/block");
    fs::create_dir_all(&link).unwrap();
    symlink("../../devices/pci/nvme0n1/nvme0n1p2", link.join("259:2")).unwrap();
}

/// Writes one file, whatever stood there.
pub fn write(root: &Path, path: &str, content: &[u8]) {
    let file = root.join(path.trim_start_matches('/'));
    remove(root, path);
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(file, content).unwrap();
}

/// Takes away what stands there.
pub fn remove(root: &Path, path: &str) {
    let file = root.join(path.trim_start_matches('/'));
    let Ok(stat) = file.symlink_metadata() else {
        return;
    };
    match stat.is_dir() {
        true => fs::remove_dir_all(file).unwrap(),
        false => fs::remove_file(file).unwrap(),
    }
}

/// All programs and services, each answering as `answer` makes it of the healthy answer; exit code and HTTP status come
/// with it.
pub fn canned(answer: impl Fn(&str) -> (String, i32, u16)) -> Canned {
    let programs = PROGRAMS.iter().map(|(program, healthy)| {
        let (stdout, exit_code, _) = answer(healthy);
        CannedProgram {
            program: (*program).to_owned(),
            arguments: None,
            stderr: stdout.chars().take(200).collect(),
            stdout,
            exit_code,
        }
    });
    let mut http: BTreeMap<String, BTreeMap<String, CannedPage>> = BTreeMap::new();
    for (service, page, healthy) in PAGES {
        let (body, _, status) = answer(healthy);
        let pages = http.entry((*service).to_owned()).or_default();
        pages.insert((*page).to_owned(), CannedPage { status, body });
    }
    Canned {
        programs: programs.collect(),
        http,
        tcp: Vec::new(),
    }
}
