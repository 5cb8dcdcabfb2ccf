use super::*;
use proptest::prelude::*;

/// Kind, GPU, facts.
type Expected = Option<(Kind, &'static str, &'static [(&'static str, &'static str)])>;

/// Lines with what they tell.
const LINES: [(&str, Expected); 56] = [
    (
        "amdgpu 0000:0f:00.0: amdgpu: GPU reset begin!",
        Some((Kind::Reset, "0000:0f:00.0", &[])),
    ),
    (
        "amdgpu 0000:03:00.0: GPU reset begin!. Source:  3",
        Some((Kind::Reset, "0000:03:00.0", &[])),
    ),
    (
        "amdgpu 0000:03:00.0: amdgpu: GPU reset(2) succeeded!",
        Some((Kind::Recovered, "0000:03:00.0", &[])),
    ),
    (
        "amdgpu 0000:03:00.0: amdgpu: GPU reset(2) failed",
        Some((
            Kind::ResetFailed,
            "0000:03:00.0",
            &[("cause", "GPU reset(2) failed")],
        )),
    ),
    (
        "amdgpu 0000:03:00.0: amdgpu: GPU reset(2) failed with error -110",
        Some((
            Kind::ResetFailed,
            "0000:03:00.0",
            &[("cause", "GPU reset(2) failed with error -110")],
        )),
    ),
    (
        "amdgpu 0000:03:00.0: amdgpu: GPU reset end with ret = -62",
        Some((
            Kind::ResetFailed,
            "0000:03:00.0",
            &[("cause", "GPU reset end with ret = -62")],
        )),
    ),
    (
        "[drm:amdgpu_job_timedout [amdgpu]] *ERROR* GPU Recovery Failed: -62",
        Some((
            Kind::ResetFailed,
            "amdgpu",
            &[("cause", "GPU Recovery Failed: -62")],
        )),
    ),
    (
        "amdgpu 0000:03:00.0: [drm] device wedged, needs recovery",
        Some((
            Kind::ResetFailed,
            "0000:03:00.0",
            &[("cause", "device wedged, needs recovery")],
        )),
    ),
    (
        "amdgpu 0000:03:00.0: [drm] device wedged, but recovered through reset",
        Some((Kind::Recovered, "0000:03:00.0", &[])),
    ),
    (
        "amdgpu 0000:2f:00.0: amdgpu: VRAM is lost due to GPU reset!",
        Some((Kind::VramLost, "0000:2f:00.0", &[])),
    ),
    (
        "amdgpu 0000:05:00.0: amdgpu: device lost from bus!",
        Some((Kind::OffBus, "0000:05:00.0", &[])),
    ),
    (
        "amdgpu 0000:03:00.0: amdgpu: ring gfx_0.0.0 timeout, signaled seq=7, emitted seq=8",
        Some((Kind::RingTimeout, "0000:03:00.0", &[("ring", "gfx_0.0.0")])),
    ),
    (
        "[drm:amdgpu_job_timedout [amdgpu]] *ERROR* ring gfx timeout, but soft recovered",
        Some((Kind::RingRecovered, "amdgpu", &[("ring", "gfx")])),
    ),
    (
        "amdgpu 0000:c1:00.0: amdgpu: [gfxhub0] no-retry page fault (src_id:0 ring:24 vmid:3 pasid:32770, for \
            process Xorg pid 1009 thread Xorg:cs0 pid 1024)",
        Some((
            Kind::PageFault,
            "0000:c1:00.0",
            &[("hub", "gfxhub0"), ("process", "Xorg")],
        )),
    ),
    (
        "amdgpu 0000:65:00.0: amdgpu: [gfxhub] page fault (src_id:0 ring:40 vmid:8 pasid:32777)",
        Some((Kind::PageFault, "0000:65:00.0", &[("hub", "gfxhub")])),
    ),
    (
        "amdgpu 0000:03:00.0: GPU fault detected: 146 0x0000480c",
        Some((Kind::PageFault, "0000:03:00.0", &[])),
    ),
    (
        "amdgpu 0000:65:00.0: amdgpu: MES failed to respond to msg=REMOVE_QUEUE",
        Some((
            Kind::SchedulerHang,
            "0000:65:00.0",
            &[("cause", "MES failed to respond to msg=REMOVE_QUEUE")],
        )),
    ),
    (
        "amdgpu 0000:07:00.0: MES(1) failed to respond to msg=INVALIDATE_TLBS",
        Some((
            Kind::SchedulerHang,
            "0000:07:00.0",
            &[("cause", "MES(1) failed to respond to msg=INVALIDATE_TLBS")],
        )),
    ),
    (
        "amdgpu: MES might be in unrecoverable state, issue a GPU reset",
        Some((
            Kind::SchedulerHang,
            "amdgpu",
            &[(
                "cause",
                "MES might be in unrecoverable state, issue a GPU reset",
            )],
        )),
    ),
    (
        "amdgpu: qcm fence wait loop timeout expired",
        Some((
            Kind::SchedulerHang,
            "amdgpu",
            &[("cause", "qcm fence wait loop timeout expired")],
        )),
    ),
    (
        "amdgpu 0000:3d:00.0: amdgpu: The cp might be in an unrecoverable state due to an unsuccessful queues \
            preemption",
        Some((
            Kind::SchedulerHang,
            "0000:3d:00.0",
            &[(
                "cause",
                "The cp might be in an unrecoverable state due to an unsuccessful queues preemption",
            )],
        )),
    ),
    (
        "amdgpu 0000:09:00.0: amdgpu: SMU: I'm not done with your previous command: SMN_C2PMSG_66:0x00000012 \
            SMN_C2PMSG_82:0x00000005",
        Some((
            Kind::SmuTimeout,
            "0000:09:00.0",
            &[(
                "cause",
                "SMU: I'm not done with your previous command: SMN_C2PMSG_66:0x00000012 SMN_C2PMSG_82:0x00000005",
            )],
        )),
    ),
    (
        "amdgpu 0000:03:00.0: SMU: No response msg_reg: 6 resp_reg: 0",
        Some((
            Kind::SmuTimeout,
            "0000:03:00.0",
            &[("cause", "SMU: No response msg_reg: 6 resp_reg: 0")],
        )),
    ),
    (
        "amdgpu 0000:0f:00.0: amdgpu: Msg issuing pre-check failed(0xff) and SMU may be not in the right state!",
        Some((
            Kind::SmuTimeout,
            "0000:0f:00.0",
            &[(
                "cause",
                "Msg issuing pre-check failed(0xff) and SMU may be not in the right state!",
            )],
        )),
    ),
    (
        "amdgpu 0000:0b:00.0: amdgpu: 2 uncorrectable hardware errors detected in umc block",
        Some((
            Kind::Uncorrectable,
            "0000:0b:00.0",
            &[("errors", "2"), ("block", "umc")],
        )),
    ),
    (
        "amdgpu 0000:1b:00.0: amdgpu: {1}socket: 4, die: 2, 1 new uncorrectable hardware errors detected in gfx block",
        Some((
            Kind::Uncorrectable,
            "0000:1b:00.0",
            &[("errors", "1"), ("block", "gfx")],
        )),
    ),
    (
        "amdgpu 0000:1b:00.0: amdgpu: {1} socket: 4, die: 2, 1 uncorrectable hardware errors detected in total in \
            gfx block",
        None,
    ),
    (
        "amdgpu 0000:0b:00.0: amdgpu: 0 uncorrectable hardware errors detected in umc block",
        None,
    ),
    (
        "amdgpu 0000:0b:00.0: amdgpu: 9 correctable hardware errors detected in umc block, no user action is needed.",
        None,
    ),
    (
        "amdgpu 0000:dd:00.0: {1}uncorrectable hardware error(ERREVENT_ATHUB_INTERRUPT) detected!",
        Some((Kind::FatalError, "0000:dd:00.0", &[])),
    ),
    (
        "amdgpu 0000:dd:00.0: amdgpu: {7} Uncorrectable hardware error(ERREVENT_ATHUB_INTERRUPT) detected!",
        Some((Kind::FatalError, "0000:dd:00.0", &[])),
    ),
    (
        "amdgpu 0000:83:00.0: uncorrectable hardware error (ERREVENT_ATHUB_INTERRUPT) detected!",
        Some((Kind::FatalError, "0000:83:00.0", &[])),
    ),
    (
        "amdgpu 0000:03:00.0: amdgpu: RAS poison consumption, fall back to gpu reset flow: client id 10",
        Some((
            Kind::Poison,
            "0000:03:00.0",
            &[(
                "cause",
                "RAS poison consumption, fall back to gpu reset flow: client id 10",
            )],
        )),
    ),
    (
        "amdgpu 0000:03:00.0: amdgpu: GPU reset for jpeg RAS poison consumption is issued!",
        Some((Kind::Poison, "0000:03:00.0", &[("block", "jpeg")])),
    ),
    (
        "amdgpu 0000:03:00.0: amdgpu: Poison is created, no user action is needed.",
        None,
    ),
    (
        "amdgpu 0000:03:00.0: amdgpu: RAS records:300 exceed threshold:256",
        Some((
            Kind::BadPages,
            "0000:03:00.0",
            &[("cause", "RAS records:300 exceed threshold:256")],
        )),
    ),
    (
        "amdgpu 0000:03:00.0: amdgpu: RAS records:240 exceeds 90% of threshold:256",
        Some((
            Kind::BadPagesNear,
            "0000:03:00.0",
            &[("cause", "RAS records:240 exceeds 90% of threshold:256")],
        )),
    ),
    (
        "amdgpu 0000:03:00.0: amdgpu: Saved bad pages 257 reaches threshold value 256",
        Some((
            Kind::BadPages,
            "0000:03:00.0",
            &[("cause", "Saved bad pages 257 reaches threshold value 256")],
        )),
    ),
    (
        "amdgpu 0000:03:00.0: amdgpu: XGMI PCS CRCErr detected",
        Some((
            Kind::Xgmi,
            "0000:03:00.0",
            &[("cause", "XGMI PCS CRCErr detected")],
        )),
    ),
    (
        "amdgpu 0000:03:00.0: amdgpu: XGMI3X16 PCS RxReplayTimeoutErr detected",
        Some((
            Kind::Xgmi,
            "0000:03:00.0",
            &[("cause", "XGMI3X16 PCS RxReplayTimeoutErr detected")],
        )),
    ),
    (
        "amdgpu 0000:03:00.0: XGMI: Set topology failure on device 7, hive 9, ret -22",
        Some((
            Kind::Xgmi,
            "0000:03:00.0",
            &[(
                "cause",
                "XGMI: Set topology failure on device 7, hive 9, ret -22",
            )],
        )),
    ),
    (
        "amdgpu 0000:03:00.0: XGMI: Get topology failure on device 7, hive 9, ret -22",
        Some((
            Kind::Xgmi,
            "0000:03:00.0",
            &[(
                "cause",
                "XGMI: Get topology failure on device 7, hive 9, ret -22",
            )],
        )),
    ),
    (
        "amdgpu 0000:03:00.0: amdgpu: 3 uncorrectable errors detected in gfx block",
        Some((
            Kind::Uncorrectable,
            "0000:03:00.0",
            &[("errors", "3"), ("block", "gfx")],
        )),
    ),
    (
        "amdgpu 0000:03:00.0: amdgpu: Uncorrectable error detected in UMC inst: 0, chan_idx: 3",
        Some((
            Kind::Uncorrectable,
            "0000:03:00.0",
            &[
                ("block", "umc"),
                (
                    "cause",
                    "Uncorrectable error detected in UMC inst: 0, chan_idx: 3",
                ),
            ],
        )),
    ),
    (
        "amdgpu 0000:03:00.0: amdgpu: socket: 0, die: 1, 4 new uncorrectable hardware errors detected in mmhub block",
        Some((
            Kind::Uncorrectable,
            "0000:03:00.0",
            &[("errors", "4"), ("block", "mmhub")],
        )),
    ),
    (
        "[drm:psp_hw_init [amdgpu]] *ERROR* PSP firmware loading failed",
        Some((Kind::Firmware, "amdgpu", &[])),
    ),
    (
        "[drm:amdgpu_device_fw_loading [amdgpu]] *ERROR* hw_init of IP block <psp> failed -22",
        Some((
            Kind::InitFailed,
            "amdgpu",
            &[
                ("block", "psp"),
                ("cause", "hw_init of IP block <psp> failed -22"),
            ],
        )),
    ),
    (
        "amdgpu 0000:67:00.0: Fatal error during GPU init",
        Some((Kind::InitFailed, "0000:67:00.0", &[])),
    ),
    // What sound machines print, and what is not the driver's.
    (
        "amdgpu 0000:03:00.0: amdgpu: psp gfx command UNLOAD_TA(0x2) failed and response status is (0x117)",
        None,
    ),
    (
        "[drm:amdgpu_cs_ioctl [amdgpu]] *ERROR* Failed to initialize parser -125!",
        None,
    ),
    ("amdgpu 0000:03:00.0: amdgpu: SMU is resuming...", None),
    ("amdgpu 0000:03:00.0: amdgpu: GPU reset(x) succeeded!", None),
    (
        "amdgpu 0000:03:00.0: amdgpu: MES ring buffer is full.",
        None,
    ),
    ("panfrost ff9a0000.gpu: Fatal error during GPU init", None),
    ("amdgpu device: GPU reset begin!", None),
    (
        "a program says: amdgpu 0000:03:00.0: GPU reset begin!",
        None,
    ),
];

/// What may stand before a text.
const PREFIXES: [&str; 4] = [
    "amdgpu 0000:03:00.0: ",
    "amdgpu: ",
    "[drm:f [amdgpu]] *ERROR* ",
    "amdgpu 0000:03:00.0: amdgpu: {3}",
];

#[test]
fn lines() {
    for (line, expected) in LINES {
        let found = find(line);
        let found = found
            .as_ref()
            .map(|found| (found.kind, found.device, found.facts.as_slice()));
        assert_eq!(found, expected, "{line}");
    }
}

#[test]
fn the_host_delivers_every_line_that_the_parser_reads() {
    let patterns = regex::RegexSet::new(PATTERNS).unwrap();
    let matching = LINES.iter().filter(|(_, expected)| expected.is_some());
    for (line, _) in matching {
        assert!(patterns.is_match(line), "{line}");
        let (_, text) = split(line).unwrap();
        for prefix in PREFIXES {
            let line = format!("{prefix}{text}");
            assert_eq!(find(&line).is_some(), patterns.is_match(&line), "{line}");
        }
    }
    assert!(!patterns.is_match("amdgpu 0000:03:00.0: amdgpu: SMU is resuming..."));
    assert!(!patterns.is_match("NVRM: GPU at 0000:3b:00.0 has fallen off the bus."));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

    #[test]
    fn any_line_is_survived(line in "(amdgpu |\\[drm:)?\\PC{0,80}") {
        find(&line);
    }

    /// Pieces of real lines, put together at random.
    #[test]
    fn what_is_read_is_delivered(
        prefix in prop::sample::select(PREFIXES.to_vec()),
        line in prop::sample::select(LINES.to_vec()),
        cut in 0usize..80,
    ) {
        let text = split(line.0).map_or(line.0, |(_, text)| text);
        let cut = text.floor_char_boundary(text.len().saturating_sub(cut / 8));
        let line = format!("{prefix}{}", &text[..cut]);
        if let Some(found) = find(&line) {
            let patterns = regex::RegexSet::new(PATTERNS).unwrap();
            prop_assert!(patterns.is_match(&line), "{line} is {found:?}");
        }
    }
}
