//! The HTTPS server: one file per resource of the API, and what all of them share.
//!
//! Resources ask one [`Backend`] and know nothing of checks, stores or the machine. A request passes, from the outside
//! in: [`listener`] (TCP, TLS, time limits), `envelope` (request id, access log, panics), `limits` (size, number in
//! flight), `gzip`, and then the resource, which answers through `negotiation` or `errors`.

mod backend;
mod canned_xid;
mod connection;
mod envelope;
mod errors;
mod gzip;
mod limits;
mod listener;
mod negotiation;
mod plain_http;
mod query;
mod router;
mod stall;
mod tls;

mod admin;
mod components;
mod events;
mod healthz;
mod info;
mod inject_fault;
mod machine_info;
mod metrics;
mod plugins;
mod prometheus;
mod set_healthy;
mod states;
mod trigger;

#[cfg(test)]
mod test_backend;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_socket;

pub use backend::{
    Backend, ComponentStates, DeregisterError, RegisterError, Reply, Sample, SetHealthyError,
};
pub use canned_xid::canned_xid;
pub use inject_fault::MAX_MESSAGE_BYTES;
pub use listener::{BindError, bind, serve};
pub use router::{App, router};
pub use tls::{TlsError, from_files, self_signed};
