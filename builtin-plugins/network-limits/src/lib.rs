//! `network-limits`: is the table of tracked connections full, and are there ports left for new ones? What the kernel log
//! says of tables that ran full between two checks becomes events ([`kmsg`]).

pub mod conntrack;
pub mod evaluate;
pub mod kmsg;
#[rustfmt::skip]
pub mod patterns;
pub mod ports;

use gpud_sdk::files::{self, read_optional};
use gpud_sdk::findings;
use gpud_sdk::policy::{self, PolicyInput};
use gpud_sdk::{
    AccessError, CheckContext, Checker, Descriptor, Error, Event, KmsgWatcher, Message, Report,
    state, sysfs,
};

use conntrack::{Conntrack, PreviousCounters};
use evaluate::{Config, Inputs, SCHEMA};
use ports::{Ports, Range, Reuse};

const NETFILTER: &str = "/proc/sys/net/netfilter";
const RANGE: &str = "/proc/sys/net/ipv4/ip_local_port_range";
const PROC_NET: &str = "/proc/self/net";
/// A line of 100 bytes for each processor.
const MAX_STAT_BYTES: u32 = 1 << 20;
/// Some 28,000 sockets of 150 bytes: the largest file that a check may read.
const MAX_TABLE_BYTES: u32 = 4 << 20;
/// The key of the stored counter of dropped packets.
const DROPS: &str = "drops";

/// The checker.
pub struct NetworkLimits;

impl Checker for NetworkLimits {
    fn check(context: &CheckContext) -> Result<Report, Error> {
        let (config, policy) = policy::configured(&patterns::CATALOG, Config::parse)?;
        let kept = state::get_string(DROPS)?;
        let inputs = Inputs {
            conntrack: read_conntrack()?,
            drops_before: kept
                .as_deref()
                .and_then(|kept| PreviousCounters::restore(kept, &context.boot_id)),
            ports: read_ports()?,
        };
        if let Some(counters) = inputs.conntrack.as_ref().and_then(Conntrack::counters) {
            let text = counters.save(&context.boot_id);
            if kept.as_ref() != Some(&text) {
                state::set(DROPS, text.as_bytes())?;
            }
        }
        let report =
            findings::check(|before| Ok(evaluate::judge(context, &config, &inputs, before)))?;
        let past = PolicyInput::ask(context, &policy, false)?;
        Ok(policy.add(context, past.as_ref(), report))
    }
}

impl KmsgWatcher for NetworkLimits {
    fn patterns(_component: &str) -> Vec<String> {
        kmsg::PATTERNS.map(str::to_owned).to_vec()
    }

    fn on_messages(context: &CheckContext, messages: Vec<Message>) -> Result<Vec<Event>, Error> {
        Ok(kmsg::events(context, &messages))
    }
}

fn read_conntrack() -> Result<Option<Conntrack>, AccessError> {
    let read = |name: &str| read_optional(&format!("{NETFILTER}/{name}"), files::SHORT);
    let (count, max) = (read("nf_conntrack_count")?, read("nf_conntrack_max")?);
    let Some((count, max)) = count.zip(max) else {
        return Ok(None);
    };
    let stat = match read_optional(&format!("{PROC_NET}/stat/nf_conntrack"), MAX_STAT_BYTES) {
        // Only root may read it.
        Err(AccessError::Denied(_)) => None,
        stat => stat?,
    };
    let table = Conntrack::new(&count, &max, &stat.unwrap_or_default());
    table.map_err(|why| AccessError::Other(format!("{NETFILTER}: {why}")))
}

/// The sockets are counted one by one only where there are enough to use up a range: the kernel walks its whole table.
fn read_ports() -> Result<Option<Ports>, AccessError> {
    let Some(text) = read_optional(RANGE, files::SHORT)? else {
        return Ok(None);
    };
    let range = Range::parse(&text)
        .ok_or_else(|| AccessError::Other(format!("{RANGE} holds no range of ports")))?;
    let mut sockets = 0;
    for file in ["sockstat", "sockstat6"] {
        let text = read_optional(&format!("{PROC_NET}/{file}"), 4_096)?.unwrap_or_default();
        sockets += ports::tcp_sockets(&text);
    }
    let mut ports = Ports::new(range, sockets);
    if ports.is_worth_counting() {
        let reuse = read_optional("/proc/sys/net/ipv4/tcp_tw_reuse", files::SHORT)?;
        ports.reuse = Reuse::parse(&reuse.unwrap_or_default());
        for file in ["tcp", "tcp6"] {
            match sysfs::read_to_string(&format!("{PROC_NET}/{file}"), MAX_TABLE_BYTES) {
                Ok(text) => ports.count(&text),
                Err(AccessError::TooLarge(_)) => ports.too_many = true,
                Err(AccessError::NotFound(_)) => {}
                Err(error) => return Err(error),
            }
        }
    }
    Ok(Some(ports))
}

gpud_sdk::member!("network-limits" => NetworkLimits + kmsg_watcher: Descriptor::new(
    "network-limits",
    "Connection tracking table, ephemeral ports, and tables of the network that ran full by the kernel log",
)
.metric(evaluate::ENTRIES, "Tracked connections")
.metric(evaluate::MAX, "Most connections that are tracked (nf_conntrack_max)")
.metric(evaluate::PERCENT, "Tracked connections in percent of the most")
.metric(evaluate::DROPS, "Packets dropped since boot because a connection could not be tracked")
.metric(evaluate::SOCKETS, "TCP sockets in use or waiting to be closed (TIME_WAIT)")
.metric(evaluate::EPHEMERAL, "Ports in the range for outgoing connections")
.config_schema(&policy::schema(SCHEMA, &patterns::CATALOG)));
