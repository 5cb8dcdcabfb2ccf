//! Tests files of the kernel that are read on the caller's own thread.

use super::*;
use crate::files::{
    nonblocking::FILES,
    pci::{ATTRIBUTES, DEVICES, is_attribute},
};

#[tokio::test]
async fn counters_of_the_kernel_are_read_where_they_are_asked_for() {
    let files = Files::live().unwrap();
    let own = |path: &str| files.view().read_own(path, 4 * KIB * KIB).is_some();
    if !own("/proc/stat") {
        eprintln!("left out: needs openat2 and a procfs");
        return;
    }
    let mut read = 0;
    for path in FILES.into_iter().filter(|path| own(path)) {
        // A pressure file is there and still not to be read where the kernel was started without.
        if let Ok(content) = files.read(path, 4 * KIB * KIB).await {
            assert!(!content.is_empty(), "{path}");
            read += 1;
        }
    }
    assert!(read >= 7, "{read}");
    assert_eq!(files.kernel.threads(), 0, "no thread was asked");
    // Bounds and grants are those of any file.
    let tiny = files.read("/proc/stat", 3).await;
    assert!(
        matches!(tiny, Err(SourceError::TooLarge { .. })),
        "{tiny:?}"
    );
    let granted = files.within(&roots(&["/proc/uptime"]));
    denied(granted.read("/proc/stat", KIB).await, "add \"/proc/stat\"");
    // A copy of a machine is read on threads, and so is everything else.
    let (dir, copied) = machine();
    write(dir.path(), "/proc/stat", "copied");
    assert_eq!(text(copied.read("/proc/stat", KIB).await), "copied");
    assert_eq!(copied.kernel.threads(), 1);
    files.read("/proc/version", KIB).await.unwrap();
    assert_eq!(files.kernel.threads(), 1);
}

#[tokio::test]
async fn what_pci_devices_are_is_read_where_it_is_asked_for() {
    let files = Files::live().unwrap();
    let devices = files.list(DEVICES, 1024).await.unwrap_or_default();
    let Some(device) = devices.first().filter(|_| files.kernel.threads() == 0) else {
        eprintln!("left out: needs openat2, a sysfs and a PCI device");
        return;
    };
    let of_first = |name: &str| format!("{DEVICES}/{}/{name}", device.name);
    for name in ATTRIBUTES {
        let one = files.read(&of_first(name), KIB).await;
        let every = format!("{DEVICES}/*/{name}");
        let all = files.read_glob(&every, KIB, 1024).await.unwrap();
        // Of kernels without NUMA it has no node.
        assert_eq!(all.is_empty(), one.is_err(), "{name}");
        assert!(one.is_ok() || name == "numa_node", "{one:?}");
        if let Ok(one) = one {
            assert_eq!(all.len(), devices.len());
            assert_eq!(all[0], (of_first(name), Ok(one)));
            assert!(all.is_sorted_by(|a, b| a.0 < b.0));
        }
    }
    let granted = files.within(&roots(&["/sys/bus/pci/devices/*/class"]));
    let classes = async || {
        let classes = granted.read_glob("/sys/bus/pci/devices/*/class", KIB, 1024);
        classes.await.unwrap()
    };
    let real = classes().await;
    assert_eq!(real.len(), devices.len());
    // It is not read again, until there is another device.
    assert_eq!(classes().await, real);
    files.devices.pretend("class", b"kept", true);
    assert_eq!(classes().await[0].1, Ok(b"kept".to_vec()));
    files.devices.pretend("class", b"kept", false);
    assert_eq!(classes().await, real);
    assert_eq!(files.kernel.threads(), 0, "no thread was asked");
    // The long way tells what is wrong, and knows what is like any file.
    denied(granted.read(&of_first("vendor"), KIB).await, "vendor");
    let vendors = granted.read_glob("/sys/bus/pci/devices/*/vendor", KIB, 1024);
    denied(vendors.await, "vendor");
    let many = files
        .read_glob("/sys/bus/pci/devices/*/class", KIB, 0)
        .await;
    assert!(
        matches!(many, Err(SourceError::TooLarge { .. })),
        "{many:?}"
    );
    let short = files.read_glob("/sys/bus/pci/devices/*/class", 3, 1024);
    let short = short.await.unwrap();
    assert!(
        matches!(short[0].1, Err(SourceError::TooLarge { .. })),
        "{short:?}"
    );
    files.read(&of_first("uevent"), KIB).await.unwrap();
    assert_eq!(files.kernel.threads(), 1);
    // So is what only looks like one of these.
    for path in [
        "/sys/bus/pci/devices/a/b/class",
        "/sys/bus/pci/devices/class",
        "/sys/bus/pcie/devices/a/class",
    ] {
        assert!(!is_attribute(path), "{path}");
    }
}

#[tokio::test]
async fn names_and_links_of_sysfs_are_read_where_they_are_asked_for() {
    let files = Files::live().unwrap();
    let (class, link) = ("/sys/class/net", "/sys/class/net/lo");
    if files.view().list_own(class, 512).is_none() {
        eprintln!("left out: needs openat2 and a sysfs");
        return;
    }
    let granted = files.within(&roots(&["/sys/class/net/lo"]));
    let names: Vec<_> = granted.list(class, 512).await.unwrap();
    assert_eq!(names.len(), 1, "{names:?}");
    assert_eq!(
        (names[0].name.as_str(), names[0].kind),
        ("lo", FileKind::Link)
    );
    let target = granted.read_link(link).await.unwrap();
    assert_eq!(target, "../../devices/virtual/net/lo");
    let gone = files.read_link("/sys/class/net/none").await;
    assert!(matches!(gone, Err(SourceError::NotFound(_))), "{gone:?}");
    let gone = files.list("/sys/class/none", 512).await;
    assert!(matches!(gone, Err(SourceError::NotFound(_))), "{gone:?}");
    let file = files.read_link("/sys/class/net/lo/mtu").await;
    assert!(matches!(file, Err(SourceError::Invalid(_))), "{file:?}");
    assert_eq!(files.kernel.threads(), 0, "no thread was asked");
    // A path that is not granted, or too large a file, is reported from a thread.
    denied(granted.read_link("/sys/class/net/eth0").await, "add");
    denied(granted.list("/sys/class/block", 512).await, "add");
    let much = files.list("/sys/class/net/lo", 1).await;
    assert!(
        matches!(much, Err(SourceError::TooLarge { .. })),
        "{much:?}"
    );
    assert_eq!(files.kernel.threads(), 1);
    // A copy of a machine is read on threads.
    let (_dir, copied) = machine();
    assert_eq!(copied.list(class, 512).await.unwrap()[0].name, "eth0");
    assert_eq!(copied.kernel.threads(), 1);
}

#[tokio::test]
async fn what_is_not_there_needs_no_thread() {
    let files = Files::live().unwrap();
    if files.view().list_own("/sys/class/net", 512).is_none() {
        eprintln!("left out: needs openat2 and a sysfs");
        return;
    }
    let gone = files.read("/sys/class/net/lo/none", KIB).await;
    assert!(matches!(gone, Err(SourceError::NotFound(_))), "{gone:?}");
    let gone = files.stat("/sys/class/none").await;
    assert!(matches!(gone, Err(SourceError::NotFound(_))), "{gone:?}");
    for pattern in [
        "/sys/class/none/*/temp*_input",
        "/sys/class/net/*/none",
        "/sys/class/net/lo/*none",
    ] {
        assert_eq!(files.read_glob(pattern, KIB, 16).await, Ok(Vec::new()));
    }
    // Attributes that are in the kernel's memory, of several files.
    let types = files.read_glob("/sys/class/net/*/type", KIB, 1024);
    let types = types.await.unwrap();
    assert!(
        types
            .iter()
            .any(|(path, _)| path == "/sys/class/net/lo/type")
    );
    assert_eq!(files.kernel.threads(), 0, "no thread was asked");
    // What a driver is asked for is read on a thread, as is what cannot be answered.
    let speeds = files.read_glob("/sys/class/net/*/speed", KIB, 1024).await;
    assert!(!speeds.unwrap().is_empty());
    assert_eq!(files.kernel.threads(), 1);
    let few = files.read_glob("/sys/class/net/*/type", KIB, 0).await;
    assert!(matches!(few, Err(SourceError::TooLarge { .. })), "{few:?}");
    let granted = files.within(&roots(&["/sys/class/net/*/mtu"]));
    denied(
        granted.read_glob("/sys/class/net/*/type", KIB, 16).await,
        "add",
    );
    denied(granted.stat("/sys/class/none").await, "add");
}

#[tokio::test]
async fn what_the_name_cache_knows_to_be_absent_needs_no_thread() {
    let files = Files::live().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("none").display().to_string();
    // The first question fills the cache of names.
    let gone = files.stat(&path).await;
    assert!(matches!(gone, Err(SourceError::NotFound(_))), "{gone:?}");
    let asked = files.mounts.threads();
    if !files.tree.is_known_absent(&path, None) {
        eprintln!("left out: needs RESOLVE_CACHED, and a filesystem with a cache of absent names");
        return;
    }
    for _ in 0..3 {
        let gone = files.read(&path, KIB).await;
        assert!(matches!(gone, Err(SourceError::NotFound(_))), "{gone:?}");
        let gone = files.list(&path, 16).await;
        assert!(matches!(gone, Err(SourceError::NotFound(_))), "{gone:?}");
    }
    assert_eq!(files.mounts.threads(), asked, "no other thread was asked");
    // A path that is not granted is refused, whether it is there or not.
    let other = files.within(&roots(&["/nowhere"]));
    denied(other.stat(&path).await, "add");
    // It is seen at once when it appears.
    std::fs::write(&path, "there").unwrap();
    assert_eq!(text(files.read(&path, KIB).await), "there");
    for path in ["/", "/proc", "/tmp"] {
        assert!(files.stat(path).await.is_ok(), "{path}");
    }
    // A copy of a machine is asked on threads.
    let (_dir, copied) = machine();
    assert!(!copied.tree.is_known_absent("/none", None));
}
