//! Looks up the addresses of hosts, apart from the threads that everything else uses.
//!
//! The C library's look-up has no time limit: with name servers that do not answer it takes half a minute, or minutes with
//! search domains, and it cannot be ended. On the daemon's few threads for blocking work a handful of such look-ups would
//! hold up the spools of all exports, the database and the checks. So each runs on a thread of its own, at most one for a
//! name and 32 in all, and a caller waits no longer than [`LIMIT`].

use std::{
    collections::HashMap,
    error::Error,
    fmt, io,
    net::{IpAddr, SocketAddr, ToSocketAddrs as _},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant},
};

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use tokio::sync::watch;

/// Longest wait for the addresses of a name.
pub const LIMIT: Duration = Duration::from_secs(4);
/// Most names that are looked up at once.
const MOST: usize = 32;
/// How long an answer that came after everybody gave up waits for the next try.
const RETAINED: Duration = Duration::from_secs(300);
/// Stack of a look-up's thread, bytes. Modules of the C library's name services use some.
const STACK: usize = 512 << 10;

/// Why the addresses of a host are not known.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// The name servers said so, or could not be asked.
    #[error(
        "{host} cannot be looked up: {why}; look at the name, and at the name servers in /etc/resolv.conf"
    )]
    Failed {
        /// The name.
        host: String,
        /// The C library's words.
        why: String,
    },
    /// Nobody answered.
    #[error(
        "{host} cannot be looked up: no answer within {limit:?}; look at the name servers in /etc/resolv.conf",
        limit = LIMIT
    )]
    NoAnswer {
        /// The name.
        host: String,
    },
    /// Too many other look-ups have not ended.
    #[error(
        "{host} cannot be looked up yet: {most} other look-ups have not ended; look at the name servers in /etc/resolv.conf",
        most = MOST
    )]
    TooMany {
        /// The name.
        host: String,
    },
}

type LookUpError = Box<dyn Error + Send + Sync>;
type Resolved = Result<Vec<IpAddr>, String>;
type LookUp = dyn Fn(&str) -> io::Result<Vec<IpAddr>> + Send + Sync;

/// Looks up host names; clones share the running look-ups.
#[derive(Clone)]
pub struct Names {
    look_up: Arc<LookUp>,
    running: Arc<Mutex<HashMap<String, RunningLookup>>>,
}

/// A look-up that runs, or one whose answer no caller has received yet.
struct RunningLookup {
    answer: watch::Receiver<Option<Resolved>>,
    /// When it ended.
    ended: Option<Instant>,
}

impl Default for Names {
    fn default() -> Self {
        Self::with(|host| {
            Ok((host, 0)
                .to_socket_addrs()?
                .map(|found| found.ip())
                .collect())
        })
    }
}

impl Names {
    /// Makes one that asks this function, which may block.
    fn with(look_up: impl Fn(&str) -> io::Result<Vec<IpAddr>> + Send + Sync + 'static) -> Self {
        Self {
            look_up: Arc::new(look_up),
            running: Arc::default(),
        }
    }

    /// Returns the addresses of a host, at least one, within [`LIMIT`].
    ///
    /// # Errors
    /// [`NameError`], which names the host.
    pub async fn addresses(&self, host: &str) -> Result<Vec<IpAddr>, NameError> {
        if let Ok(address) = host.parse() {
            return Ok(vec![address]);
        }
        let failed = |why: String| NameError::Failed {
            host: host.to_owned(),
            why,
        };
        let mut answer = self.ask(host)?;
        let waited = tokio::time::timeout(LIMIT, answer.wait_for(Option::is_some)).await;
        let answered = match waited {
            Ok(Ok(answered)) => answered.clone(),
            Ok(Err(_)) => None,
            Err(_) => {
                return Err(NameError::NoAnswer {
                    host: host.to_owned(),
                });
            }
        };
        let addresses = answered
            .unwrap_or_else(|| Err("the look-up broke off".to_owned()))
            .map_err(failed)?;
        match addresses.is_empty() {
            true => Err(failed("it has no address".to_owned())),
            false => Ok(addresses),
        }
    }

    /// Returns the answer of the look-up of this name that runs or has ended unheard, else of a new one.
    fn ask(&self, host: &str) -> Result<watch::Receiver<Option<Resolved>>, NameError> {
        let mut running = lock(&self.running);
        running.retain(|_, one| one.ended.is_none_or(|ended| ended.elapsed() < RETAINED));
        if let Some(one) = running.get(host) {
            let answer = one.answer.clone();
            if one.ended.is_some() {
                running.remove(host);
            }
            return Ok(answer);
        }
        if running.len() >= MOST {
            return Err(NameError::TooMany {
                host: host.to_owned(),
            });
        }
        let (sender, answer) = watch::channel(None);
        let (names, name) = (self.clone(), host.to_owned());
        let started = thread::Builder::new()
            .name("look-up".to_owned())
            .stack_size(STACK)
            .spawn(move || {
                let found = (names.look_up)(&name).map_err(|error| error.to_string());
                names.end(&name, found, &sender);
            });
        if let Err(error) = started {
            return Err(NameError::Failed {
                host: host.to_owned(),
                why: format!("no thread could be started: {error}"),
            });
        }
        let one = RunningLookup {
            answer: answer.clone(),
            ended: None,
        };
        running.insert(host.to_owned(), one);
        Ok(answer)
    }

    /// Hands an answer to those that wait. Addresses that nobody waits for any more are retained for the next try:
    /// otherwise a name server that is slow, or a dead one before a good one, would let no try succeed.
    fn end(&self, host: &str, answer: Resolved, sender: &watch::Sender<Option<Resolved>>) {
        // The lock also waits until `ask` has put the look-up there.
        let mut running = lock(&self.running);
        // One receiver is the map's.
        let is_unheard = sender.receiver_count() <= 1;
        if is_unheard && answer.is_ok() {
            if let Some(one) = running.get_mut(host) {
                one.ended = Some(Instant::now());
            }
        } else {
            running.remove(host);
        }
        sender.send_replace(Some(answer));
    }
}

impl Resolve for Names {
    fn resolve(&self, name: Name) -> Resolving {
        let names = self.clone();
        Box::pin(async move {
            let found = names.addresses(name.as_str()).await;
            // The port of the address counts in place of 0.
            let with_port = |address| SocketAddr::new(address, 0);
            found
                .map(|found| Box::new(found.into_iter().map(with_port)) as Addrs)
                .map_err(|error| Box::new(error) as LookUpError)
        })
    }
}

impl fmt::Debug for Names {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Names({} running)", lock(&self.running).len())
    }
}

fn lock(
    running: &Mutex<HashMap<String, RunningLookup>>,
) -> MutexGuard<'_, HashMap<String, RunningLookup>> {
    running.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
