//! Drivers that come, go, are replaced, or do not start.

use gpud::node::nvml::{Injected, LibraryStatus, Nvml, Options};

use super::machine::{Machine, QUICK};

#[tokio::test]
async fn installed_replaced_and_removed_without_a_restart() {
    let machine = Machine::empty(QUICK);
    let LibraryStatus::NotFound(text) = machine.nvml.view().await.library.clone() else {
        panic!("found");
    };
    assert!(text.ends_with("libnvidia-ml.so.1 is not there"), "{text}");
    machine.install("product: a100-sxm\ndriver_version: 550.1\n");
    let version = || async {
        let view = machine.nvml.view().await;
        assert_eq!(view.library, LibraryStatus::Loaded);
        view.driver_version.clone().unwrap()
    };
    assert_eq!(version().await, "550.1");
    assert!(machine.gpu(0).await.temperature(0).await.is_ok());
    machine.install("product: h100-sxm\ndriver_version: 570.2\n");
    assert_eq!(version().await, "570.2");
    assert!(machine.gpu(7).await.temperature(0).await.is_ok());
    machine.remove();
    assert!(matches!(
        machine.nvml.view().await.library,
        LibraryStatus::NotFound(_)
    ));
    machine.install("product: h100-sxm\ndriver_version: 580.3\n");
    assert_eq!(version().await, "580.3");
}

#[tokio::test]
async fn a_driver_that_does_not_start() {
    for (code, library) in [
        (
            "driver_not_loaded",
            LibraryStatus::NotFound("failed to initialize NVML: Driver Not Loaded".into()),
        ),
        (
            "lib_rm_version_mismatch",
            LibraryStatus::Failed(
                "failed to initialize NVML: Driver/library version mismatch".into(),
            ),
        ),
        (
            "unknown",
            LibraryStatus::Failed("failed to initialize NVML: Unknown Error".into()),
        ),
    ] {
        let scenario = format!("product: h100-sxm\nfaults: [{{call: nvmlInit*, error: {code}}}]\n");
        let machine = Machine::new(&scenario);
        assert_eq!(machine.nvml.view().await.library, library);
        assert!(machine.nvml.devices().await.is_err());
        // `modprobe`.
        machine.change("product: h100-sxm\n");
        assert_eq!(machine.devices().await.len(), 8);
    }
}

#[tokio::test]
async fn a_list_that_fails_and_recovers() {
    let machine = Machine::new("product: h100-sxm\n");
    assert_eq!(machine.devices().await.len(), 8);
    machine.change("product: h100-sxm\nfaults: [{call: nvmlDeviceGetCount*, error: unknown}]\n");
    assert_eq!(
        machine.nvml.view().await.library,
        LibraryStatus::Failed("error getting device count: Unknown Error".into())
    );
    machine.change("product: h100-sxm\n");
    assert_eq!(machine.devices().await.len(), 8);
}

#[tokio::test]
async fn a_file_that_is_no_library_has_failed() {
    let folder = tempfile::tempdir().unwrap();
    let library = folder.path().join("libnvidia-ml.so.1");
    std::fs::write(&library, "not a library").unwrap();
    let options = Options {
        library: Some(library.clone()),
        ..Options::default()
    };
    let nvml = Nvml::with_timing(options, QUICK);
    let LibraryStatus::Failed(text) = nvml.view().await.library.clone() else {
        panic!("loaded");
    };
    let begin = format!("cannot load {}: ", library.display());
    assert!(text.starts_with(&begin), "{text}");
}

#[tokio::test]
async fn found_below_the_root_of_a_driver_with_faults_laid_over_it() {
    let machine = Machine::new("product: h100-sxm\n");
    let uuid = machine.gpu(2).await.identity().uuid.clone();
    let root = machine.file("root");
    let folder = root.join("usr/lib64");
    std::fs::create_dir_all(&folder).unwrap();
    for name in ["libnvidia-ml.so.1", "nvml-mock.yaml"] {
        std::fs::copy(machine.file(name), folder.join(name)).unwrap();
    }
    let options = Options {
        driver_root: Some(root),
        injected: Injected {
            lost: [uuid.clone()].into(),
            hw_thermal: [uuid].into(),
            product_name: Some("NVIDIA A10".into()),
            ..Injected::default()
        },
        ..Options::default()
    };
    let nvml = Nvml::with_timing(options, QUICK);
    let devices = nvml.devices().await.unwrap();
    assert_eq!(nvml.view().await.product_name(), "NVIDIA A10");
    assert!(devices[2].memory().await.is_err());
    assert!(devices[3].memory().await.is_ok());
}
