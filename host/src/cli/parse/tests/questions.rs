//! Commands that ask a daemon or look at the machine once.

use std::{path::PathBuf, time::Duration};

use super::*;
use crate::{
    cli::{
        compact::CompactOptions,
        compile_builtins::CompileBuiltinsOptions,
        compile_component::CompileComponentOptions,
        custom_plugins::CustomPluginsOptions,
        healthcheck::{Form, HealthcheckOptions},
        history::HistoryOptions,
        inject_fault::InjectFaultOptions,
        list_plugins::ListPluginsOptions,
        machine_info::MachineInfoOptions,
        options::FailOn,
        root_helper::RootHelperOptions,
        run_plugin_group::RunPluginGroupOptions,
        set_healthy::SetHealthyOptions,
        watch::WatchOptions,
    },
    model::RepairAction,
};

#[test]
fn scans() {
    let options =
        scan("--fail-on=degraded|-json|--components|cpu,disk|--os-blocked-process-name-regexes=");
    assert_eq!(
        (options.fail_on, options.json),
        (Some(FailOn::Degraded), true)
    );
    assert!(options.components.includes("cpu") && !options.components.includes("os"));
    assert_eq!(
        options.checks.blocked_processes.name_regexes,
        Some(Vec::new())
    );
    assert_eq!(scan("").fail_on, None);
    assert_eq!(read("s").unwrap().log.level, LogLevel::Warn);
    assert_eq!(read("check|-l|DEBUG").unwrap().log.level, LogLevel::Debug);
}

#[test]
fn small_commands() {
    for (line, expected) in [
        (
            "machine-info|--data-dir=/d|--output-format= JSON ",
            task(MachineInfoOptions {
                data_dir: "/d".into(),
                json: true,
            }),
        ),
        (
            "machine-info|--data-dir=/d|--json",
            task(MachineInfoOptions {
                data_dir: "/d".into(),
                json: true,
            }),
        ),
        (
            "inject-fault|--kernel-message=x|--json",
            task(InjectFaultOptions {
                priority: "KERN_INFO".into(),
                message: "x".into(),
                json: true,
            }),
        ),
        (
            "set-health|cpu, disk|--server=https://h|os,",
            task(SetHealthyOptions {
                server: "https://h".into(),
                token_file: None,
                components: vec!["cpu".into(), "disk".into(), "os".into()],
                json: false,
            }),
        ),
        (
            "lp|--json|--token-file=/t",
            task(ListPluginsOptions {
                server: String::new(),
                token_file: Some("/t".into()),
                json: true,
            }),
        ),
        (
            "run-plugin-group|a tag|--server=https://h|--json",
            task(RunPluginGroupOptions {
                server: "https://h".into(),
                token_file: None,
                tag: "a tag".into(),
                json: true,
            }),
        ),
        (
            "compact|--data-dir=/d",
            task(CompactOptions {
                data_dir: "/d".into(),
                json: false,
            }),
        ),
        (
            "compile-builtins|--output=out|--into=/p|--target=aarch64-unknown-linux-gnu",
            task(CompileBuiltinsOptions {
                output: "out".into(),
                into: Some("/p".into()),
                target: Some("aarch64-unknown-linux-gnu".into()),
            }),
        ),
        (
            "root-helper|--kernel-log=/k|--plugins=a,b|--plugin-specs-file=/s",
            task(RootHelperOptions {
                kernel_log: "/k".into(),
                plugin_specs_file: Some("/s".into()),
                plugins: vec!["a".into(), "b".into()],
            }),
        ),
        (
            "compile-component|in|out",
            task(CompileComponentOptions {
                input: "in".into(),
                output: "out".into(),
            }),
        ),
    ] {
        let invocation = read(line).unwrap();
        assert_asks_for(&invocation, expected.as_ref(), line);
        assert!(!invocation.log.json);
    }
}

#[test]
fn custom_plugins_with_go_flags() {
    let options = values::<CustomPluginsOptions>;
    let bare = CustomPluginsOptions {
        file: None,
        run: false,
        fail_fast: true,
        strict: false,
        json: false,
    };
    let of = |file: &str| Some(PathBuf::from(file));
    for (line, expected) in [
        ("custom-plugins", bare.clone()),
        (
            "cs|f.yaml",
            CustomPluginsOptions {
                file: of("f.yaml"),
                ..bare.clone()
            },
        ),
        // In GPUd the last flag here would be an argument.
        (
            "cs|-r|f.yaml|-f=false",
            CustomPluginsOptions {
                file: of("f.yaml"),
                run: true,
                fail_fast: false,
                ..bare.clone()
            },
        ),
        (
            "plugins|f.yaml|--run|--fail-fast|--json",
            CustomPluginsOptions {
                file: of("f.yaml"),
                run: true,
                json: true,
                ..bare
            },
        ),
    ] {
        assert_eq!(options(line), expected, "{line}");
    }
    let invocation = read("plugin|f|g|--infiniband-class-root-dir=/x").unwrap();
    assert_eq!(
        invocation.notes,
        [
            "--infiniband-class-root-dir has no effect on plugins",
            "argument \"g\" ignored: one file is checked",
        ]
    );
}

#[test]
fn forms_of_healthcheck() {
    let of = |line: &str| values::<HealthcheckOptions>(&format!("healthcheck|{line}"));
    let plain = of("");
    assert_eq!(plain.form, Form::Plain);
    assert_eq!(plain.timeout, Duration::from_secs(2));
    let npd = |fail_on, max_output| Form::Npd {
        fail_on,
        max_output,
    };
    assert_eq!(of("--npd").form, npd(FailOn::Unhealthy, 80));
    assert_eq!(
        of("--npd|--fail-on=degraded|--max-output=200").form,
        npd(FailOn::Degraded, 200)
    );
    let slurm = of(
        "--slurm|--drain-on=degraded|--dry-run|--drain-if-unreachable|--node=n1|--scontrol=/s|--actions=reboot_system,X|--components=-disk|--timeout=500ms",
    );
    let Form::Slurm(options) = slurm.form else {
        panic!("{slurm:?}");
    };
    assert_eq!(options.drain_on, FailOn::Degraded);
    assert!(options.dry_run && options.drain_if_unreachable);
    assert_eq!(options.node.as_deref(), Some("n1"));
    assert_eq!(options.scontrol, Some("/s".into()));
    assert_eq!(
        slurm.actions,
        [RepairAction::RebootSystem, RepairAction::Other("X".into())]
    );
    assert_eq!(slurm.timeout, Duration::from_millis(500));
    assert!(!slurm.components.includes("disk") && slurm.components.includes("cpu"));
    let notes = read("healthcheck|--actions=X").unwrap().notes;
    assert!(
        notes.iter().any(|note| note.contains("X is none of")),
        "{notes:?}"
    );
}

/// 1 would be an answer: a problem to node-problem-detector, a warning to Nagios.
#[test]
fn misuse_of_healthcheck_is_no_answer() {
    for line in [
        "--nosuch",
        "--npd|--slurm",
        "--dry-run",
        "--drain-on=unhealthy",
        "--fail-on=degraded",
        "--slurm|--drain-on=broken",
        "--npd|--max-output=3",
        "--timeout=0s",
        "--log-level=loud",
    ] {
        let exit = read(&format!("healthcheck|{line}")).unwrap_err();
        assert_eq!(exit.code, 3, "{line}");
    }
    assert_eq!(read("scan|--nosuch").unwrap_err().code, 1);
}

#[test]
fn what_watch_and_history_are_asked() {
    let history = |line: &str| values::<HistoryOptions>(&format!("history|{line}"));
    let options = history(
        "--since=2026-11-26T14:00:00Z|--component=cpu, disk,|--component=os|--gpu=3|-n|7|--json",
    );
    assert_eq!(
        options,
        HistoryOptions {
            server: String::new(),
            token_file: None,
            since: 1_795_701_600_000,
            components: vec!["cpu".into(), "disk".into(), "os".into()],
            gpu: Some("3".into()),
            limit: 7,
            json: true,
        }
    );
    assert_eq!(history("--gpu=").gpu, None);
    let message = failure("history|--since=yesterday");
    assert!(
        message.starts_with("invalid value for --since: \"yesterday\""),
        "{message}"
    );
    let watch = values::<WatchOptions>("watch|--data-dir=/d|--server=https://n:1");
    assert_eq!(watch.server, "https://n:1");
    assert!(scan("--verbose").verbose && scan("--classic").classic);
}
