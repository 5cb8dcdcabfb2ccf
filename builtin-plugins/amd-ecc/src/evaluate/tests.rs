use super::*;
use gpud_builtin_amd_common::card::DRIVER;
use gpud_builtin_amd_common::testing::{Fixture, actions, context, data, metric, only_state};
use gpud_sdk::{AccessError, Health};

const ID: &str = "0000:03:00.0";
const CLEAN: &str = "ras/features=feature mask: 0x5fff;ras/umc_err_count=ue: 0\nce: 0\nde: 0;\
                     ras/gfx_err_count=ue: 0\nce: 0";

fn judge(
    config: &str,
    cards: &[Card],
    before: &RetainedState,
    growth: &Growth,
) -> (Report, RetainedState, Growth) {
    let config = Config::parse(config).unwrap();
    evaluate(
        &context("accelerator-amd-ecc"),
        &config,
        cards,
        before,
        growth,
    )
}

fn once(config: &str, files: &str) -> Report {
    let cards = Fixture::default().gpu(ID, files).cards(&FILES);
    judge(
        config,
        &cards,
        &RetainedState::default(),
        &Growth::default(),
    )
    .0
}

#[test]
fn verdicts() {
    let fine = "1 GPU(s) were checked, no more errors than allowed";
    let reboot: &[RepairAction] = &[RepairAction::RebootSystem];
    let inspect: &[RepairAction] = &[RepairAction::HardwareInspection];
    for (config, files, health, reason, action) in [
        ("{}", CLEAN, Health::Healthy, fine, &[][..]),
        (
            "{}",
            "ras/umc_err_count=ue: 2\nce: 7\nde: 0",
            Health::Degraded,
            "GPU 0000:03:00.0: 2 uncorrected error(s) in umc within 24 h",
            reboot,
        ),
        (
            "{}",
            "ras/umc_err_count=ue: 0\nce: 9999",
            Health::Healthy,
            fine,
            &[],
        ),
        (
            "{}",
            "ras/sdma_err_count=ue: 0\nce: 10000",
            Health::Degraded,
            "GPU 0000:03:00.0: 10000 corrected error(s) in sdma within 24 h",
            inspect,
        ),
        // Links are another component's.
        (
            "{}",
            "ras/xgmi_wafl_err_count=ue: 5\nce: 0;ras/features=feature mask: 0x1",
            Health::Healthy,
            fine,
            &[],
        ),
        (
            "{}",
            "ras/umc_err_count=Query currently inaccessible;ras/features=feature mask: 0x1",
            Health::Healthy,
            fine,
            &[],
        ),
        (
            "{}",
            "ras/gpu_vram_bad_pages=0x00000001 : 0x00001000 : R\n0x00000002 : 0x00001000 : P",
            Health::Degraded,
            "GPU 0000:03:00.0: 1 bad page(s) of memory still in use",
            reboot,
        ),
        (
            "{}",
            "ras/gpu_vram_bad_pages=0x00000001 : 0x00001000 : F",
            Health::Degraded,
            "GPU 0000:03:00.0: 1 bad page(s) of memory could not be taken out of use",
            reboot,
        ),
        (
            "{}",
            "ras/gpu_vram_bad_pages=0x00000001 : 0x00001000 : R",
            Health::Healthy,
            fine,
            &[],
        ),
        (
            r#"{"bad_pages_threshold":1}"#,
            "ras/gpu_vram_bad_pages=0x00000001 : 0x00001000 : R",
            Health::Degraded,
            "GPU 0000:03:00.0: 1 bad page(s) of memory in all",
            inspect,
        ),
        (
            "{}",
            "ras/umc_err_count=\u{1}\u{2}garbage;ras/features=x",
            Health::Healthy,
            fine,
            &[],
        ),
    ] {
        let report = once(config, files);
        let state = only_state(&report);
        assert_eq!(
            (&state.health, state.reason.as_str()),
            (&health, reason),
            "{files}"
        );
        assert_eq!(actions(&report), action, "{files}");
        assert!(report.supported);
        let is_well = health == Health::Healthy;
        assert_eq!(report.events.is_empty(), is_well, "{files}");
    }
}

#[test]
fn errors_that_are_old_do_not_count() {
    let config = Config::parse("{}").unwrap();
    let cards = |text: &str| {
        let files = format!("ras/umc_err_count={text}");
        Fixture::default().gpu(ID, &files).cards(&FILES)
    };
    let mut context = context("accelerator-amd-ecc");
    let (mut past, mut growth) = (RetainedState::default(), Growth::default());
    for (hours, text, health) in [
        (0, "ue: 0\nce: 0", Health::Healthy),
        (1, "ue: 1\nce: 0", Health::Degraded),
        (12, "ue: 1\nce: 0", Health::Degraded),
        (40, "ue: 1\nce: 0", Health::Healthy),
        (41, "ue: 2\nce: 0", Health::Degraded),
        // The driver was reloaded.
        (90, "ue: 0\nce: 0", Health::Healthy),
    ] {
        context.now = 1_740_824_500_000 + hours * 3_600_000;
        let (report, after, grown) = evaluate(&context, &config, &cards(text), &past, &growth);
        assert_eq!(only_state(&report).health, health, "after {hours} h");
        (past, growth) = (after, grown);
    }
    assert_eq!(growth, Growth::default());
}

#[test]
fn ordinary_machines() {
    for (tree, reason) in [
        (
            Fixture::default(),
            "no GPU of the amdgpu driver on this machine",
        ),
        // A laptop's integrated GPU, and one beside it that sleeps.
        (
            Fixture::default()
                .gpu(
                    "0000:c1:00.0",
                    "power/runtime_status=active;gpu_busy_percent=3",
                )
                .gpu(ID, "power/runtime_status=suspended"),
            "no AMD GPU with error counters (RAS) on this machine",
        ),
    ] {
        let cards = tree.cards(&FILES);
        let (report, past, _) = judge("{}", &cards, &RetainedState::default(), &Growth::default());
        let state = only_state(&report);
        assert!(!report.supported);
        assert_eq!(
            (&state.health, state.reason.as_str()),
            (&Health::Healthy, reason)
        );
        assert_eq!((report.metrics.len(), past), (0, RetainedState::default()));
    }
}

#[test]
fn what_cannot_be_read_is_not_healthy() {
    let path = format!("{DRIVER}/{ID}/ras/umc_err_count");
    let tree = Fixture::default().fails(&path, AccessError::Denied(path.clone()));
    let cards = tree.cards(&FILES);
    let (first, past, growth) = judge("{}", &cards, &RetainedState::default(), &Growth::default());
    assert_eq!(only_state(&first).health, Health::Healthy);
    let (second, ..) = judge("{}", &cards, &past, &growth);
    let state = only_state(&second);
    assert_eq!(state.health, Health::Degraded);
    assert!(state.reason.contains("cannot be read"), "{}", state.reason);
    assert_eq!(actions(&second), []);
}

#[test]
fn metrics_and_document() {
    let report = once(
        "{}",
        "product_name=AMD Instinct MI300X;ras/umc_err_count=ue: 0\nce: 3\nde: 1",
    );
    assert_eq!(metric(&report, CORRECTED, ID), Some(3.0));
    assert_eq!(metric(&report, DEFERRED, ID), Some(1.0));
    let document: Value = serde_json::from_str(data(&report)).unwrap();
    assert_eq!(document["gpus"][0]["product"], "AMD Instinct MI300X");
    assert_eq!(document["gpus"][0]["errors"]["umc"]["corrected"], 3);
}
