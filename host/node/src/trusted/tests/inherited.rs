//! The environment that scripts of root inherit.

use super::*;
use crate::variables;

#[test]
fn scripts_of_root_inherit_no_variable_by_which_others_run_code() {
    let place = TestFolder::new();
    let good = place.file("good/file");
    let bad = place.file("bad/file");
    mode(&place.path("bad"), 0o777);
    let opener = Opener::of_daemon();
    let (folder, open) = (place.path("good"), place.path("bad"));
    let (folder, open) = (folder.display(), open.display());
    let change = |name: &str, value: String| {
        let changed = environment::change(name.as_ref(), value.as_ref(), opener);
        changed.map(|value| value.map(|value| value.into_string().unwrap()))
    };
    for (name, value) in [
        ("PYTHONPATH", good.display().to_string()),
        ("PYTHONPATH", String::new()),
        ("PYTHONUNBUFFERED", "1".to_owned()),
        ("CURL_CA_BUNDLE", good.display().to_string()),
        ("LD_LIBRARY_PATH", format!("{folder}:/usr/lib")),
        // One that is missing, as drivers' images have it.
        ("LD_LIBRARY_PATH", "/usr/no-such-folder/lib64".to_owned()),
        ("HOME", folder.to_string()),
        ("TMPDIR", "/tmp".to_owned()),
        ("NODE_NAME", "gpu-1".to_owned()),
        ("PATH", format!("{open}")),
        ("ACME", format!("{folder}:/usr/no-such-file,-I{folder} a=b")),
        ("ACME", "https://host/path?x=/dev/null".to_owned()),
        ("TMP", "/tmp".to_owned()),
        ("NCCL_NET_PLUGIN", "ofi".to_owned()),
        ("NCCL_DEBUG", "INFO".to_owned()),
        ("CUDA_INJECTION64_PATH", good.display().to_string()),
        ("SLURM_CONF", good.display().to_string()),
        ("DOCKER_HOST", format!("unix://{folder}/socket")),
        ("CONTAINERD_ADDRESS", format!("{folder}/socket")),
        (
            "DBUS_SYSTEM_BUS_ADDRESS",
            format!("unix:path={folder}/bus,guid=1"),
        ),
    ] {
        assert_eq!(change(name, value.clone()), None, "{name}={value}");
    }
    for (name, value) in [
        ("PYTHONPATH", bad.display().to_string()),
        ("PYTHONPATH", format!("/nonexistent/..{folder}")),
        ("BASH_ENV", good.display().to_string()),
        ("BASH_ENV", "/$(id)".to_owned()),
        ("ENV", "relative".to_owned()),
        ("GIT_CONFIG_COUNT", "1".to_owned()),
        ("PYTHONWARNINGS", "all:0:antigravity.x:0:0".to_owned()),
        ("BROWSER", "/bin/true".to_owned()),
        ("CURL_HOME", folder.to_string()),
        ("SSLKEYLOGFILE", "/root/x".to_owned()),
        ("KUBECONFIG", bad.display().to_string()),
        ("LD_PRELOAD", format!("{open}/x.so {open}/y.so")),
        ("LD_LIBRARY_PATH", format!("{open}/later")),
        ("TMPDIR", format!("{open}/later")),
        ("PYTHONPATH", "/tmp".to_owned()),
        ("PS4", "$(id)".to_owned()),
        ("DF_BLOCK_SIZE", "1T".to_owned()),
        ("https_proxy", "http://127.0.0.1:3128".to_owned()),
        ("ALL_PROXY", "socks5://127.0.0.1:3128".to_owned()),
        ("SYSTEMD_OFFLINE", "1".to_owned()),
        ("SYSTEMCTL_FORCE_BUS", "1".to_owned()),
        ("BASH_FUNC_ls%%", "() { id; }".to_owned()),
        ("NODE_OPTIONS", "--require x".to_owned()),
        ("ACME", format!("{open}")),
        ("ACME", format!("a,file://{open}/later")),
        ("ACME", format!("file://localhost{open}/later")),
        ("ACME", format!("--plugin=\"{open}/x\"")),
        ("ACME", format!("-I{open}")),
        ("ACME", format!("/usr/../{open}")),
        ("ACME", format!("{folder}:").repeat(257)),
        ("TMP", format!("{open}")),
        ("NCCL_NET_PLUGIN", format!("{open}/libnccl-net.so")),
        ("NCCL_NET_PLUGIN", "./libnccl-net.so".to_owned()),
        ("CUDA_INJECTION64_PATH", "relative.so".to_owned()),
        ("DOCKER_HOST", "tcp://127.0.0.1:2375".to_owned()),
        ("DOCKER_HOST", format!("unix://{open}/socket")),
        ("DBUS_SYSTEM_BUS_ADDRESS", "unix:abstract=x".to_owned()),
        (
            "DBUS_SYSTEM_BUS_ADDRESS",
            format!("unix:path={folder}/bus;tcp:host=h"),
        ),
    ] {
        assert_eq!(change(name, value.clone()), Some(None), "{name}={value}");
    }
    let home = change("HOME", format!("/nonexistent/..{folder}"));
    assert_eq!(home, Some(Some("/".to_owned())));
    let mixed = change("LD_LIBRARY_PATH", format!("{open}:{folder}:"));
    assert_eq!(mixed, Some(Some(folder.to_string())));
    assert_eq!(change("HOME", open.to_string()), Some(Some("/".to_owned())));
}

/// A guest's grant and a script of root are judged by one table: see `runtime/src/capability/environment.rs`.
#[test]
fn each_variable_of_the_table_is_judged() {
    let place = TestFolder::new();
    place.file("bad/file");
    mode(&place.path("bad"), 0o777);
    let value = place.path("bad/file");
    let opener = Opener::of_daemon();
    let change = |name: &str| environment::change(name.as_ref(), value.as_os_str(), opener);
    for names in [
        variables::CODE,
        variables::PATHS,
        variables::LIBRARIES,
        variables::ADDRESSES,
    ] {
        for &name in names {
            assert!(variables::decides_what_runs(name), "{name}");
            let wanted = match name {
                "HOME" => Some(Some(std::ffi::OsString::from("/"))),
                _ => Some(None),
            };
            assert_eq!(change(name), wanted, "{name}");
        }
    }
    for beginning in variables::CODE_BEGINNINGS {
        let name = format!("{beginning}X");
        assert!(variables::decides_what_runs(&name), "{name}");
        assert_eq!(change(&name), Some(None), "{name}");
    }
}

#[test]
fn variables_that_are_left_out_are_named_in_one_line() {
    let names: Vec<String> = (0..42).map(|number| format!("N{number}")).collect();
    let line = environment::left_out(&names);
    assert!(
        line.contains("N0, N1, ") && line.ends_with("N39 and 2 more"),
        "{line}"
    );
    assert!(!line.contains('\n'));
}
