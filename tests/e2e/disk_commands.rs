//! The operator's commands in place of the programs that tell about disks.

use std::fs;

use crate::daemon::Start;

#[test]
fn space_comes_from_the_command_in_place_of_df() {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("df-of-the-host");
    let asked = folder.path().join("asked");
    fs::write(
        &script,
        format!(
            "echo \"$*\" > {}\n\
             echo 'Filesystem Type 1-blocks Used Available Capacity Mounted on'\n\
             echo '/dev/host1 ext4 1073741824 968884224 104857600 91% /'\n\
             echo 'srv:/vol nfs4 5000 1000 4000 20% /host/nfs'\n",
            asked.display()
        ),
    )
    .unwrap();
    let command = format!("bash {}", script.display());
    let daemon = Start::new()
        .arguments(&[
            "--components=disk",
            "--plugin-specs-file=",
            "--blockdev-usage-commands",
            &command,
        ])
        .ready();
    let state = daemon.state("disk");
    assert_eq!(state["health"], "Degraded", "{state}");
    let reason = state["reason"].as_str().unwrap();
    assert!(
        reason.contains("ext4 partition /: free space 100 MiB is below 500 MiB threshold"),
        "{reason}"
    );
    assert_eq!(fs::read_to_string(&asked).unwrap().trim(), "-T -B1 -P");
    assert_eq!(
        daemon.get("/admin/config")["blockdev_usage_commands"],
        command
    );
    let info = daemon.get("/machine-info");
    let devices = info["diskInfo"]["blockDevices"].as_array().unwrap();
    let nfs = devices
        .iter()
        .find(|device| device["mountPoint"] == "/host/nfs")
        .unwrap();
    assert_eq!(
        (&nfs["name"], &nfs["size"], &nfs["used"]),
        (&"srv:/vol".into(), &5000.into(), &1000.into())
    );
}
