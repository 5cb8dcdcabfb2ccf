use super::*;

fn program(program: &str, arguments: Option<&[&str]>, stdout: &str) -> CannedProgram {
    CannedProgram {
        program: program.to_owned(),
        arguments: arguments.map(|all| all.iter().map(|one| (*one).to_owned()).collect()),
        stdout: stdout.to_owned(),
        ..CannedProgram::default()
    }
}

#[test]
fn the_first_program_that_fits_answers() {
    let canned = Canned {
        programs: vec![
            program("ipmitool", Some(&["sel", "list"]), "log"),
            program("/usr/bin/ipmitool", None, "else"),
        ],
        ..Canned::default()
    };
    let run = |name: &str, arguments: &[&str]| {
        let arguments: Vec<_> = arguments.iter().map(|one| (*one).to_owned()).collect();
        canned.run(name, &arguments).map(|output| output.stdout)
    };
    assert_eq!(run("ipmitool", &["sel", "list"]).unwrap(), b"log");
    assert_eq!(run("ipmitool", &["sdr"]).unwrap(), b"else");
    assert_eq!(run("/usr/bin/ipmitool", &[]).unwrap(), b"else");
    let error = run("lsblk", &["-J"]).unwrap_err().to_string();
    assert!(error.contains("lsblk -J"), "{error}");
    assert!(run("/sbin/ipmitool", &[]).is_err());
}

#[test]
fn answers_change_and_the_newest_comes_first() {
    let mut canned = Canned {
        programs: vec![
            program("ipmitool", Some(&["sel"]), "old log"),
            program("ipmitool", None, "else"),
            program("mdadm", None, "array"),
        ],
        tcp: vec!["a:1".to_owned()],
        ..Canned::default()
    };
    let run = |canned: &Canned, arguments: &[&str]| {
        let arguments: Vec<_> = arguments.iter().map(|one| (*one).to_owned()).collect();
        let output = canned.run("ipmitool", &arguments).unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let page = CannedPage {
        status: 503,
        body: String::new(),
    };
    let pages = BTreeMap::from([("/x".to_owned(), page)]);
    let http = BTreeMap::from([("loopback:1".to_owned(), pages)]);
    canned.take(
        vec![program("ipmitool", Some(&["sel"]), "new log")],
        http,
        None,
    );
    assert_eq!(run(&canned, &["sel"]), "new log");
    assert_eq!(run(&canned, &["sdr"]), "else");
    assert_eq!(canned.programs.len(), 3);
    assert_eq!(canned.get("loopback:1", "/x", 1).unwrap().status, 503);
    assert!(canned.connect("a:1").is_ok());
    canned.take(
        vec![program("ipmitool", None, "all")],
        BTreeMap::new(),
        Some(Vec::new()),
    );
    assert_eq!(run(&canned, &["sel"]), "all");
    assert!(canned.connect("a:1").is_err());
    canned.remove_program("ipmitool");
    assert!(canned.run("ipmitool", &[]).is_err());
    assert!(canned.run("mdadm", &[]).is_ok());
}

#[test]
fn services_give_the_configured_answers() {
    let page = CannedPage {
        status: 200,
        body: "ok".to_owned(),
    };
    let pages = BTreeMap::from([("/healthz".to_owned(), page)]);
    let canned = Canned {
        http: BTreeMap::from([("loopback:9100".to_owned(), pages)]),
        tcp: vec!["10.0.0.1:22".to_owned()],
        ..Canned::default()
    };
    let answer = canned.get("loopback:9100", "/healthz", 10).unwrap();
    assert_eq!((answer.status, answer.body.as_slice()), (200, &b"ok"[..]));
    assert_eq!(canned.get("loopback:9100", "/x", 10).unwrap().status, 404);
    assert!(canned.get("loopback:9100", "/healthz", 1).is_err());
    assert!(canned.get("unix:/run/x", "/healthz", 10).is_err());
    assert!(canned.connect("10.0.0.1:22").is_ok());
    assert!(canned.connect("10.0.0.1:23").is_err());
}

#[tokio::test]
async fn a_made_up_machine_has_its_own_files_clock_and_log() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("root");
    std::fs::create_dir_all(root.join("proc")).unwrap();
    std::fs::write(root.join("proc/uptime"), "1 2\n").unwrap();
    let kmsg = folder.path().join("kmsg");
    std::fs::write(&kmsg, "3,7,5000000,-;made up\n").unwrap();
    let boot = Boot {
        id: "b".to_owned(),
        time: 1_000_000,
    };
    let node = Node::simulated(Simulation {
        root,
        now: 2_000_000,
        boot,
        kmsg,
        canned: Canned::default(),
    })
    .unwrap();
    assert_eq!(
        node.files.read("/proc/uptime", 100).await.unwrap(),
        b"1 2\n"
    );
    assert!(node.files.read("/proc/stat", 100).await.is_err());
    assert_eq!(node.clock.now_ms(), 2_000_000);
    let every = regex::RegexSet::empty();
    let log = node
        .kmsg_read_back(every, 10, Duration::from_secs(5))
        .await
        .unwrap();
    assert_eq!(log.messages[0].text, "made up");
    assert_eq!(log.messages[0].time, 1_005_000);
    assert!(node.canned().is_some());
}
