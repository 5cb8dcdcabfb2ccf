//! The gpud binary: reads the command line, installs logging, dispatches.

use std::{env, path::Path, process::ExitCode};

use gpud::{
    cli::{
        self, Action, Exit, Invocation, Stderr, compact, compile_builtins, custom_plugins, explain,
        exports, healthcheck, history, inject_fault, list_plugins, machine_info, metadata, pack,
        plugin, root_helper, run, run_as, run_plugin_group, scan, service, set_healthy, shells,
        status, terminal::Terminal, update, watch,
    },
    executor, logging,
    node::{Node, clock::Clock, local_socket::BoundSocket},
    runtime::compiler,
    service::{Service, notify},
};

fn main() -> ExitCode {
    share_heaps();
    let (mut systemd, problem) = notify::take_from_environment();
    let mut invocation = match cli::parse(env::args_os()) {
        Ok(invocation) => invocation,
        Err(exit) => return exit.report(Terminal::PLAIN),
    };
    // Before any thread is started.
    let socket = match run_as::prepare(&mut invocation) {
        Ok(socket) => socket,
        Err(exit) => return exit.report(Terminal::PLAIN),
    };
    let Invocation {
        action,
        log,
        color,
        notes,
    } = invocation;
    let (stdout, stderr) = (Terminal::stdout(color), Terminal::stderr(color));
    let guard = match logging::init(&log) {
        Ok(guard) => guard,
        Err(error) => return Exit::failure(error).report(stderr),
    };
    for note in notes.into_iter().chain(problem) {
        tracing::warn!("{note}");
    }
    systemd.log = guard.reopener();
    let exit = match executor::start() {
        Ok(runtime) => {
            let exit = runtime.block_on(carry_out(action, systemd, socket, stdout, stderr));
            runtime.shutdown_background();
            exit
        }
        Err(error) => Exit::failure(format!("no threads to run on: {error}")),
    };
    drop(guard);
    exit.report(stderr)
}

async fn carry_out(
    action: Action,
    systemd: Service,
    socket: Option<BoundSocket>,
    stdout: Terminal,
    stderr: Terminal,
) -> Exit {
    let nothing_to_say = |()| Exit::success("");
    let done = match action {
        Action::Up(options) => service::up(options, stdout).await,
        Action::Down {
            data_dir,
            reset_state,
        } => service::down(&data_dir, reset_state, stdout).await,
        Action::Run(options) => run::run(*options, systemd, socket)
            .await
            .map(nothing_to_say),
        Action::Status(options) => status::status(&options, stdout).await,
        Action::Healthcheck(options) => Ok(healthcheck::healthcheck(&options).await),
        Action::Watch(options) => watch::watch(&options, stdout.has_color()).await,
        Action::History(options) => history::history(&options, stdout).await,
        Action::Metadata(options) => {
            metadata::metadata(options, Clock::Live.now_ms(), stdout).await
        }
        Action::Completion(shell) => shells::print(&shells::completion(shell)),
        Action::Man { topic, dir } => match dir {
            Some(folder) => shells::pages(&folder).map(|_| Exit::success("")),
            None => shells::page(&topic).and_then(|page| shells::print(&page)),
        },
        Action::Nothing(why) => Ok(Exit {
            stderr: Stderr::Line(why.to_owned()),
            ..Exit::success("")
        }),
        Action::Update(options) => update::update(*options, stdout).await,
        Action::NotHere(why) => Err(Exit::failure(why)),
        Action::Scan(options) => scan::scan(&options, stdout, stderr).await,
        Action::CustomPlugins(options) => {
            custom_plugins::custom_plugins(&options, stdout, stderr).await
        }
        Action::Pack(action) => pack::pack(&action, stdout).await,
        Action::Exports(action) => exports::exports(&action, stdout).await,
        Action::Plugin(action) => plugin::plugin(&action, stdout).await,
        Action::Explain {
            subject,
            checks,
            json,
        } => explain::explain(&subject, &checks, json, stdout).await,
        Action::ListPlugins {
            server,
            token_file,
            json,
        } => list_plugins::list_plugins(&server, token_file.as_deref(), json)
            .await
            .map(Exit::success),
        Action::RunPluginGroup {
            server,
            token_file,
            tag,
            json,
        } => run_plugin_group::run_plugin_group(&server, token_file.as_deref(), &tag, json).await,
        Action::MachineInfo { data_dir, json } => inventory(&data_dir, json, stdout.width())
            .await
            .map(Exit::success),
        Action::InjectFault {
            priority,
            message,
            json,
        } => inject_fault::inject_fault(&priority, &message, json),
        Action::SetHealthy {
            server,
            token_file,
            components,
            json,
        } => set_healthy::set_healthy(&server, token_file.as_deref(), &components, json).await,
        Action::Compact { data_dir, json } => compact::compact(&data_dir, json, stdout)
            .await
            .map(Exit::success),
        Action::RootHelper {
            kernel_log,
            plugin_specs_file,
            plugins,
        } => root_helper::root_helper(kernel_log, plugin_specs_file.as_deref(), &plugins).await,
        Action::CompileComponent { input, output } => compiler::child_main(&input, &output)
            .map(nothing_to_say)
            .map_err(Exit::failure),
        Action::CompileBuiltins { output, target } => {
            compile_builtins::compile_builtins(&output, target.as_deref())
        }
    };
    done.unwrap_or_else(|exit| exit)
}

async fn inventory(data_dir: &Path, json: bool, width: usize) -> Result<String, Exit> {
    let node = Node::live()
        .await
        .map_err(|error| Exit::failure(error).in_json(json, "failed_to_get_machine_info"))?;
    let info = gpud::machine_info::collect(&node).await;
    let cloud = gpud::machine_info::cloud(&node.files).await;
    let id = metadata::machine_id(data_dir).await;
    if json {
        machine_info::json(&info, &cloud, id.as_deref())
    } else {
        Ok(machine_info::plain(&info, &cloud, id.as_deref(), width))
    }
}

/// glibc gives every thread a heap of its own, up to eight times the number of cores; most of gpud's threads wait, and
/// the heaps would cost it several MiB.
#[cfg(target_env = "gnu")]
#[expect(unsafe_code, reason = "a setting of the C library")]
fn share_heaps() {
    // SAFETY: called before any other thread is started; `mallopt` only sets a number.
    unsafe { libc::mallopt(libc::M_ARENA_MAX, 2) };
}

#[cfg(not(target_env = "gnu"))]
fn share_heaps() {}
