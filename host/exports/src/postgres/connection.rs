//! The connection to a database. It is opened when it is needed, and closed when it is not used for a while, so that a
//! fleet of quiet nodes does not hold connections.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::net::TcpStream;
use tokio_postgres::{Client, Config, Error, NoTls, config::SslMode, tls::MakeTlsConnect};

use super::{
    answers::{ClearText, LimitedConnection},
    error::{self, judge},
    settings::{DatabaseServer, TlsMode},
    socket,
    table::Table,
    tcp, tls,
};
use crate::{Context, DeliveryError, http::Confidential, status::shortened};

/// Longest that connecting may take.
const CONNECT: Duration = Duration::from_secs(5);
/// How long an idle connection stays open.
const IDLE: Duration = Duration::from_secs(60);
/// The lock under which tables are made: thousands of nodes may find that they are missing at one moment.
const LOCK: i64 = 0x6770_7564_0001;

/// A database with at most one connection.
#[derive(Debug)]
pub struct Database {
    server: DatabaseServer,
    create_tables: bool,
    /// Whether the tables are there, as far as is known.
    tables_are_there: bool,
    idle: Arc<Mutex<IdleConnection>>,
    /// The password that was sent last, which no answer is shown with.
    password: Confidential,
}

/// The connection while no rows are written.
#[derive(Default)]
struct IdleConnection {
    client: Option<Client>,
    /// How often one was put here.
    count: u64,
}

impl std::fmt::Debug for IdleConnection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "IdleConnection({})", self.client.is_some())
    }
}

impl Database {
    /// Makes one that has not connected yet.
    pub fn new(server: DatabaseServer, create_tables: bool) -> Self {
        Self {
            server,
            create_tables,
            tables_are_there: false,
            idle: Arc::default(),
            password: Confidential::of_secrets([]),
        }
    }

    /// Returns a connection to a database that has these tables. It must be given back to [`Self::settle`]; one that is
    /// dropped instead, as when a delivery takes too long, is closed.
    ///
    /// # Errors
    /// [`DeliveryError`].
    pub async fn client(
        &mut self,
        tables: &[&Table],
        context: &Context,
    ) -> Result<Client, DeliveryError> {
        let idle = lock(&self.idle).client.take();
        let client = match idle.filter(|client| !client.is_closed()) {
            Some(client) => client,
            None => self.connect(context).await?,
        };
        if !self.tables_are_there {
            self.look_for(tables, &client).await?;
            self.tables_are_there = true;
        }
        Ok(client)
    }

    /// Takes a connection back, with what the last statement did.
    ///
    /// # Errors
    /// That of the statement.
    pub fn settle(&mut self, client: Client, done: Result<(), Error>) -> Result<(), DeliveryError> {
        if let Err(error) = &done {
            if error::is_about_tables(error) {
                self.tables_are_there = false;
            }
            // A refused value leaves the connection usable, and the next part of the batch follows at once.
            if error.as_db_error().is_none() || client.is_closed() {
                return Err(judge(error, &self.server.shown(), &self.password));
            }
        }
        self.keep(client);
        done.map_err(|error| judge(&error, &self.server.shown(), &self.password))
    }

    /// Leaves a connection open for a while.
    fn keep(&self, client: Client) {
        let count = {
            let mut idle = lock(&self.idle);
            idle.client = Some(client);
            idle.count = idle.count.wrapping_add(1);
            idle.count
        };
        let idle = Arc::downgrade(&self.idle);
        tokio::spawn(async move {
            tokio::time::sleep(IDLE).await;
            if let Some(idle) = idle.upgrade() {
                let mut idle = lock(&idle);
                if idle.count == count {
                    idle.client = None;
                }
            }
        });
    }

    async fn connect(&mut self, context: &Context) -> Result<Client, DeliveryError> {
        let server = &self.server;
        let mut config = Config::new();
        config
            .dbname(&server.database)
            .user(&server.user)
            .application_name("gpud");
        if let Some(password) = &server.password {
            let password = context.secret(password).await?;
            config.password(password.expose());
            self.password = Confidential::of_secrets([&password]);
        }
        let failed = |error: Error| judge(&error, &server.shown(), &self.password);
        // On a Unix socket there is nothing to encrypt, and the user of the server is known.
        let client = if server.is_socket() {
            config.ssl_mode(SslMode::Disable);
            let stream = socket::connect(server, context, CONNECT).await?;
            let stream = LimitedConnection::new(stream, ClearText::Allowed);
            let connected = config.connect_raw(stream, NoTls).await;
            let (client, connection) = connected.map_err(failed)?;
            drive(connection);
            client
        } else if server.tls == TlsMode::Disable {
            config.ssl_mode(SslMode::Disable);
            let stream = tcp::connect(server, context, CONNECT).await?;
            let stream = LimitedConnection::new(stream, ClearText::Refused);
            let connected = config.connect_raw(stream, NoTls).await;
            let (client, connection) = connected.map_err(failed)?;
            drive(connection);
            client
        } else {
            config.ssl_mode(SslMode::Require);
            let mut connector = tls::connector(server, context).await?;
            let stream = tcp::connect(server, context, CONNECT).await?;
            let tls = MakeTlsConnect::<TcpStream>::make_tls_connect(&mut connector, &server.host);
            let tls = tls.map_err(|error| {
                DeliveryError::transient(format!("{}: {error}", server.shown()))
            })?;
            let connected = config.connect_raw(stream, tls).await;
            let (client, connection) = connected.map_err(failed)?;
            drive(connection);
            client
        };
        // The server's limit is gpud's own, so that it gives up at the same time.
        let limit = context.timeout.as_millis();
        let limits = format!("SET statement_timeout = {limit}; SET lock_timeout = {limit}");
        client.batch_execute(&limits).await.map_err(failed)?;
        Ok(client)
    }

    async fn look_for(&self, tables: &[&Table], client: &Client) -> Result<(), DeliveryError> {
        let target = self.server.shown();
        let failed = |error: Error| judge_setup(&error, &target, &self.password);
        for table in tables {
            if table.exists(client).await.map_err(failed)? {
                continue;
            }
            if !self.create_tables {
                let name = table.name();
                return Err(DeliveryError::transient(format!(
                    "{target}: there is no table {name}, and create_tables is false; make it as in \
                     docs/exports-postgres.md"
                )));
            }
            let create = table.create();
            let made = client
                .batch_execute(&format!(
                    "BEGIN; SELECT pg_advisory_xact_lock({LOCK}); {create} COMMIT;"
                ))
                .await;
            if let Err(error) = made {
                // Whatever it says: the transaction is over.
                let _ = client.batch_execute("ROLLBACK").await;
                return Err(failed(error));
            }
        }
        Ok(())
    }
}

/// Judges an error that came before any row was sent: no record is to blame.
fn judge_setup(error: &Error, target: &str, password: &Confidential) -> DeliveryError {
    match judge(error, target, password) {
        DeliveryError::Refused { message, .. } => DeliveryError::transient(message),
        transient => transient,
    }
}

/// Runs a connection until its client is dropped, or the server ends it.
fn drive<E: std::fmt::Display>(connection: impl Future<Output = Result<(), E>> + Send + 'static) {
    tokio::spawn(async move {
        if let Err(error) = connection.await {
            let error = shortened(&error.to_string());
            tracing::debug!("a connection to PostgreSQL ended: {error}");
        }
    });
}

fn lock(idle: &Mutex<IdleConnection>) -> MutexGuard<'_, IdleConnection> {
    idle.lock().unwrap_or_else(PoisonError::into_inner)
}
