//! A machine that is not there: a folder that stands for `/`, a kernel log in a file, and canned answers in place of
//! programs and services. Nothing of the machine that we run on is asked.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::{Arc, PoisonError, RwLock},
    time::Duration,
};

use super::{
    Boot, Node, READ_BACK_THREADS, clock::Clock, error::SourceError, files::Files,
    hang_pool::HangPool, kmsg::BootClock, net::HttpResponse, nvml::Nvml, process::Output,
};

/// The machine to simulate.
#[derive(Debug, Clone)]
pub struct Simulation {
    /// The folder that replaces `/`.
    pub root: PathBuf,
    /// The time, Unix milliseconds.
    pub now: u64,
    /// When it booted.
    pub boot: Boot,
    /// Its kernel log: records as `/dev/kmsg` gives them out, their times counted from the boot.
    pub kmsg: PathBuf,
    /// The answers in place of programs and services.
    pub canned: Canned,
}

/// The answers in place of programs and services. A program or service without an answer does not exist.
#[derive(Debug, Clone, Default)]
pub struct Canned {
    /// The first that fits answers.
    pub programs: Vec<CannedProgram>,
    /// By `unix:/run/x.sock` or `loopback:9100`, then by path and query.
    pub http: CannedHttp,
    /// `host:port` endpoints that take connections.
    pub tcp: Vec<String>,
}

/// Pages by service, then by path and query.
pub type CannedHttp = BTreeMap<String, BTreeMap<String, CannedPage>>;

/// The result of one run of a program.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CannedProgram {
    /// Its name or path as the plugin writes it; `bash` for scripts.
    pub program: String,
    /// Its arguments; `None` fits any.
    pub arguments: Option<Vec<String>>,
    /// Its standard output.
    pub stdout: String,
    /// Its standard error.
    pub stderr: String,
    /// How it ends.
    pub exit_code: i32,
}

/// The answer of one page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CannedPage {
    /// Status code.
    pub status: u16,
    /// The body.
    pub body: String,
}

impl Node {
    /// A machine made up of these. It has no GPUs that could be asked.
    ///
    /// # Errors
    /// When the folder cannot be opened as a root.
    pub fn simulated(simulation: Simulation) -> Result<Self, SourceError> {
        let Simulation {
            root,
            now,
            boot,
            kmsg,
            canned,
        } = simulation;
        let kmsg_clock = BootClock::booted_at(boot.time);
        Ok(Self {
            files: Files::rooted(&root)?,
            clock: Clock::manual(now),
            nvml: Nvml::absent(),
            boot,
            replacements: BTreeMap::new(),
            canned: Some(Arc::new(RwLock::new(Arc::new(canned)))),
            host_root: None,
            kmsg_path: kmsg,
            kmsg_clock,
            booted_at_ms: None,
            kmsg_scans: HangPool::new("kmsg-scan", READ_BACK_THREADS),
        })
    }

    /// Returns the answers in place of programs and services, if this machine is simulated.
    pub fn canned(&self) -> Option<Arc<Canned>> {
        let canned = self.canned.as_ref()?.read();
        Some(Arc::clone(&canned.unwrap_or_else(PoisonError::into_inner)))
    }

    /// Changes the answers that replace programs and services. A machine that is not simulated stays as it is.
    pub fn change_canned(&self, change: impl FnOnce(&mut Canned)) {
        if let Some(canned) = &self.canned {
            let mut canned = canned.write().unwrap_or_else(PoisonError::into_inner);
            change(Arc::make_mut(&mut canned));
        }
    }
}

impl Canned {
    /// Takes other answers: each in front of those that were there, in place of one that it equals in program and
    /// arguments, or in service and path. `tcp`, where it is given, is the whole list.
    pub fn take(
        &mut self,
        programs: Vec<CannedProgram>,
        http: CannedHttp,
        tcp: Option<Vec<String>>,
    ) {
        self.programs.retain(|old| {
            let same =
                |new: &CannedProgram| new.program == old.program && new.arguments == old.arguments;
            !programs.iter().any(same)
        });
        self.programs.splice(0..0, programs);
        for (service, pages) in http {
            self.http.entry(service).or_default().extend(pages);
        }
        if let Some(tcp) = tcp {
            self.tcp = tcp;
        }
    }

    /// Removes a program, so that it is not found.
    pub fn remove_program(&mut self, name: &str) {
        self.programs.retain(|one| one.program != name);
    }

    /// The output of a program.
    ///
    /// # Errors
    /// [`SourceError::NotFound`] for a program that is not in it, saying with which arguments it was called.
    pub fn run(&self, program: &str, arguments: &[String]) -> Result<Output, SourceError> {
        let fits = |canned: &&CannedProgram| {
            let name = Path::new(&canned.program).file_name();
            let same = canned.program == program
                || (!program.contains('/') && name.is_some_and(|name| name == program));
            let wanted = canned.arguments.as_ref();
            same && wanted.is_none_or(|wanted| wanted == arguments)
        };
        let canned = self.programs.iter().find(fits).ok_or_else(|| {
            SourceError::NotFound(format!(
                "{program} {} (the simulated machine has no answer for it)",
                arguments.join(" ")
            ))
        })?;
        Ok(Output {
            exit_code: Some(canned.exit_code),
            signal: None,
            core_dumped: false,
            stdout: canned.stdout.clone().into_bytes(),
            stderr: canned.stderr.clone().into_bytes(),
            stdout_truncated: false,
            stderr_truncated: false,
            duration: Duration::ZERO,
        })
    }

    /// The answer of a service.
    ///
    /// # Errors
    /// [`SourceError::NotFound`] for a service that is not in it, [`SourceError::TooLarge`] for the body.
    pub fn get(
        &self,
        service: &str,
        path: &str,
        max_bytes: u64,
    ) -> Result<HttpResponse, SourceError> {
        let what = format!("{service}{path}");
        let pages = self
            .http
            .get(service)
            .ok_or_else(|| SourceError::NotFound(what.clone()))?;
        let missing = CannedPage {
            status: 404,
            body: String::new(),
        };
        let page = pages.get(path).unwrap_or(&missing);
        let size = page.body.len() as u64;
        if size > max_bytes {
            return Err(SourceError::TooLarge {
                what,
                size,
                limit: max_bytes,
            });
        }
        Ok(HttpResponse {
            status: page.status,
            headers: Vec::new(),
            body: page.body.clone().into_bytes(),
        })
    }

    /// How long a connect takes.
    ///
    /// # Errors
    /// [`SourceError::Other`] where no process listens.
    pub fn connect(&self, endpoint: &str) -> Result<Duration, SourceError> {
        match self.tcp.iter().any(|open| open == endpoint) {
            true => Ok(Duration::from_millis(1)),
            false => Err(SourceError::Other(format!(
                "{endpoint}: connection refused (the simulated machine has no such endpoint)"
            ))),
        }
    }
}

#[cfg(test)]
mod tests;
