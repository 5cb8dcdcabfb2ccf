//! `memory-numa`: huge pages, and how memory is spread over NUMA nodes.
//!
//! What is right differs from site to site, so nothing is judged but what the operator expects.

pub mod evaluate;
pub mod facts;

use gpud_sdk::files::{read_all, read_optional, segment};
use gpud_sdk::findings;
use gpud_sdk::{AccessError, CheckContext, Checker, Descriptor, Error, Report, sysfs};

use evaluate::{Config, SCHEMA};
use facts::{Facts, Node, Pool};

const NODES: &str = "/sys/devices/system/node/node*";
const POOLS: &str = "/sys/kernel/mm/hugepages/hugepages-*";
/// Some 40 lines.
const MAX_TEXT: u32 = 16 * 1024;
/// `CONFIG_NODES_SHIFT` is at most 10.
const MAX_NODES: u32 = 1_024;

/// The checker.
pub struct MemoryNuma;

impl Checker for MemoryNuma {
    fn check(context: &CheckContext) -> Result<Report, Error> {
        let config = Config::parse(&gpud_sdk::config::document()).map_err(Error::failed)?;
        let facts = read()?;
        findings::check(|before| Ok(evaluate::judge(context, &config, &facts, before)))
    }
}

fn read() -> Result<Facts, AccessError> {
    let mut facts = Facts::default();
    let (mut stat, mut cpus) = (read_long("numastat")?, read_long("cpulist")?);
    for (name, meminfo) in read_long("meminfo")? {
        let of_node = |files: &mut Vec<(String, String)>| {
            let at = files.iter().position(|(node, _)| *node == name)?;
            Some(files.swap_remove(at).1)
        };
        let (stat, cpus) = (of_node(&mut stat), of_node(&mut cpus));
        let (stat, cpus) = (stat.unwrap_or_default(), cpus.unwrap_or_default());
        match Node::new(&name, &meminfo, &stat, &cpus) {
            Some(node) => facts.nodes.push(node),
            None => facts.unread.push(name),
        }
    }
    let free = read_all(&format!("{POOLS}/free_hugepages"))?;
    for (path, total) in read_all(&format!("{POOLS}/nr_hugepages"))? {
        let Some(folder) = segment(&path, 1) else {
            continue;
        };
        let free = free
            .iter()
            .find(|(path, _)| segment(path, 1) == Some(folder));
        facts
            .pools
            .extend(Pool::new(folder, &total, free.map_or("", |(_, text)| text)));
    }
    let transparent = read_optional("/sys/kernel/mm/transparent_hugepage/enabled", MAX_TEXT)?;
    facts.transparent = transparent.and_then(|text| facts::chosen(&text));
    let balancing = read_optional("/proc/sys/kernel/numa_balancing", MAX_TEXT)?;
    facts.balancing = balancing.and_then(|text| text.parse().ok());
    Ok(facts)
}

/// A file of every node, by the node's name.
fn read_long(file: &str) -> Result<Vec<(String, String)>, AccessError> {
    let files = match sysfs::read_glob(&format!("{NODES}/{file}"), MAX_TEXT, MAX_NODES) {
        Err(AccessError::NotFound(_)) => return Ok(Vec::new()),
        files => files?,
    };
    let read = files.into_iter().filter_map(|file| {
        let text = String::from_utf8(file.content.ok()?).ok()?;
        Some((segment(&file.path, 1)?.to_owned(), text))
    });
    Ok(read.collect())
}

gpud_sdk::member!("memory-numa" => MemoryNuma: Descriptor::new(
    "memory-numa",
    "Huge pages, and memory by NUMA node",
)
.metric(evaluate::TOTAL, "Memory of the NUMA node (bytes)")
.metric(evaluate::FREE, "Free memory of the NUMA node (bytes)")
.metric(evaluate::MISS, "Pages of the NUMA node that were wanted from another one, since boot")
.metric(evaluate::PAGES, "Huge pages in the pool, by size")
.metric(evaluate::FREE_PAGES, "Huge pages in the pool that are free, by size")
.config_schema(SCHEMA));
