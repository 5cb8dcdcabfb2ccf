//! Every built-in checker that watches the kernel log: its patterns, and what it makes of lines, natively. Each is called
//! as its `on_messages` calls its parsers, with what it keeps between two batches; what it would ask of the machine is
//! answered here.

use gpud_builtin_amd_errors as amd_errors;
use gpud_builtin_block_io as block_io;
use gpud_builtin_cpu as cpu;
use gpud_builtin_device_loss as device_loss;
use gpud_builtin_disk as disk;
use gpud_builtin_edac as edac;
use gpud_builtin_ethernet as ethernet;
use gpud_builtin_infiniband as infiniband;
use gpud_builtin_ipmi as ipmi;
use gpud_builtin_kernel_stalls as kernel_stalls;
use gpud_builtin_machine_check as machine_check;
use gpud_builtin_memory as memory;
use gpud_builtin_nccl as nccl;
use gpud_builtin_network_limits as network_limits;
use gpud_builtin_nfs as nfs;
use gpud_builtin_nvidia_nvlink as nvlink;
use gpud_builtin_nvidia_recovery_action as recovery_action;
use gpud_builtin_os as os;
use gpud_builtin_pcie_aer as pcie_aer;
use gpud_builtin_peermem as peermem;
use gpud_builtin_storage_clients as storage_clients;
use gpud_builtin_sxid as sxid;
use gpud_builtin_thermal as thermal;
use gpud_builtin_xid as xid;
use gpud_sdk::incidents::Repeats;
use gpud_sdk::{CheckContext, Event, Message};

/// A batch of messages to events. The last argument is what the checker keeps; it may change it.
pub type OnMessages = fn(&CheckContext, &[Message], &mut Option<String>) -> Vec<Event>;

/// A checker's way with kernel lines.
#[derive(Debug, Clone, Copy)]
pub struct Checker {
    /// Its folder under `builtin-plugins/`.
    pub name: &'static str,
    /// What it asks the host for.
    pub patterns: &'static [&'static str],
    /// What it makes of it.
    pub on_messages: OnMessages,
}

const fn checker(
    name: &'static str,
    patterns: &'static [&'static str],
    on_messages: OnMessages,
) -> Checker {
    Checker {
        name,
        patterns,
        on_messages,
    }
}

/// All of them.
pub static ALL: [Checker; 24] = [
    checker(
        "amd-errors",
        &amd_errors::lines::PATTERNS,
        |context, messages, _| amd_errors::evaluate::events(context, messages),
    ),
    checker(
        "block-io",
        &block_io::lines::PATTERNS,
        |context, messages, _| {
            block_io::evaluate::events(context, messages, block_io::topology::Topology::default)
        },
    ),
    checker("cpu", &cpu::kmsg::PATTERNS, |context, messages, _| {
        let event = |message| cpu::kmsg::event(context, message);
        messages.iter().filter_map(event).collect()
    }),
    checker(
        "device-loss",
        &device_loss::lines::PATTERNS,
        |context, messages, kept| {
            let names = |_: &str| vec!["mlx5_0".to_owned(), "eth0".to_owned()];
            counted(context, kept, |repeats| {
                device_loss::evaluate::events(context, messages, repeats, names)
            })
        },
    ),
    checker("disk", &disk::kmsg::PATTERNS, |context, messages, _| {
        let event = |message| disk::kmsg::event(context, message);
        messages.iter().filter_map(event).collect()
    }),
    checker("edac", &edac::line::PATTERNS, |context, messages, _| {
        edac::line::events(context, messages)
    }),
    checker(
        "ethernet",
        &ethernet::patterns::PATTERNS,
        |context, messages, kept| {
            counted(context, kept, |repeats| {
                ethernet::LINES.events(context, messages, repeats)
            })
        },
    ),
    checker(
        "infiniband",
        &infiniband::kmsg::PATTERNS,
        |context, messages, _| {
            infiniband::kmsg::events(context, messages, |_| Some("mlx5_0".to_owned()))
        },
    ),
    checker("ipmi", &ipmi::kmsg::PATTERNS, |context, messages, _| {
        ipmi::kmsg::events(context, messages)
    }),
    checker("kernel-stalls", &kernel_stalls::lines::PATTERNS, stalls),
    checker(
        "machine-check",
        &machine_check::line::PATTERNS,
        |context, messages, kept| {
            let before = kept.clone();
            let (events, after) = machine_check::row::events(context, messages, || before);
            if after.is_some() {
                *kept = after;
            }
            events
        },
    ),
    checker(
        "memory",
        &memory::oom::PATTERNS,
        |context, messages, kept| {
            let mut matcher = memory::oom::Matcher::restore(kept.as_deref(), &context.boot_id);
            let event = |message| matcher.event(context, message);
            let events = messages.iter().filter_map(event).collect();
            *kept = matcher.save(&context.boot_id);
            events
        },
    ),
    checker("nccl", &nccl::line::PATTERNS, |context, messages, _| {
        let event = |message| nccl::evaluate::event(context, message);
        messages.iter().filter_map(event).collect()
    }),
    checker(
        "network-limits",
        &network_limits::kmsg::PATTERNS,
        |context, messages, _| network_limits::kmsg::events(context, messages),
    ),
    checker("nfs", &nfs::kmsg::PATTERNS, |context, messages, _| {
        let event = |message| nfs::kmsg::event(context, message);
        messages.iter().filter_map(event).collect()
    }),
    checker("nvlink", &nvlink::kmsg::PATTERNS, |context, messages, _| {
        nvlink::events(context, messages)
    }),
    checker("os", &os::panic::PATTERNS, |context, messages, kept| {
        let (events, after) = os::panic::events(context, messages.to_vec(), kept.as_deref());
        *kept = after;
        events
    }),
    checker(
        "pcie-aer",
        &pcie_aer::line::PATTERNS,
        |context, messages, _| {
            pcie_aer::row::events(context, messages, pcie_aer::device::Device::unknown)
        },
    ),
    checker(
        "peermem",
        &peermem::kmsg::PATTERNS,
        |context, messages, _| {
            let event = |message| peermem::kmsg::event(context, message);
            messages.iter().filter_map(event).collect()
        },
    ),
    checker(
        "recovery-action",
        &recovery_action::kmsg::PATTERNS,
        |context, messages, _| recovery_action::events(context, messages),
    ),
    checker(
        "storage-clients",
        &storage_clients::patterns::PATTERNS,
        |context, messages, kept| {
            counted(context, kept, |repeats| {
                storage_clients::LINES.events(context, messages, repeats)
            })
        },
    ),
    checker("sxid", &sxid::line::PATTERNS, |context, messages, _| {
        let config = sxid::config::read("{}").expect("the defaults");
        sxid::evaluate::events(context, &config, messages).expect("events that can be written")
    }),
    checker(
        "thermal",
        &thermal::lines::PATTERNS,
        |context, messages, _| thermal::evaluate::events(context, messages),
    ),
    checker("xid", &xid::line::PATTERNS, |context, messages, _| {
        let gpu = xid::gpu::Gpu {
            uuid: "GPU-1b4c2a90-6a3e-4f0e-9d6c-0f1b2c3d4e5f".to_owned(),
            bus_id: "00000000:3B:00.0".to_owned(),
            ..xid::gpu::Gpu::default()
        };
        let config = xid::config::read("{}").expect("the defaults");
        xid::evaluate::events(context, &config, messages, || None, || vec![gpu])
            .expect("events that can be written")
    }),
];

/// Events of a checker that keeps when each series of repeats began.
fn counted(
    context: &CheckContext,
    kept: &mut Option<String>,
    events: impl FnOnce(&mut Repeats) -> Vec<Event>,
) -> Vec<Event> {
    let mut repeats = Repeats::restore(kept.as_deref(), &context.boot_id);
    let events = events(&mut repeats);
    if let Some(after) = repeats.changed() {
        *kept = Some(after);
    }
    events
}

/// The retained state of the last oops and of blocked tasks is one text here, with a blank line between.
fn stalls(context: &CheckContext, messages: &[Message], kept: &mut Option<String>) -> Vec<Event> {
    use kernel_stalls::{blocked::Blocked, config::Config, evaluate, oops::Oops};

    let config = Config::parse("{}").expect("the defaults");
    let both = kept.as_deref().and_then(|kept| kept.split_once("\n\n"));
    let (of_oops, of_blocked) = both.unzip();
    let mut blocked = Blocked::restore(of_blocked, &context.boot_id);
    let mut oops = Oops::restore(of_oops, &context.boot_id);
    let events = evaluate::events(context, &config, messages, &mut blocked, &mut oops);
    let after = (oops.changed(), blocked.changed());
    if after != (None, None) {
        let or_before = |after: Option<String>, before: Option<&str>| {
            after.unwrap_or_else(|| before.unwrap_or_default().to_owned())
        };
        let (of_oops, of_blocked) = (or_before(after.0, of_oops), or_before(after.1, of_blocked));
        *kept = Some(format!("{of_oops}\n\n{of_blocked}"));
    }
    events
}
