//! The HTTPS server: one file per resource of the API, and what all of them share.
//!
//! Resources ask one [`Backend`] and know nothing of checks, stores or the machine. A request passes, from the outside
//! in: [`listener`] (TCP or the Unix socket, who is asking, TLS, time limits), `envelope` (request id, access log, panics),
//! `gzip`, `sites` (browsers), `access` (who may), `limits` (size, the body, a turn), and then the resource, which answers
//! through `negotiation` or `errors`.

#![cfg_attr(
    test,
    allow(clippy::disallowed_methods, reason = "tests make their own machines")
)]

use gpud_component as component;
use gpud_model as model;
use gpud_node as node;
use gpud_store as store;
use gpud_wire as wire;

mod access;
mod activity;
mod allocations;
mod answers;
mod backend;
mod cancellation;
mod canned_xid;
mod connection;
mod encoded;
mod envelope;
mod errors;
mod fair_queue;
mod frames;
mod gzip;
mod limits;
mod listener;
mod negotiation;
mod openapi;
mod page;
mod peer;
mod plain_http;
mod progress;
mod query;
mod reload;
mod reservations;
mod router;
mod routes;
mod shares;
mod sites;
mod stall;
mod tls;
mod token;
mod unread;

mod admin;
mod components;
mod events;
mod healthz;
mod history;
mod info;
mod inject_fault;
mod machine_info;
mod metrics;
mod plugins;
mod pprof;
mod prometheus;
mod set_healthy;
mod states;
mod stream;
mod summary;
mod swagger;
mod trigger;

#[cfg(test)]
mod test_backend;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_socket;
#[cfg(test)]
mod tests_unread;

pub use access::Access;
pub use backend::{
    Backend, ComponentStates, DeregisterError, RegisterError, Reply, Sample, SetHealthyError,
};
pub use canned_xid::canned_xid;
pub use inject_fault::MAX_MESSAGE_BYTES;
pub use listener::{BindError, Listeners, Serving, bind, serve};
pub use page::page_address;
pub use reload::Reload;
pub use router::{App, router};
pub use sites::{Sites, parse_hosts, parse_origins};
pub use tls::{Certificate, TlsError, from_files, self_signed};
pub use token::{TOKEN_FILE, Token, TokenError, read as read_token};
