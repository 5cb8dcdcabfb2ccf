use super::*;

/// As slurm-wlm 22.05 prints it.
const DRAINED: &str = r#"NodeName=n1 Arch=x86_64 CoresPerSocket=1 
   CPUAlloc=0 CPUEfctv=2 CPUTot=2 CPULoad=0.50
   AvailableFeatures=(null)
   Gres=(null)
   NodeAddr=127.0.0.1 NodeHostName=vm Version=22.05.8
   OS=Linux 6.1.0 #1 SMP 
   RealMemory=1 AllocMem=0 FreeMem=20000 Sockets=2 Boards=1
   State=IDLE+DRAIN ThreadsPerCore=1 TmpDisk=0 Weight=1 Owner=N/A MCS_label=N/A
   Partitions=all 
   ExtSensorsJoules=n/s ExtSensorsWatts=0 ExtSensorsTemp=n/s
   Reason=gpud: a: b "x" State=DOWN [y] (z) [root@2026-11-26T02:58:56]

"#;

#[test]
fn the_classic_output_is_read() {
    let node = SlurmNode::parse(DRAINED).unwrap();
    assert!(node.is_withheld() && !node.is_down());
    assert_eq!(node.reason, "gpud: a: b \"x\" State=DOWN [y] (z)");
    for (output, flags, reason) in [
        ("   State=IDLE ThreadsPerCore=1", "IDLE", ""),
        ("State=IDLE*+DRAIN", "DRAIN IDLE", ""),
        ("State=DOWN*", "DOWN", ""),
        (
            "State=MIXED+DRAIN+NOT_RESPONDING\nReason=x [root@2026-11-26T02:58:57]",
            "DRAIN MIXED NOT_RESPONDING",
            "x",
        ),
        // A reason of several lines.
        (
            "State=IDLE+DRAIN\n   Reason=gpud: a [root@2026]\n          State=IDLE\n",
            "DRAIN IDLE",
            "gpud: a",
        ),
        ("State=IDLE\nReason=see [1]", "IDLE", "see [1]"),
    ] {
        let node = SlurmNode::parse(output).unwrap();
        let found: Vec<&str> = node.flags.iter().map(String::as_str).collect();
        assert_eq!(
            (found.join(" ").as_str(), node.reason.as_str()),
            (flags, reason)
        );
    }
    for output in ["", "Node n1 not found", "State=", "NodeName=a State=IDLE"] {
        assert!(SlurmNode::parse(output).is_err(), "{output:?}");
    }
}

#[test]
fn a_name_is_the_name_of_one_node() {
    for name in ["n1", "gpu-node_7.cluster", "7"] {
        assert_eq!(check_name(name), Ok(()));
    }
    for name in [
        "",
        "ALL",
        "all",
        "n[1-9]",
        "a,b",
        "a b",
        "-n",
        ".",
        "n1\nState=IDLE",
        "n=1",
        "ä",
    ] {
        assert!(check_name(name).is_err(), "{name:?}");
    }
}

proptest::proptest! {
    #[test]
    fn any_output_is_read_or_refused(output in "(?s).{0,300}") {
        let _ = SlurmNode::parse(&output);
    }
}
