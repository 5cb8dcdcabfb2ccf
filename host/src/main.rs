//! The gpud binary: reads the command line, installs logging, dispatches.

use std::{env, process::ExitCode};

use gpud::{
    cli::{
        self, Action, Exit, Invocation, compact, custom_plugins, explain, inject_fault,
        list_plugins, machine_info, run, run_plugin_group, scan, set_healthy, terminal::Terminal,
    },
    logging,
    node::Node,
    runtime::compiler,
};

/// Worker threads: requests are small, guests are short, and two cores are the usual share of a daemon.
const WORKERS: usize = 2;

fn main() -> ExitCode {
    share_heaps();
    let invocation = match cli::parse(env::args_os()) {
        Ok(invocation) => invocation,
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
    for note in notes {
        tracing::warn!("{note}");
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(WORKERS)
        .max_blocking_threads(16)
        // Timers are looked at more often than usual: guests that spin give a thread back only every 10 ms.
        .event_interval(11)
        .enable_all()
        .build();
    let exit = match runtime {
        Ok(runtime) => {
            let exit = runtime.block_on(carry_out(action, stdout, stderr));
            runtime.shutdown_background();
            exit
        }
        Err(error) => Exit::failure(format!("no threads to run on: {error}")),
    };
    drop(guard);
    exit.report(stderr)
}

async fn carry_out(action: Action, stdout: Terminal, stderr: Terminal) -> Exit {
    let nothing_to_say = |()| Exit::success("");
    let done = match action {
        Action::Run(options) => run::run(*options).await.map(nothing_to_say),
        Action::Scan(options) => scan::scan(&options, stdout).await,
        Action::CustomPlugins(options) => {
            custom_plugins::custom_plugins(&options, stdout, stderr).await
        }
        Action::Explain {
            subject,
            site_file,
            json,
        } => explain::explain(&subject, site_file, json, stdout).await,
        Action::ListPlugins { server, json } => list_plugins::list_plugins(&server, json)
            .await
            .map(Exit::success),
        Action::RunPluginGroup { server, tag } => {
            run_plugin_group::run_plugin_group(&server, &tag).await
        }
        Action::MachineInfo { data_dir: _, json } => inventory(json).await.map(Exit::success),
        Action::InjectFault { priority, message } => {
            inject_fault::inject_fault(&priority, &message).map(nothing_to_say)
        }
        Action::SetHealthy { server, components } => set_healthy::set_healthy(&server, &components)
            .await
            .map(Exit::success),
        Action::Compact { data_dir } => {
            compact::compact(&data_dir, stdout).await.map(Exit::success)
        }
        Action::CompileComponent { input, output } => compiler::child_main(&input, &output)
            .map(nothing_to_say)
            .map_err(Exit::failure),
    };
    done.unwrap_or_else(|exit| exit)
}

async fn inventory(json: bool) -> Result<String, Exit> {
    let node = Node::live().await.map_err(Exit::failure)?;
    let info = gpud::machine_info::collect(&node).await;
    if json {
        machine_info::json(&info)
    } else {
        Ok(machine_info::plain(&info))
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
