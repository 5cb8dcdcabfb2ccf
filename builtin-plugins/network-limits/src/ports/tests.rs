use super::*;
use proptest::prelude::*;

const TCP: &str = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n\
   0: 00000000:8000 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1 1 0 100 0 0 10 0\n\
   1: 0100007F:8001 0100007F:1F90 01 00000000:00000000 00:00000000 00000000     0        0 1 1 0 100 0 0 10 0\n\
   2: 0100007F:8002 0100007F:1F90 06 00000000:00000000 03:00000000 00000000     0        0 0 3 0\n\
   3: 0100007F:1F90 0100007F:8001 01 00000000:00000000 00:00000000 00000000     0        0 1 1 0 100 0 0 10 0\n\
   4: 0100007F:8003 0200007F:1F90 01\nbad\n";
const TCP6: &str =
    "sl\n 0: 00000000000000000000000001000000:8001 B80D0120000000000000000001000000:0050 01\n";

fn range() -> Range {
    Range::parse("32768\t60999\n").unwrap()
}

#[test]
fn ranges() {
    assert_eq!(range().size(), 28_232);
    for bad in ["", "1", "5 4", "0 65536", "a b"] {
        assert_eq!(Range::parse(bad), None, "{bad}");
    }
    assert_eq!(Range::parse("0 65535").unwrap().size(), 65_536);
}

#[test]
fn destinations() {
    let mut ports = Ports::new(range(), 14_116);
    assert!(ports.is_worth_counting() && !Ports::new(range(), 14_115).is_worth_counting());
    ports.count(TCP);
    assert_eq!(ports.busiest(), Some(("127.0.0.1:8080".to_owned(), 2)));
    let mut ports = Ports::new(range(), 0);
    ports.count(TCP6);
    assert_eq!(ports.busiest(), Some(("[2001:db8::1]:80".to_owned(), 1)));
    assert_eq!(Ports::new(range(), 0).busiest(), None);
}

#[test]
fn ports_that_wait_can_be_free() {
    let line = |local: &str, state: &str| format!("sl\n 0: {local}:8001 X:1F90 {state}\n");
    let (lo, lan) = ("0100007F", "0100A8C0");
    let (lo6, mapped) = (
        "00000000000000000000000001000000",
        "0000000000000000FFFF00000100007F",
    );
    for (setting, address, state, expected) in [
        ("0\n", lo, "06", 1),
        ("2\n", lo, "06", 0),
        ("2\n", lo6, "06", 0),
        ("2\n", mapped, "06", 0),
        ("2\n", lan, "06", 1),
        ("2\n", lo, "01", 1),
        ("1\n", lan, "06", 0),
        ("x", lo, "06", 1),
    ] {
        let mut ports = Ports::new(range(), 0);
        ports.reuse = Reuse::parse(setting);
        ports.count(&line(address, state));
        let found = ports.busiest().map_or(0, |(_, count)| count);
        assert_eq!(found, expected, "{setting:?} {address} {state}");
    }
}

#[test]
fn sockstat() {
    let text = "sockets: used 76\nTCP: inuse 9 orphan 0 tw 1 alloc 9 mem 0\nUDP: inuse 7 mem 0\n";
    for (text, expected) in [
        (text, 10),
        ("TCP6: inuse 4\n", 4),
        ("TCP: inuse", 0),
        ("", 0),
    ] {
        assert_eq!(tcp_sockets(text), expected, "{text}");
    }
}

proptest! {
    #[test]
    fn any_text_is_survived(text in "[ -~\n]{0,200}", address in "[0-9A-F]{0,40}:[0-9A-F]{0,5}") {
        let mut ports = Ports::new(range(), 0);
        ports.count(&text);
        ports.count(&format!("\n0: {address} {address} 01"));
        ports.busiest();
        tcp_sockets(&text);
        Range::parse(&text);
    }
}
