//! Facts that the kernel reports.
//!
//! | file | source |
//! |---|---|
//! | `/sys/devices/system/node/node‹n›/meminfo`: `Node 0 MemTotal: 65536 kB` | `drivers/base/node.c`, `node_read_meminfo` |
//! | `/sys/devices/system/node/node‹n›/numastat`: `numa_miss 0` | `Documentation/admin-guide/numastat.rst` |
//! | `/sys/kernel/mm/hugepages/hugepages-‹n›kB/` | `Documentation/admin-guide/mm/hugetlbpage.rst` |
//! | `/sys/kernel/mm/transparent_hugepage/enabled`: `always [madvise] never` | `Documentation/admin-guide/mm/transhuge.rst` |
//! | `/proc/sys/kernel/numa_balancing` | `Documentation/admin-guide/sysctl/kernel.rst` |

/// A NUMA node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// For example `node0`.
    pub name: String,
    /// Memory, bytes; 0 for a node of processors alone.
    pub total: u64,
    /// Free memory, bytes.
    pub free: u64,
    /// Pages taken here that were wanted elsewhere.
    pub misses: Option<u64>,
    /// It has processors. Nodes without are memory alone (of a GPU or CXL).
    pub has_cpus: bool,
}

impl Node {
    /// From its files; nothing if the size is not reported.
    pub fn new(name: &str, meminfo: &str, numastat: &str, cpulist: &str) -> Option<Self> {
        let kilobytes = |key: &str| {
            let mut lines = meminfo.lines();
            let value = lines.find_map(|line| line.split_once(key))?.1;
            let number: u64 = value.split_ascii_whitespace().next()?.parse().ok()?;
            number.checked_mul(1024)
        };
        let miss = numastat
            .lines()
            .find_map(|line| line.strip_prefix("numa_miss "));
        Some(Self {
            name: name.to_owned(),
            total: kilobytes(" MemTotal:")?,
            free: kilobytes(" MemFree:").unwrap_or(0),
            misses: miss.and_then(|text| text.trim().parse().ok()),
            has_cpus: !cpulist.trim().is_empty(),
        })
    }
}

/// A pool of huge pages of one size.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pool {
    /// For example `2048kB`.
    pub size: String,
    /// Pages in it.
    pub total: u64,
    /// Of these, free ones.
    pub free: u64,
}

impl Pool {
    /// From its folder's name and its files.
    pub fn new(folder: &str, total: &str, free: &str) -> Option<Self> {
        Some(Self {
            size: folder.strip_prefix("hugepages-")?.to_owned(),
            total: total.parse().ok()?,
            free: free.parse().unwrap_or(0),
        })
    }
}

/// All of it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Facts {
    /// NUMA nodes.
    pub nodes: Vec<Node>,
    /// Names of those whose memory is not reported.
    pub unread: Vec<String>,
    /// Pools of huge pages.
    pub pools: Vec<Pool>,
    /// Setting of transparent huge pages.
    pub transparent: Option<String>,
    /// Setting of NUMA balancing.
    pub balancing: Option<u64>,
}

/// The word in brackets.
pub fn chosen(text: &str) -> Option<String> {
    Some(text.split_once('[')?.1.split_once(']')?.0.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn texts() {
        let meminfo = "Node 1 MemTotal:       2048 kB\nNode 1 MemFree:        1024 kB\nNode 1 MemUsed: 5 kB\n";
        let node = Node::new("node1", meminfo, "numa_hit 10\nnuma_miss 7\n", "0-3\n").unwrap();
        let expected = Node {
            name: "node1".to_owned(),
            total: 2 << 20,
            free: 1 << 20,
            misses: Some(7),
            has_cpus: true,
        };
        assert_eq!(node, expected);
        assert_eq!(Node::new("node1", "", "", ""), None);
        assert!(!Node::new("n", meminfo, "", "\n").unwrap().has_cpus);
        let pool = Pool::new("hugepages-2048kB", "512", "500").unwrap();
        assert_eq!(
            (pool.size.as_str(), pool.total, pool.free),
            ("2048kB", 512, 500)
        );
        assert_eq!(Pool::new("hugepages-2048kB", "x", ""), None);
        assert_eq!(chosen("always [madvise] never").as_deref(), Some("madvise"));
        assert_eq!(chosen("always"), None);
    }

    proptest! {
        #[test]
        fn any_text_is_survived(text in "[ -~\n]{0,80}") {
            Node::new("n", &text, &text, &text);
            Node::new("n", &format!("Node 0 MemTotal: {text}"), &format!("numa_miss {text}"), "");
            Pool::new(&text, &text, &text);
            chosen(&text);
        }
    }
}
