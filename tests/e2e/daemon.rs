//! A daemon under test.

use std::{
    env,
    fs::{self, File},
    io::Read,
    net::TcpListener,
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    sync::OnceLock,
    thread::sleep,
    time::{Duration, Instant},
};

use bytes::Bytes;
use gpud::cli::client::Client;
use http::Method;
use serde_json::Value;
use tempfile::TempDir;
use tokio::runtime::Runtime;

/// Longest that anything may take; far more than it does, also where several daemons compile all checkers with a debug
/// build on a busy machine.
pub const PATIENCE: Duration = Duration::from_secs(300);

/// Names a binary to test in place of the one that was built: an older one, to see which attacks succeed on it.
const OTHER_BINARY: &str = "GPUD_E2E_BINARY";

/// The binary, with an environment that does not depend on the developer's.
pub fn gpud() -> Command {
    program(&release().program)
}

/// The binary as `cargo xtask release` makes it, and what that puts behind it.
pub struct Release {
    /// The binary with the compiled code of its built-in components.
    pub program: PathBuf,
    /// The compiled code alone.
    pub archive: PathBuf,
}

/// Makes the release once: without it, each daemon under test would compile all built-in components.
pub fn release() -> &'static Release {
    static RELEASE: OnceLock<Release> = OnceLock::new();
    RELEASE.get_or_init(|| {
        if let Some(program) = env::var_os(OTHER_BINARY) {
            return Release {
                program: program.into(),
                archive: PathBuf::new(),
            };
        }
        let plain = Path::new(env!("CARGO_BIN_EXE_gpud"));
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let made = Release {
            program: folder.join("gpud"),
            archive: folder.join("gpud.code"),
        };
        let age = |path: &Path| fs::metadata(path).and_then(|facts| facts.modified());
        let is_new = match (age(plain), age(&made.program)) {
            (Ok(plain), Ok(program)) => program > plain,
            _ => false,
        };
        if !is_new {
            // By rename, so that another process never sees half of it.
            let (part, code) = (folder.join("gpud.part"), folder.join("gpud.code.part"));
            let compiled = program(plain)
                .arg("compile-builtins")
                .arg("--output")
                .arg(&code)
                .output()
                .unwrap();
            let said = String::from_utf8_lossy(&compiled.stderr);
            assert!(compiled.status.success(), "compile-builtins: {said}");
            join(plain, &code, &part);
            fs::rename(&code, &made.archive).unwrap();
            fs::rename(&part, &made.program).unwrap();
        }
        made
    })
}

/// Whether `gpud run` has this flag; another binary may be older than it.
fn has_flag(flag: &str) -> bool {
    static HELP: OnceLock<String> = OnceLock::new();
    env::var_os(OTHER_BINARY).is_none()
        || HELP
            .get_or_init(|| {
                let help = gpud().args(["run", "--help"]).output().unwrap();
                String::from_utf8_lossy(&help.stdout).into_owned()
            })
            .contains(flag)
}

/// Returns those of these flags that `gpud run` has. A value can follow after `=`.
pub fn known_flags<'a>(flags: &[&'a str]) -> Vec<&'a str> {
    let is_known = |flag: &&str| has_flag(flag.split('=').next().unwrap_or(flag));
    flags.iter().copied().filter(is_known).collect()
}

/// Writes a program with an archive behind it. A shell does it: a test that starts a program at the same moment would hold
/// a file open that this one is writing.
pub fn join(program: &Path, archive: &Path, output: &Path) {
    let _ = fs::remove_file(output);
    let written = Command::new("sh")
        .args(["-c", "cat \"$1\" \"$2\" > \"$3\" && chmod 755 \"$3\"", "sh"])
        .args([program, archive, output])
        .status()
        .unwrap();
    assert!(written.success());
}

/// Copies a program. Another process does it, for the same reason.
pub fn copy_program(from: &Path, to: &Path) {
    let copied = Command::new("cp").args([from, to]).status().unwrap();
    assert!(copied.success());
}

fn program(path: &Path) -> Command {
    let mut command = Command::new(path);
    remove_developers_variables(&mut command);
    command
}

/// Removes what a developer's shell and cargo set: gpud warns where a script would not get it.
fn remove_developers_variables(command: &mut Command) {
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        let is_of_tools = ["CARGO", "CLIPPY_", "PIP_", "RUSTC"]
            .iter()
            .any(|family| text.starts_with(family));
        let is_home = matches!(&*text, "CARGO_HOME" | "RUSTUP_HOME");
        let is_of_gpud = matches!(&*text, "KMSG_FILE_PATH" | "GPUD_NVML_LIBRARY_PATH");
        if is_of_gpud || is_of_tools && !is_home {
            command.env_remove(&name);
        }
    }
}

/// The binary, inside namespaces if there is a script that prepares them.
fn within(script: Option<&str>, gpud: &Path) -> Command {
    let Some(script) = script else {
        return program(gpud);
    };
    let mut command = Command::new("unshare");
    command
        .args(["--mount", "--propagation=private", "--pid", "--fork"])
        .args(["--kill-child", "--mount-proc", "bash", "-ec"])
        .arg(format!("{script}\nexec \"$@\""))
        .arg("bash")
        .arg(gpud);
    remove_developers_variables(&mut command);
    command
}

/// Waits until something is there.
pub fn eventually<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let started = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(
            started.elapsed() < PATIENCE,
            "{what}: not within {PATIENCE:?}"
        );
        sleep(Duration::from_millis(20));
    }
}

/// The Unix socket of a daemon under test, in its data folder: the usual one is the machine's own daemon's.
const SOCKET: &str = "gpud.sock";

/// A port that was free a moment ago.
pub fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port()
}

/// A running daemon and its folder. It is killed when dropped.
pub struct Daemon {
    child: Child,
    port: u16,
    folder: PathBuf,
    socket: PathBuf,
    runtime: Runtime,
    _own_folder: Option<TempDir>,
}

/// Compiled code to begin with: compiling all checkers for every test would take most of the tests' time.
mod warm {
    use std::{fs, os::unix::fs::PermissionsExt, path::Path, sync::OnceLock};

    use tempfile::TempDir;

    use super::Start;

    static FOLDER: OnceLock<TempDir> = OnceLock::new();

    pub fn copy_to(folder: &Path) {
        let warm = FOLDER.get_or_init(|| {
            let folder = tempfile::tempdir().unwrap();
            drop(Start::new().folder(folder.path()).ready());
            folder
        });
        let cache = folder.join("cache");
        fs::create_dir_all(&cache).unwrap();
        fs::set_permissions(&cache, fs::Permissions::from_mode(0o700)).unwrap();
        for entry in fs::read_dir(warm.path().join("cache")).unwrap() {
            let entry = entry.unwrap();
            fs::copy(entry.path(), cache.join(entry.file_name())).unwrap();
        }
    }
}

/// How to start one.
pub struct Start {
    program: PathBuf,
    host: &'static str,
    inside: Option<String>,
    folder: Option<PathBuf>,
    socket: Option<PathBuf>,
    arguments: Vec<String>,
    environment: Vec<(String, String)>,
}

impl Start {
    /// With a fresh data folder, in which the checkers' compiled code is already, and the kernel log left alone.
    pub fn new() -> Self {
        Self {
            program: release().program.clone(),
            host: "127.0.0.1",
            inside: None,
            folder: None,
            socket: None,
            arguments: Vec::new(),
            environment: vec![("KMSG_FILE_PATH".into(), "/dev/null".into())],
        }
    }

    /// Another file of the binary.
    pub fn program(mut self, path: &Path) -> Self {
        self.program = path.to_owned();
        self
    }

    /// Reads the machine's own kernel log.
    pub fn real_kernel_log(self) -> Self {
        self.kernel_log("/dev/kmsg")
    }

    /// Reads this as the kernel log.
    pub fn kernel_log(mut self, path: &str) -> Self {
        self.environment = vec![("KMSG_FILE_PATH".into(), path.into())];
        self
    }

    /// With a variable of the environment.
    pub fn environment(mut self, name: &str, value: &str) -> Self {
        self.environment.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Listens on every address of the machine.
    pub fn wide(mut self) -> Self {
        self.host = "0.0.0.0";
        self
    }

    /// As process 1 of namespaces of its own for mounts and processes, which this bash script has prepared. What the
    /// script leaves running ends with the daemon. [`Daemon::pid`] is then that of `unshare`. Needs root.
    pub fn inside(mut self, script: &str) -> Self {
        self.inside = Some(script.to_owned());
        self
    }

    /// In this data folder, as it is.
    pub fn folder(mut self, folder: &Path) -> Self {
        self.folder = Some(folder.to_owned());
        self
    }

    /// With its Unix socket at this path.
    pub fn socket(mut self, path: &Path) -> Self {
        self.socket = Some(path.to_owned());
        self
    }

    /// With further arguments.
    pub fn arguments(mut self, arguments: &[&str]) -> Self {
        self.arguments
            .extend(arguments.iter().map(|&word| word.to_owned()));
        self
    }

    /// Starts it without waiting for anything.
    pub fn spawn(self) -> Daemon {
        let own_folder = self.folder.is_none().then(|| tempfile::tempdir().unwrap());
        let folder = self
            .folder
            .unwrap_or_else(|| own_folder.as_ref().unwrap().path().to_owned());
        std::fs::create_dir_all(&folder).unwrap();
        if own_folder.is_some() {
            warm::copy_to(&folder);
        }
        let socket = self.socket.unwrap_or_else(|| folder.join(SOCKET));
        let port = free_port();
        let log = File::options()
            .create(true)
            .append(true)
            .open(folder.join("log"))
            .unwrap();
        let child = within(self.inside.as_deref(), &self.program)
            .arg("run")
            .arg("--data-dir")
            .arg(&folder)
            .arg(format!("--listen-address={}:{port}", self.host))
            .args(
                has_flag("--local-socket").then(|| format!("--local-socket={}", socket.display())),
            )
            .args(&self.arguments)
            .envs(self.environment)
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        Daemon {
            child,
            port,
            folder,
            socket,
            runtime,
            _own_folder: own_folder,
        }
    }

    /// Starts it and waits until every component has been checked.
    pub fn ready(self) -> Daemon {
        let daemon = self.spawn();
        daemon.wait_until_ready();
        daemon
    }
}

impl Daemon {
    /// Waits until every component has been checked and the kernel log is read.
    pub fn wait_until_ready(&self) {
        eventually("all components are checked", || {
            let (status, body) = self.try_get("/v1/states")?;
            let text = String::from_utf8_lossy(&body).into_owned();
            let waiting = text.contains("Initializing") || text.contains("no data yet");
            // The log goes on from start to start in one folder.
            let log = self.log();
            let count = |line: &str| log.matches(line).count();
            let loaded = count("all components are loaded") == count("starting gpud");
            (status == 200 && !waiting && loaded).then_some(())
        });
    }

    /// Base URL.
    pub fn url(&self) -> String {
        format!("https://127.0.0.1:{}", self.port)
    }

    /// Where it listens.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Data folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Its Unix socket.
    pub fn socket(&self) -> &Path {
        &self.socket
    }

    /// What it has logged so far, in all starts in this folder.
    pub fn log(&self) -> String {
        let mut text = String::new();
        File::open(self.folder.join("log"))
            .unwrap()
            .read_to_string(&mut text)
            .unwrap();
        text
    }

    /// Asks and gives status and body.
    pub fn send(&self, method: Method, target: &str) -> (u16, Vec<u8>) {
        self.try_send(method, target)
            .unwrap_or_else(|| panic!("no answer to {target}\n{}", self.log()))
    }

    /// A GET request; the body as JSON.
    pub fn get(&self, target: &str) -> Value {
        let (status, body) = self.send(Method::GET, target);
        assert_eq!(status, 200, "{target}: {}", String::from_utf8_lossy(&body));
        serde_json::from_slice(&body).unwrap()
    }

    /// Sends a text and gives status and body.
    pub fn send_body(&self, method: Method, target: &str, body: &str) -> (u16, String) {
        let client = Client::new(&self.url()).unwrap();
        let body = Bytes::from(body.to_owned());
        let answer = self
            .runtime
            .block_on(client.send_body(method, target, body))
            .unwrap();
        let text = String::from_utf8(answer.body.to_vec()).unwrap();
        (answer.status.as_u16(), text)
    }

    /// A GET request that may go unanswered.
    pub fn try_get(&self, target: &str) -> Option<(u16, Vec<u8>)> {
        self.try_send(Method::GET, target)
    }

    fn try_send(&self, method: Method, target: &str) -> Option<(u16, Vec<u8>)> {
        let client = Client::new(&self.url()).unwrap();
        let answer = self.runtime.block_on(client.send(method, target)).ok()?;
        Some((answer.status.as_u16(), answer.body.to_vec()))
    }

    /// The only state of a component.
    pub fn state(&self, component: &str) -> Value {
        let states = self.get(&format!("/v1/states?components={component}"));
        states[0]["states"][0].clone()
    }

    /// All events of a component, newest first.
    pub fn events(&self, component: &str) -> Vec<Value> {
        let events = self.get(&format!("/v1/events?startTime=0&components={component}"));
        events[0]["events"].as_array().cloned().unwrap_or_default()
    }

    /// Sends a signal.
    pub fn signal(&self, name: &str) {
        let status = Command::new("kill")
            .arg(name)
            .arg(self.pid().to_string())
            .status()
            .unwrap();
        assert!(status.success());
    }

    /// Waits for the end.
    pub fn wait(mut self) -> (ExitStatus, String) {
        let status = eventually("the daemon ends", || self.child.try_wait().unwrap());
        (status, self.log())
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Writes a line into the real kernel log; false, with the reason, where that cannot be done.
pub fn inject(line: &str) -> bool {
    let output = gpud()
        .args([
            "inject-fault",
            "--kernel-log-level",
            "kern.err",
            "--kernel-message",
            line,
        ])
        .output()
        .unwrap();
    if !output.status.success() {
        eprintln!(
            "left out: {}",
            String::from_utf8_lossy(&output.stderr).trim()
        );
    }
    output.status.success()
}
