use super::*;
use proptest::prelude::*;

const TOOLKIT: &str = r#"
version = 2
imports = ["/etc/containerd/conf.d/*.toml"]

[plugins]
  [plugins."io.containerd.grpc.v1.cri"]
    enable_cdi = true # by the toolkit
    [plugins."io.containerd.grpc.v1.cri".containerd]
      default_runtime_name = "nvidia"
      [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.nvidia]
        runtime_type = "io.containerd.runc.v2"
        [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.nvidia.options]
          BinaryName = "/usr/local/nvidia/toolkit/nvidia-container-runtime"
"#;

#[test]
fn configurations() {
    let single = TOOLKIT.replace('"', "'");
    let third = TOOLKIT.replace("io.containerd.grpc.v1.cri", "io.containerd.cri.v1.runtime");
    let neither = TOOLKIT
        .replace("default_runtime_name = \"nvidia\"", "")
        .replace("enable_cdi = true", "");
    let commented = TOOLKIT.replace('[', "# [");
    let off = neither.replace("version = 2", "enable_cdi=false");
    for (text, cdi, expected) in [
        (TOOLKIT, false, true),
        (&single, false, true),
        (&third, false, true),
        (&TOOLKIT.replace("enable_cdi = true", ""), false, true),
        (&TOOLKIT.replace("default_runtime_name", "#"), false, true),
        (
            &TOOLKIT.replace(
                "default_runtime_name = \"nvidia\"",
                "default_runtime_name = \"runc\"",
            ),
            false,
            true,
        ),
        (&neither, false, false),
        (&neither, true, true),
        (&off, true, false),
        (&commented, true, false),
        ("version = 2", true, false),
        ("", true, false),
    ] {
        assert_eq!(is_for_nvidia(&[text.to_owned()], cdi), expected, "{text}");
    }
    let (head, tail) = TOOLKIT.split_at(200);
    assert!(is_for_nvidia(&[head.to_owned(), tail.to_owned()], false));
    assert!(!is_for_nvidia(&[], true));
}

#[test]
fn further_files() {
    for (text, expected) in [
        (TOOLKIT, vec!["/etc/containerd/conf.d/*.toml"]),
        ("imports = []", vec![]),
        ("#imports = ['a']", vec![]),
        ("imports = 'a'", vec![]),
        (
            "imports = [\n  'conf.d/*.toml', # ours\n  \"/opt/x.toml\",\n]\nversion = 3",
            vec!["/etc/containerd/conf.d/*.toml", "/opt/x.toml"],
        ),
        ("imports = ['../../x', '/etc/../x']", vec![]),
        ("imports = ['a'", vec!["/etc/containerd/a"]),
        ("imports=['a']\nimports=['b']", vec!["/etc/containerd/a"]),
        ("", vec![]),
    ] {
        assert_eq!(imports(text), expected, "{text}");
    }
    let many = format!("imports = [{}]", "'a',".repeat(1000));
    assert_eq!(imports(&many).len(), MAX_IMPORTS);
}

proptest! {
    #[test]
    fn any_text_is_survived(text in "(imports|enable_cdi|[\\[\\]\"'=#, \n/a.é]){0,60}") {
        prop_assert!(imports(&text).len() <= MAX_IMPORTS);
        is_for_nvidia(&[text], true);
    }
}
