//! What one client may take, so that others get their share: connections at a time, and requests a second.
//!
//! Clients on this machine are not limited here: the bounds of `limits.rs` hold for all, and who is on the machine has
//! cheaper ways to keep it busy.

use std::{
    collections::HashMap,
    net::{IpAddr, Ipv6Addr},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Instant,
};

use super::{
    errors::ApiError,
    limits::{CLIENT_BURST, CLIENT_CONNECTIONS, CLIENT_RATE, MAX_CLIENTS},
    peer::Ends,
    router::App,
};
use axum::{
    extract::{Request, State},
    middleware::Next,
    response::{IntoResponse as _, Response},
};
use http::{HeaderValue, StatusCode, header::RETRY_AFTER};

/// Those who are connected, and those who asked of late.
#[derive(Debug, Default)]
pub(super) struct Clients(Mutex<HashMap<IpAddr, Client>>);

#[derive(Debug)]
struct Client {
    connections: usize,
    /// Requests that it may still make.
    left: f64,
    /// As of when.
    at: Instant,
}

impl Client {
    fn new(now: Instant) -> Self {
        Self {
            connections: 0,
            left: CLIENT_BURST,
            at: now,
        }
    }

    fn refill(&mut self, now: Instant) {
        let gained = now.duration_since(self.at).as_secs_f64() * CLIENT_RATE;
        self.left = (self.left + gained).min(CLIENT_BURST);
        self.at = now;
    }

    /// Nothing is remembered of it that a new one would not have.
    fn is_forgotten(&mut self, now: Instant) -> bool {
        self.refill(now);
        self.connections == 0 && self.left >= CLIENT_BURST
    }
}

impl Clients {
    /// Takes a connection of this client in; `None` if it has too many.
    pub(super) fn connect(self: &Arc<Self>, address: IpAddr) -> Option<Connected> {
        let client = key(address);
        if let Some(key) = client {
            let now = Instant::now();
            let mut clients = self.lock();
            let client = entry(&mut clients, key, now)?;
            if client.connections >= CLIENT_CONNECTIONS {
                return None;
            }
            client.connections += 1;
        }
        Some(Connected {
            clients: Arc::clone(self),
            client,
        })
    }

    /// Counts one request; false if it is one too many.
    fn ask(&self, address: IpAddr, now: Instant) -> bool {
        let Some(key) = key(address) else {
            return true;
        };
        let mut clients = self.lock();
        let Some(client) = entry(&mut clients, key, now) else {
            return false;
        };
        client.refill(now);
        if client.left < 1.0 {
            return false;
        }
        client.left -= 1.0;
        true
    }

    /// Numbers are whole whatever panicked beside them.
    fn lock(&self) -> MutexGuard<'_, HashMap<IpAddr, Client>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The entry of a client, known or new; `None` if there are too many others.
fn entry(clients: &mut HashMap<IpAddr, Client>, key: IpAddr, now: Instant) -> Option<&mut Client> {
    if clients.len() >= MAX_CLIENTS && !clients.contains_key(&key) {
        clients.retain(|_, client| !client.is_forgotten(now));
        if clients.len() >= MAX_CLIENTS {
            return None;
        }
    }
    Some(clients.entry(key).or_insert_with(|| Client::new(now)))
}

/// What counts as one client: an IPv4 address, or a network of 64 bits of IPv6. `None` for this machine.
fn key(address: IpAddr) -> Option<IpAddr> {
    match address.to_canonical() {
        address if address.is_loopback() => None,
        IpAddr::V6(address) => {
            let network = address.to_bits() & !u128::from(u64::MAX);
            Some(IpAddr::V6(Ipv6Addr::from_bits(network)))
        }
        address => Some(address),
    }
}

/// A connection of a client, until it is dropped.
pub(super) struct Connected {
    clients: Arc<Clients>,
    client: Option<IpAddr>,
}

impl Drop for Connected {
    fn drop(&mut self) {
        let Some(key) = self.client else {
            return;
        };
        let mut clients = self.clients.lock();
        if let Some(client) = clients.get_mut(&key) {
            client.connections = client.connections.saturating_sub(1);
            if client.is_forgotten(Instant::now()) {
                clients.remove(&key);
            }
        }
    }
}

/// The layer that refuses requests of clients that ask too often.
pub(super) async fn moderate(State(app): State<App>, request: Request, next: Next) -> Response {
    let ends = request.extensions().get::<Ends>();
    if ends.is_none_or(|ends| app.clients.ask(ends.remote.ip(), Instant::now())) {
        return next.run(request).await;
    }
    let error = ApiError::Typed(
        StatusCode::TOO_MANY_REQUESTS,
        format!("too many requests: {CLIENT_RATE} a second are answered"),
    );
    let mut response = error.into_response();
    response
        .headers_mut()
        .insert(RETRY_AFTER, HeaderValue::from_static("1"));
    response
}

#[cfg(test)]
mod tests {
    use std::{net::Ipv4Addr, time::Duration};

    use super::*;

    fn at(last: u8) -> IpAddr {
        Ipv4Addr::new(192, 0, 2, last).into()
    }

    #[test]
    fn who_asks_too_often_waits_and_others_do_not() {
        let (clients, now) = (Clients::default(), Instant::now());
        let burst = |now| {
            (0..1_000_000)
                .take_while(|_| clients.ask(at(1), now))
                .count()
        };
        assert_eq!(burst(now), CLIENT_BURST as usize);
        assert!(clients.ask(at(2), now));
        assert_eq!(burst(now + Duration::from_secs(1)), CLIENT_RATE as usize);
        let local: IpAddr = "::ffff:127.0.0.1".parse().unwrap();
        assert!((0..10_000).all(|_| clients.ask(local, now)), "this machine");
    }

    #[test]
    fn connections_are_counted_and_given_back() {
        let clients = Arc::<Clients>::default();
        let mut held: Vec<_> = (0..CLIENT_CONNECTIONS)
            .map(|_| clients.connect(at(1)).unwrap())
            .collect();
        assert!(clients.connect(at(1)).is_none());
        assert!(clients.connect(at(2)).is_some());
        held.pop();
        assert!(clients.connect(at(1)).is_some());
        held.clear();
        assert!(clients.lock().is_empty(), "nothing is kept of who was here");
        // The hosts of one IPv6 network are one client.
        let host = |n: u16| IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 0, 1, 0, 0, 0, n));
        assert_eq!(key(host(1)), key(host(2)));
    }

    #[test]
    fn the_table_is_bounded_and_forgets() {
        let (clients, now) = (Clients::default(), Instant::now());
        let address = |n: u32| IpAddr::V4(Ipv4Addr::from_bits(0x0a00_0000 + n));
        let many = u32::try_from(MAX_CLIENTS).unwrap();
        assert!((0..many).all(|n| clients.ask(address(n), now)));
        assert!(!clients.ask(address(many), now));
        let later = now + Duration::from_secs(60);
        assert!(clients.ask(address(many), later));
        assert_eq!(clients.lock().len(), 1);
    }
}
