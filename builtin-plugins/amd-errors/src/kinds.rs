//! The kinds of kernel lines, and how each is stored.

use gpud_sdk::EventType;
use gpud_sdk::EventType::{Critical, Fatal, Info, Warning};

/// The content of a kernel line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The GPU is being reset.
    Reset,
    /// The reset worked.
    Recovered,
    /// The reset did not work.
    ResetFailed,
    /// What was in the GPU's memory is gone with the reset.
    VramLost,
    /// The GPU does not answer on the bus any more.
    OffBus,
    /// Work did not end in time.
    RingTimeout,
    /// Work did not end in time, and was ended without a reset.
    RingRecovered,
    /// A program used memory that it does not have.
    PageFault,
    /// The part of the GPU that hands out work does not answer.
    SchedulerHang,
    /// The part of the GPU that looks after power and clocks does not answer.
    SmuTimeout,
    /// Data is damaged.
    Uncorrectable,
    /// The hardware met an error that it cannot contain.
    FatalError,
    /// A program met damaged data.
    Poison,
    /// More of the memory is bad than the driver puts up with.
    BadPages,
    /// That will soon be so.
    BadPagesNear,
    /// A link between GPUs failed.
    Xgmi,
    /// The GPU's firmware could not be loaded.
    Firmware,
    /// The GPU could not be started.
    InitFailed,
}

/// How lines of one kind are stored.
#[derive(Debug)]
pub struct KindFacts {
    /// Which.
    pub kind: Kind,
    /// Name of its event.
    pub event: &'static str,
    /// How serious it is by itself.
    pub event_type: EventType,
    /// In words; the GPU follows.
    pub text: &'static str,
}

const fn kind_facts(
    kind: Kind,
    event: &'static str,
    event_type: EventType,
    text: &'static str,
) -> KindFacts {
    KindFacts {
        kind,
        event,
        event_type,
        text,
    }
}

/// All kinds.
#[rustfmt::skip]
pub static KINDS: [KindFacts; 18] = [
    kind_facts(Kind::Reset, "amdgpu_reset", Warning, "AMD GPU is reset"),
    kind_facts(Kind::Recovered, "amdgpu_recovered", Info, "AMD GPU recovered by a reset"),
    kind_facts(Kind::ResetFailed, "amdgpu_reset_failed", Fatal, "AMD GPU could not be recovered"),
    kind_facts(Kind::VramLost, "amdgpu_vram_lost", Info, "AMD GPU lost the content of its memory in a reset"),
    kind_facts(Kind::OffBus, "amdgpu_fallen_off_bus", Fatal, "AMD GPU has fallen off the bus"),
    kind_facts(Kind::RingTimeout, "amdgpu_ring_timeout", Warning, "AMD GPU: work did not end in time"),
    kind_facts(Kind::RingRecovered, "amdgpu_ring_recovered", Info, "AMD GPU: work did not end in time and was ended"),
    kind_facts(Kind::PageFault, "amdgpu_page_fault", Warning, "AMD GPU: a program used memory that it does not have"),
    kind_facts(Kind::SchedulerHang, "amdgpu_scheduler_hang", Warning, "AMD GPU: its scheduler does not answer"),
    kind_facts(Kind::SmuTimeout, "amdgpu_smu_timeout", Warning, "AMD GPU: its power controller (SMU) does not answer"),
    kind_facts(Kind::Uncorrectable, "amdgpu_uncorrectable_error", Critical, "AMD GPU: uncorrectable hardware error"),
    kind_facts(Kind::FatalError, "amdgpu_fatal_error", Fatal, "AMD GPU: fatal hardware error"),
    kind_facts(Kind::Poison, "amdgpu_poison_consumed", Critical, "AMD GPU: a program met damaged data"),
    kind_facts(Kind::BadPages, "amdgpu_bad_pages_limit", Fatal, "AMD GPU has more bad memory than the driver allows"),
    kind_facts(Kind::BadPagesNear, "amdgpu_bad_pages_near_limit", Warning, "AMD GPU has almost too much bad memory"),
    kind_facts(Kind::Xgmi, "amdgpu_xgmi_error", Critical, "AMD GPU: error of a link to another GPU (XGMI)"),
    kind_facts(Kind::Firmware, "amdgpu_firmware_load_failed", Critical, "AMD GPU: its firmware could not be loaded"),
    kind_facts(Kind::InitFailed, "amdgpu_init_failed", Fatal, "AMD GPU could not be started"),
];
