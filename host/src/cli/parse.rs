//! From the words of a command line to an [`Invocation`], or to what is printed instead.

use std::{ffi::OsString, path::PathBuf, time::Duration};

use clap::{CommandFactory as _, FromArgMatches as _, error::ContextKind};

use gpud_exports::{config::Address, inventory, secret::Secret};

use super::{
    args::{Cli, Command, CommonArgs, CustomPluginsArgs, RunCommand, ScanArgs},
    argv::{Misuse, Request, respell},
    check_args::RunCheckArgs,
    checks::{CheckOptions, check_options},
    components::ComponentSelection,
    data_dir::data_dir,
    exit::{Exit, Stderr},
    explain::Subject,
    exports, healthcheck,
    history::HistoryOptions,
    history_args::HistoryArgs,
    hosted_args::NotifyEvent,
    local_socket::LocalSocketChoice,
    metadata::MetadataOptions,
    of_service::{NO_CONTROL_PLANE, NO_SIGNING, machine_info, metadata, up},
    options::{
        Action, CustomPluginsOptions, EVENTS_RETENTION, Invocation, METRICS_RETENTION, RunOptions,
        ScanOptions, TlsFiles, at_least_a_nanosecond, retention,
    },
    pack, plugin,
    run_args::MetricsNames,
    run_as::RunAs,
    shells,
    status::StatusOptions,
    update, version,
    watch::WatchOptions,
};
use crate::{
    logging::{LogLevel, LogOptions},
    node::clock::Clock,
    server::{parse_hosts, parse_origins},
    text::printable_lines,
    wire::parse_since,
};

/// Reads a command line, the program's name first.
///
/// # Errors
/// Everything that ends here: help and version (status 0), an unknown command (3), anything wrong with a flag (1).
pub fn parse(argv: impl IntoIterator<Item = OsString>) -> Result<Invocation, Exit> {
    let mut root = Cli::command();
    root.build();
    let words: Vec<String> = argv
        .into_iter()
        .skip(1)
        .map(OsString::into_string)
        .collect::<Result<_, _>>()
        .map_err(|word| Exit::failure(format!("argument {word:?} is not valid UTF-8")))?;
    let (argv, ignored) = match respell(&root, words).map_err(|misuse| refuse(&mut root, misuse))? {
        Request::Command { argv, ignored } => (argv, ignored),
        Request::Help(topic) => return Err(Exit::success(help(&mut root, &topic))),
        Request::Version => return Err(Exit::success(format!("{}\n", version::line()))),
    };
    let command: Vec<String> = argv
        .iter()
        .skip(1)
        .take_while(|word| !word.starts_with('-'))
        .cloned()
        .collect();
    let cli = root
        .try_get_matches_from_mut(argv)
        .and_then(|matches| Cli::from_arg_matches(&matches))
        .map_err(|error| {
            let message = describe(&error);
            refuse(&mut root, Misuse::Flag { command, message })
        })?;
    let mut notes: Vec<_> = ignored
        .iter()
        .map(|word| {
            format!("argument {word:?} ignored (a switch takes a value only as --name=value)")
        })
        .collect();
    let (common, action, file) = action(cli.command, &mut notes)?;
    let CommonArgs { log_level, color } = common;
    let level = LogLevel::parse(&log_level).map_err(|error| match &action {
        Action::MachineInfo { json: true, .. }
        | Action::Metadata(MetadataOptions { json: true, .. }) => {
            Exit::json_failure("invalid_log_level", error)
        }
        Action::Healthcheck(_) => Exit {
            code: healthcheck::MISUSE,
            ..Exit::failure(error)
        },
        _ => Exit::failure(error),
    })?;
    let default = match action {
        Action::Run(_) => LogLevel::Info,
        _ => LogLevel::Warn,
    };
    Ok(Invocation {
        log: LogOptions {
            level: level.unwrap_or(default),
            json: matches!(action, Action::Run(_)),
            file,
        },
        action,
        color,
        notes,
    })
}

/// The command's common flags, itself, and its log file.
fn action(
    command: Command,
    notes: &mut Vec<String>,
) -> Result<(CommonArgs, Action, Option<PathBuf>), Exit> {
    let (common, action) = match command {
        Command::Up(args) => up(args, notes).map_err(Exit::failure)?,
        Command::Down(args) => {
            let data_dir = data_dir(args.data_dir).map_err(Exit::failure)?;
            let reset_state = args.reset_state;
            (
                args.common,
                Action::Down {
                    data_dir,
                    reset_state,
                },
            )
        }
        Command::Status(args) => {
            let options = StatusOptions {
                data_dir: data_dir(args.data_dir).map_err(Exit::failure)?,
                server: args.server,
                watch: args.watch,
                json: args.json,
                classic: args.classic,
            };
            (args.common, Action::Status(options))
        }
        Command::Healthcheck(args) => {
            let (common, options) = args.options(notes).map_err(|message| Exit {
                code: healthcheck::MISUSE,
                ..Exit::failure(message)
            })?;
            (common, Action::Healthcheck(Box::new(options)))
        }
        Command::Watch(args) => {
            let options = WatchOptions {
                data_dir: data_dir(args.data_dir).map_err(Exit::failure)?,
                server: args.server,
                token_file: args.token_file,
            };
            (args.common, Action::Watch(options))
        }
        Command::History(args) => history(args).map_err(Exit::failure)?,
        Command::Metadata(args) => metadata(args)?,
        Command::Completion(args) => {
            let shell = shells::shell(&args.shells).map_err(Exit::failure)?;
            (args.common, Action::Completion(shell))
        }
        Command::Man(args) => {
            let (topic, dir) = (args.topic, args.dir);
            (args.common, Action::Man { topic, dir })
        }
        Command::Notify(args) => {
            let (NotifyEvent::Startup(args) | NotifyEvent::Shutdown(args)) = args.event;
            (args.common, Action::Nothing(NO_CONTROL_PLANE))
        }
        Command::Update(args) => update::action(*args).map_err(Exit::failure)?,
        Command::Release(args) => (args.tool.common(), Action::NotHere(NO_SIGNING)),
        Command::Run(command) => {
            let file = command.run.log_file.clone();
            let file = file.filter(|file| !file.as_os_str().is_empty());
            let (common, options) = run(*command, notes).map_err(Exit::failure)?;
            return Ok((common, Action::Run(Box::new(options)), file));
        }
        Command::Scan(args) => {
            let (common, options) = scan(*args, notes).map_err(Exit::failure)?;
            (common, Action::Scan(Box::new(options)))
        }
        Command::CustomPlugins(args) => {
            let (common, options) = custom_plugins(args, notes);
            (common, Action::CustomPlugins(options))
        }
        Command::Plugin(args) => {
            let (common, action) = plugin::action(args).map_err(Exit::failure)?;
            (common, Action::Plugin(Box::new(action)))
        }
        Command::Pack(args) => {
            let (common, action) = pack::action(args).map_err(Exit::failure)?;
            (common, Action::Pack(action))
        }
        Command::Exports(args) => {
            let (common, action) = exports::action(args).map_err(Exit::failure)?;
            (common, Action::Exports(action))
        }
        Command::Explain(args) => {
            let subject = match args.file {
                Some(file) => Subject::File(file),
                None => Subject::Words(args.words),
            };
            let checks = CheckOptions {
                site_file: args.site.component_configs_file,
                xid_catalog: args.xid_catalog,
                log_product: args.product,
                ..CheckOptions::default()
            };
            let action = Action::Explain {
                subject,
                checks: Box::new(checks),
                json: args.json,
            };
            (args.common, action)
        }
        Command::ListPlugins(args) => (
            args.common,
            Action::ListPlugins {
                server: args.server,
                token_file: args.token_file,
                json: args.json,
            },
        ),
        Command::RunPluginGroup(args) => {
            let [tag] = <[String; 1]>::try_from(args.tags)
                .map_err(|_| Exit::failure("exactly one argument (tag_name) is required"))?;
            let action = Action::RunPluginGroup {
                server: args.server,
                token_file: args.token_file,
                tag,
                json: args.json,
            };
            (args.common, action)
        }
        Command::MachineInfo(args) => machine_info(args)?,
        Command::InjectFault(args) => (
            args.common,
            Action::InjectFault {
                priority: args.kernel_log_level,
                message: args.kernel_message,
                json: args.json,
            },
        ),
        Command::SetHealthy(args) => {
            let items = args.components.iter().flat_map(|list| list.split(','));
            let names = items.map(str::trim).filter(|name| !name.is_empty());
            (
                args.common,
                Action::SetHealthy {
                    server: args.server,
                    token_file: args.token_file,
                    components: names.map(str::to_owned).collect(),
                    json: args.json,
                },
            )
        }
        Command::Compact(args) => {
            let data_dir = data_dir(args.data_dir).map_err(Exit::failure)?;
            let json = args.json;
            (args.common, Action::Compact { data_dir, json })
        }
        Command::RootHelper(args) => {
            let names = args.plugins.split(',').filter(|name| !name.is_empty());
            (
                args.common,
                Action::RootHelper {
                    kernel_log: args.kernel_log,
                    plugin_specs_file: args.plugin_specs_file,
                    plugins: names.map(str::to_owned).collect(),
                },
            )
        }
        Command::CompileComponent(args) => (
            args.common,
            Action::CompileComponent {
                input: args.input,
                output: args.output,
            },
        ),
        Command::CompileBuiltins(args) => (
            args.common,
            Action::CompileBuiltins {
                output: args.output,
                target: args.target,
            },
        ),
    };
    Ok((common, action, None))
}

fn run(command: RunCommand, notes: &mut Vec<String>) -> Result<(CommonArgs, RunOptions), String> {
    let RunCommand {
        common,
        run,
        run_checks,
        checks,
    } = command;
    notes.extend(run.control_plane.note()?);
    let events_retention = retention(
        "events-retention-period",
        checks.events_retention_period,
        EVENTS_RETENTION,
    )?;
    let metrics_retention = retention(
        "metrics-retention-period",
        run.metrics_retention_period,
        METRICS_RETENTION,
    )?;
    // GPUd listens everywhere when the address is empty; a user who wants that can pass `:15132`.
    let listen_address = match run.listen_address.trim() {
        "" => super::options::DEFAULT_LISTEN.to_owned(),
        address => address.to_owned(),
    };
    let given = |file: Option<PathBuf>| file.filter(|file| !file.as_os_str().is_empty());
    let options = RunOptions {
        data_dir: data_dir(run.data_dir)?,
        run_as: RunAs::of_flags(&run.user, &run.root_plugins)?,
        db_in_memory: run.db_in_memory,
        listen_address,
        tls: given(run.tls_cert)
            .zip(given(run.tls_key))
            .map(|(certificate, key)| TlsFiles { certificate, key }),
        dcgm_names: run.metrics_names == MetricsNames::Dcgm,
        token_file: given(run.token_file),
        require_token: run.require_token,
        local_socket: LocalSocketChoice::of_flag(run.local_socket),
        allowed_hosts: parse_hosts(&run.allowed_hosts)?,
        allowed_origins: parse_origins(&run.allowed_origins)?,
        pprof: run.pprof,
        plugin_specs_file: given(Some(run.plugin_specs_file)),
        exports_file: given(Some(run.exports_file)),
        webhook_url: webhook_url(&run.webhook_url)?,
        otlp_endpoint: otlp_endpoint(&run.otlp_endpoint)?,
        inventory: inventory_of_environment(run.inventory_from_env, |name| {
            std::env::var(name).ok()
        })?,
        components: ComponentSelection::parse(&run.components),
        metrics_retention,
        events_retention,
        checks: check_options(checks, run_checks, notes)?,
    };
    Ok((common, options))
}

/// The address of `--webhook-url`, or the variable that holds it.
fn webhook_url(flag: &str) -> Result<Option<Address>, String> {
    let variable = "GPUD_WEBHOOK_URL";
    match flag.trim() {
        "" => {
            let is_set = std::env::var_os(variable).is_some_and(|url| !url.is_empty());
            let secret = Secret::Variable(variable.to_owned());
            Ok(is_set.then_some(Address::Secret(secret)))
        }
        // Not repeated: such an address is often a secret.
        flag => Address::parse(flag).map(Some).ok_or_else(|| {
            "--webhook-url is no address such as https://host/path, and neither env:NAME nor file:/path".to_owned()
        }),
    }
}

/// The address of `--otlp-endpoint`, or of the variable that says the same.
fn otlp_endpoint(flag: &str) -> Result<Option<Address>, String> {
    let variable = "GPUD_OTLP_ENDPOINT";
    let (said, by) = match flag.trim() {
        "" => (std::env::var(variable).unwrap_or_default(), variable),
        flag => (flag.to_owned(), "--otlp-endpoint"),
    };
    if said.trim().is_empty() {
        return Ok(None);
    }
    Address::parse(said.trim()).map(Some).ok_or_else(|| {
        format!("{by} is no address such as http://host:4317, and neither env:NAME nor file:/path")
    })
}

/// The export of `--inventory-from-env`, which gpuid's variables describe.
fn inventory_of_environment(
    is_wanted: bool,
    variable: impl Fn(&str) -> Option<String>,
) -> Result<Option<Box<(inventory::Settings, Duration)>>, String> {
    if !is_wanted {
        return Ok(None);
    }
    inventory::environment::settings(variable)
        .map(|described| Some(Box::new(described)))
        .map_err(|error| format!("--inventory-from-env: {error}"))
}

fn scan(args: ScanArgs, notes: &mut Vec<String>) -> Result<(CommonArgs, ScanOptions), String> {
    let events_retention = args.checks.events_retention_period;
    let options = ScanOptions {
        fail_on: args.fail_on,
        json: args.json,
        verbose: args.verbose,
        classic: args.classic,
        kmsg_file: args.kmsg_file,
        components: ComponentSelection::parse(&args.components),
        events_retention: at_least_a_nanosecond(events_retention).unwrap_or(EVENTS_RETENTION),
        checks: CheckOptions {
            log_product: args.product,
            ..check_options(args.checks, RunCheckArgs::default(), notes)?
        },
    };
    Ok((args.common, options))
}

fn history(args: HistoryArgs) -> Result<(CommonArgs, Action), String> {
    let items = args.component.iter().flat_map(|list| list.split(','));
    let names = items.map(str::trim).filter(|name| !name.is_empty());
    let options = HistoryOptions {
        server: args.server,
        token_file: args.token_file,
        since: parse_since(&args.since, Clock::Live.now_ms())
            .map_err(|error| format!("invalid value for --since: {error}"))?,
        components: names.map(str::to_owned).collect(),
        gpu: args.gpu.filter(|gpu| !gpu.trim().is_empty()),
        limit: args.limit,
        json: args.json,
    };
    Ok((args.common, Action::History(options)))
}

fn custom_plugins(
    args: CustomPluginsArgs,
    notes: &mut Vec<String>,
) -> (CommonArgs, CustomPluginsOptions) {
    for (flag, value) in [
        ("infiniband-class-root-dir", args.infiniband_class_root_dir),
        (
            "infiniband-exclude-devices",
            args.infiniband_exclude_devices,
        ),
    ] {
        if value.is_some() {
            notes.push(format!("--{flag} has no effect on plugins"));
        }
    }
    let mut files = args.files.into_iter();
    let file = files.next();
    notes.extend(files.map(|word| format!("argument {word:?} ignored: one file is checked")));
    let options = CustomPluginsOptions {
        file,
        run: args.run,
        fail_fast: args.fail_fast,
        strict: args.strict,
        json: args.json,
    };
    (args.common, options)
}

/// The help of all commands or of the one with this path.
fn help(root: &mut clap::Command, path: &[String]) -> String {
    // Paths come from `respell`, so that every name is there.
    let command = path
        .iter()
        .try_fold(&*root, |command, name| command.find_subcommand(name));
    match command.cloned() {
        Some(mut command) => command.render_help().to_string(),
        None => root.render_help().to_string(),
    }
}

fn refuse(root: &mut clap::Command, misuse: Misuse) -> Exit {
    match misuse {
        Misuse::UnknownCommand(_) => Exit {
            code: 3,
            stdout: String::new(),
            stderr: Stderr::Line(misuse.to_string()),
        },
        Misuse::Flag { command, message } => {
            let usage = match command.is_empty() {
                false => "Incorrect Usage:",
                true => "Incorrect Usage.",
            };
            let help = help(root, &command);
            let is_healthcheck = command.first().is_some_and(|name| name == "healthcheck");
            let failure = Exit::failure(&message);
            Exit {
                // To those who ask for health, 1 would be an answer.
                code: match is_healthcheck {
                    true => healthcheck::MISUSE,
                    false => failure.code,
                },
                stdout: format!("{usage} {}\n\n{help}", printable_lines(&message)),
                ..failure
            }
        }
    }
}

/// A refusal of clap in one line: `invalid value "x" for flag -gpu-count: why`.
fn describe(error: &clap::Error) -> String {
    let context = |kind| error.get(kind).map(ToString::to_string);
    let arg = context(ContextKind::InvalidArg).unwrap_or_default();
    let flag = arg
        .split([' ', '='])
        .next()
        .unwrap_or_default()
        .trim_start_matches('-');
    let Some(value) = context(ContextKind::InvalidValue) else {
        let text = error.render().to_string();
        let first = text.split("\n\n").next().unwrap_or_default();
        let words: Vec<_> = first
            .trim_start_matches("error: ")
            .split_whitespace()
            .collect();
        return words.join(" ");
    };
    let why = match (
        std::error::Error::source(error),
        context(ContextKind::ValidValue),
    ) {
        (Some(source), _) => source.to_string(),
        (None, Some(valid)) => format!("it is one of {valid}"),
        (None, None) => "parse error".to_owned(),
    };
    format!("invalid value {value:?} for flag -{flag}: {why}")
}

#[cfg(test)]
#[path = "parse_tests.rs"]
mod tests;
