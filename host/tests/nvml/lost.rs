//! GPUs that go, and those that want a reset.

use gpud::node::error::SourceError;

use super::machine::{Machine, until};

#[tokio::test]
async fn a_gpu_that_falls_off_the_bus_is_named_and_the_others_go_on() {
    let machine = Machine::new("product: h100-sxm\n");
    let names: Vec<String> = machine
        .devices()
        .await
        .iter()
        .map(|gpu| gpu.identity().uuid.clone())
        .collect();
    assert_eq!(names.len(), 8);
    machine.change("product: h100-sxm\ngpu: {3: {state: lost}}\n");
    until("GPU 3 is lost", || async {
        let gpu = machine.gpu(3).await;
        matches!(gpu.presence().await, Err(SourceError::SourceLost(_)))
    })
    .await;
    let devices = machine.devices().await;
    for (index, gpu) in devices.iter().enumerate() {
        assert_eq!(gpu.identity().uuid, names[index]);
        match (index, gpu.temperature(0).await) {
            (3, Err(SourceError::SourceLost(text))) => {
                assert!(text.contains(&names[3]), "{text}");
            }
            (3, other) => panic!("{other:?}"),
            (_, answer) => assert!(answer.is_ok(), "{answer:?}"),
        }
    }
    machine.change("product: h100-sxm\n");
    until("GPU 3 is back", || async {
        machine.gpu(3).await.temperature(0).await.is_ok()
    })
    .await;
}

#[tokio::test]
async fn one_that_is_lost_from_the_start_is_not_overlooked() {
    let machine = Machine::new("product: h100-sxm\ngpu: {0: {state: lost}}\n");
    let devices = machine.devices().await;
    assert_eq!(devices.len(), 8);
    assert_eq!(devices[0].identity().uuid, "unknown-gpu-0");
    assert!(matches!(
        devices[0].temperature(0).await,
        Err(SourceError::SourceLost(_))
    ));
    assert!(devices[7].temperature(0).await.is_ok());
    let product = machine.nvml.view().await.product_name();
    assert!(product.contains("H100"), "{product}");
}

#[tokio::test]
async fn one_that_is_lost_only_when_asked() {
    let machine = Machine::new("product: h100-sxm\n");
    machine.devices().await;
    machine.change("product: h100-sxm\ngpu: {2: {state: lost_after_lookup}}\n");
    until("GPU 2 is lost", || async {
        let gpu = machine.gpu(2).await;
        matches!(gpu.temperature(0).await, Err(SourceError::SourceLost(_)))
    })
    .await;
    assert!(machine.gpu(1).await.temperature(0).await.is_ok());
}

#[tokio::test]
async fn one_that_is_no_longer_listed_and_the_others_move_up() {
    let machine = Machine::new("product: h100-sxm\n");
    let before = machine.devices().await;
    let gone = before[1].identity().uuid.clone();
    machine.change("product: h100-sxm\ngpu: {1: {state: absent}}\n");
    until("GPU 1 is lost", || async {
        let devices = machine.devices().await;
        let gpu = devices.iter().find(|gpu| gpu.identity().uuid == gone);
        matches!(
            gpu.unwrap().temperature(0).await,
            Err(SourceError::SourceLost(_))
        )
    })
    .await;
    let devices = machine.devices().await;
    assert_eq!(devices.len(), 8);
    for gpu in devices.iter().filter(|gpu| gpu.identity().uuid != gone) {
        assert!(gpu.temperature(0).await.is_ok(), "{}", gpu.identity().uuid);
    }
}

#[tokio::test]
async fn one_that_requires_a_reset() {
    let machine = Machine::new("product: h100-sxm\ngpu: {4: {state: needs_reset}}\n");
    let gpu = machine.gpu(4).await;
    assert!(matches!(
        gpu.temperature(0).await,
        Err(SourceError::NeedsReset(_))
    ));
    assert!(matches!(
        gpu.presence().await,
        Err(SourceError::NeedsReset(_))
    ));
    assert!(machine.gpu(5).await.presence().await.is_ok());
}

#[tokio::test]
async fn one_that_requires_a_reset_is_still_known_by_name_and_whole_after_it() {
    let machine = Machine::new("product: h100-sxm\ngpu: {4: {state: needs_reset}}\n");
    let before = machine.gpu(4).await.identity();
    assert!(before.uuid.starts_with("GPU-"), "{before:?}");
    assert_eq!(before.name, "NVIDIA H100 80GB HBM3");
    assert!(!before.is_whole());
    machine.change("product: h100-sxm\n");
    until("its identity is whole", || async {
        let after = machine.gpu(4).await.identity();
        after.uuid == before.uuid && after.compute_capability == (9, 0)
    })
    .await;
}
