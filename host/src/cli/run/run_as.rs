//! `gpud run --user`: what root does before the daemon becomes another user.
//!
//! All of it happens before any other thread is started, since the kernel gives rights to threads.

use std::{env, ffi::OsString, path::Path};

use super::options::RunOptions;
use crate::{
    cli::{exit::Exit, local_socket::LocalSocketChoice},
    logging::LogOptions,
    node::{
        kmsg,
        local_socket::BoundSocket,
        privileges,
        root_helper::{self, Start},
        system::euid,
        system_calls, trusted,
        users::{self, User},
    },
};

/// The user of a daemon, and the plugins that run as root all the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunAs {
    /// Name or number.
    pub user: String,
    /// Names of script plugins.
    pub root_plugins: Vec<String>,
}

impl RunAs {
    /// Reads the flags; an empty user is none.
    ///
    /// # Errors
    /// Plugins without a user.
    pub fn of_flags(user: &str, root_plugins: &str) -> Result<Option<Self>, String> {
        let names = root_plugins.split(',').map(str::trim);
        let root_plugins: Vec<String> = names
            .filter(|name| !name.is_empty())
            .map(str::to_owned)
            .collect();
        match user.trim() {
            "" if root_plugins.is_empty() => Ok(None),
            "" => Err("--root-plugins needs --user: without it every plugin runs as the user who starts gpud".to_owned()),
            user => Ok(Some(Self {
                user: user.to_owned(),
                root_plugins,
            })),
        }
    }
}

/// Carries out `--user`: gives the user what the daemon writes, makes the Unix socket, starts the root helper, and gives up root.
/// Without the flag, or where this process is that user already, nothing happens. Returns the socket that was made as root.
///
/// # Errors
/// There is no such user, or this process is not root's; or the system refuses a step, after which the process is to end.
pub fn prepare(
    options: &mut RunOptions,
    log: &LogOptions,
    notes: &mut Vec<String>,
) -> Result<Option<BoundSocket>, Exit> {
    let Some(run_as) = options.run_as.clone() else {
        return Ok(None);
    };
    let user = find(&run_as.user).map_err(Exit::failure)?;
    match euid() {
        0 => {}
        own if own == user.uid => {
            notes.push(
                "--user: gpud was started as this user, so there is no root helper".to_owned(),
            );
            return Ok(None);
        }
        _ => {
            let why = "--user: only root can become another user; start gpud as root, or leave the flag out";
            return Err(Exit::failure(why));
        }
    }
    let folder = trusted::chown_folder(&options.data_dir, &user);
    let file = log.file.as_deref();
    let file = file.map_or(Ok(()), |file| trusted::chown_file(file, &user));
    for problem in [folder, file].into_iter().filter_map(Result::err) {
        // A daemon whose folder cannot be written runs from memory, and one whose log cannot be opened says so.
        notes.push(format!(
            "--user: what gpud writes is not given to user {}: {problem}",
            user.name
        ));
    }
    let socket = bind_socket(options, notes);
    start_helper(options, run_as.root_plugins).map_err(Exit::failure)?;
    privileges::name_in_environment(&user);
    privileges::become_user(&user).map_err(Exit::failure)?;
    // Old kernels and some sandboxes have no filters. The user has no rights in any case.
    if let Err(error) = system_calls::bar_dangerous() {
        notes.push(format!(
            "--user: dangerous system calls are not barred for gpud and its scripts: {error}"
        ));
    }
    Ok(socket)
}

fn find(name: &str) -> Result<User, String> {
    match users::find(name) {
        Some(user) if user.uid == 0 => {
            Err("--user: root is no other user; leave the flag out, or name another one".to_owned())
        }
        Some(user) => Ok(user),
        None => Err(format!(
            "--user: there is no user {name:?} in /etc/passwd; make one with `useradd --system --shell /usr/sbin/nologin NAME`"
        )),
    }
}

/// Makes the socket as root, so that root's commands trust it. One in the data folder, which is the user's, is left to the daemon.
fn bind_socket(options: &mut RunOptions, notes: &mut Vec<String>) -> Option<BoundSocket> {
    let path = options.local_socket.path(&options.data_dir)?;
    if path.starts_with(&options.data_dir) {
        return None;
    }
    match BoundSocket::bind(&path) {
        Ok(socket) => {
            options.local_socket = LocalSocketChoice::At(path);
            Some(socket)
        }
        Err(error) => {
            notes.push(format!(
                "there is no Unix socket for local administration: {error}"
            ));
            options.local_socket = LocalSocketChoice::Off;
            None
        }
    }
}

fn start_helper(options: &RunOptions, plugins: Vec<String>) -> Result<(), String> {
    let program = env::current_exe()
        .map_err(|error| format!("gpud does not find its own binary: {error}"))?;
    let kernel_log = kmsg::configured_path();
    let mut arguments = vec![
        OsString::from("root-helper"),
        flag("--kernel-log=", &kernel_log),
    ];
    if let (false, Some(specs)) = (plugins.is_empty(), &options.plugin_specs_file) {
        // The helper's working directory is another one.
        let specs = std::path::absolute(specs).map_err(|error| error.to_string())?;
        arguments.push(flag("--plugin-specs-file=", &specs));
        arguments.push(format!("--plugins={}", plugins.join(",")).into());
    }
    let start = Start {
        program: &program,
        arguments,
        kernel_log,
        plugins,
    };
    root_helper::start(start).map_err(|error| error.to_string())
}

fn flag(name: &str, path: &Path) -> OsString {
    let mut flag = OsString::from(name);
    flag.push(path);
    flag
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_name_a_user_and_plugins() {
        let run_as = |user: &str, plugins: &[&str]| {
            Some(RunAs {
                user: user.to_owned(),
                root_plugins: plugins.iter().map(|name| (*name).to_owned()).collect(),
            })
        };
        for (user, plugins, expected) in [
            ("", "", None),
            (" ", ",", None),
            ("gpud", "", run_as("gpud", &[])),
            ("65534", "a, b b,,", run_as("65534", &["a", "b b"])),
        ] {
            assert_eq!(
                RunAs::of_flags(user, plugins),
                Ok(expected),
                "{user} {plugins}"
            );
        }
        assert!(RunAs::of_flags("", "a").unwrap_err().contains("--user"));
    }

    #[test]
    fn root_and_unknown_users_are_refused() {
        assert!(find("root").unwrap_err().contains("leave the flag out"));
        assert!(find("0").unwrap_err().contains("leave the flag out"));
        let unknown = find("no-such-user-of-gpud").unwrap_err();
        assert!(unknown.contains("useradd"), "{unknown}");
    }
}
