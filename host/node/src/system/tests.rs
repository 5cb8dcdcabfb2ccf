use std::fs;

use super::*;

fn machine(files: &[(&str, &str)]) -> (tempfile::TempDir, Files) {
    let dir = tempfile::tempdir().unwrap();
    for (path, content) in files {
        let path = dir.path().join(path.trim_start_matches('/'));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
    let files = Files::rooted(dir.path()).unwrap();
    (dir, files)
}

#[tokio::test]
async fn a_copied_machine_tells_its_own_facts() {
    let (_dir, files) = machine(&[
        (
            "/proc/sys/kernel/random/boot_id",
            "7d0a4a6e-1c55-4a35-9c0c-5bd5c2f0a9ee\n",
        ),
        ("/proc/sys/kernel/osrelease", "6.8.0-60-generic\n"),
        ("/proc/sys/kernel/hostname", "node-17\n"),
        ("/proc/sys/kernel/arch", "aarch64\n"),
        (
            "/proc/stat",
            "cpu  1 2 3\ncpu0 1\nbtime 1770091506\nprocesses 5\n",
        ),
        (
            "/proc/cpuinfo",
            "processor : 0\nCPU implementer : 0x41\nCPU part : 0xd4f\n",
        ),
        (
            "/sys/class/dmi/id/product_uuid",
            "0F7C1D52-90AA-4D1E-8F55-3C1E2A7788D1\n",
        ),
        ("/sys/class/dmi/id/sys_vendor", "Supermicro\n"),
        ("/etc/machine-id", "5b2f0c8d4e9a4f6f8d1b7c3a2e6d9f10\n"),
        ("/usr/lib/os-release", "ID=ubuntu\nVERSION_ID=\"24.04\"\n"),
    ]);
    let facts = SystemFacts::read(&files).await;
    let some = |text: &str| Some(text.to_owned());
    assert_eq!(facts.boot_id, some("7d0a4a6e-1c55-4a35-9c0c-5bd5c2f0a9ee"));
    assert_eq!(facts.boot_time_unix_s, Some(1_770_091_506));
    assert_eq!(facts.kernel_release, some("6.8.0-60-generic"));
    assert_eq!(
        (facts.machine.as_str(), facts.go_arch.as_str()),
        ("aarch64", "arm64")
    );
    assert_eq!(facts.hostname, some("node-17"));
    assert_eq!(facts.os.platform, some("ubuntu"));
    assert_eq!(
        facts.os_machine_id,
        some("5b2f0c8d4e9a4f6f8d1b7c3a2e6d9f10")
    );
    assert_eq!(
        facts.system_uuid,
        some("0F7C1D52-90AA-4D1E-8F55-3C1E2A7788D1")
    );
    assert_eq!(facts.host_id, some("0f7c1d52-90aa-4d1e-8f55-3c1e2a7788d1"));
    assert_eq!(facts.system_manufacturer, some("Supermicro"));
    assert_eq!(facts.cpu.model_name, some("Neoverse-V2"));
    assert_eq!(facts.virtualization, Virtualization::default());
}

#[tokio::test]
async fn identifiers_have_their_fallbacks() {
    let id = "5b2f0c8d4e9a4f6f8d1b7c3a2e6d9f10";
    let dashed = "5b2f0c8d-4e9a-4f6f-8d1b-7c3a2e6d9f10";
    for (present, system_uuid, host_id, machine_id) in [
        (vec![], None, None, None),
        (
            vec![("/etc/machine-id", id)],
            Some(id),
            Some(dashed),
            Some(id),
        ),
        (vec![("/var/lib/dbus/machine-id", id)], None, None, Some(id)),
        (
            vec![("/proc/sys/kernel/random/boot_id", "boot")],
            None,
            Some("boot"),
            None,
        ),
        (
            vec![
                ("/proc/device-tree/vm,uuid", "abc\0"),
                ("/etc/machine-id", "short"),
            ],
            Some("abc"),
            None,
            Some("short"),
        ),
    ] {
        let (_dir, files) = machine(&present);
        let facts = SystemFacts::read(&files).await;
        assert_eq!(facts.system_uuid.as_deref(), system_uuid, "{present:?}");
        assert_eq!(facts.host_id.as_deref(), host_id, "{present:?}");
        assert_eq!(facts.os_machine_id.as_deref(), machine_id, "{present:?}");
    }
}

#[tokio::test]
async fn this_machine_agrees_with_its_kernel() {
    let files = Files::live().unwrap();
    let facts = SystemFacts::read(&files).await;
    let uname = rustix::system::uname();
    assert_eq!(
        facts.kernel_release.as_deref(),
        uname.release().to_str().ok()
    );
    assert_eq!(facts.hostname.as_deref(), uname.nodename().to_str().ok());
    assert_eq!(facts.machine, uname.machine().to_str().unwrap());
    assert!(facts.cpu.logical_cores >= 1);
    let booted = facts.boot_time_unix_s.unwrap();
    assert!(booted.abs_diff(boot_time_from_uptime(&Clock::Live)) < 60);
}

#[test]
fn the_own_footprint_follows_the_load() {
    assert_eq!(euid(), rustix::process::geteuid().as_raw());
    // Other tests take and free tens of MiB in the meantime, but not in step with this one.
    let grows = || {
        let before = own_rss_bytes().unwrap();
        let mut block = vec![0u8; 64 << 20];
        block.iter_mut().step_by(1024).for_each(|byte| *byte = 1);
        own_rss_bytes().unwrap() > before + (32 << 20) && block.len() == 64 << 20
    };
    assert!((0..50).any(|_| grows()), "64 MiB never showed");

    let before = own_open_fds().unwrap();
    let open: Vec<_> = (0..200)
        .map(|_| fs::File::open("/dev/null").unwrap())
        .collect();
    let after = own_open_fds().unwrap();
    // Other tests open and close some of theirs in the meantime.
    assert!(after > before + 100, "{before} {after} {}", open.len());
}
