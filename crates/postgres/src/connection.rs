//! Connections: how they are made, kept, and looked at once before they are used.

use std::sync::Arc;

use bonded_state::{ServerProblem, StoreError};
use deadpool_postgres::{Connect, Manager, ManagerConfig, Object, Pool, RecyclingMethod, Runtime};
use futures_util::future::BoxFuture;
use rustls::crypto::ring;
use rustls_platform_verifier::ConfigVerifierExt as _;
use tokio::sync::mpsc::UnboundedSender;
use tokio::task::JoinHandle;
use tokio_postgres::config::SslMode;
use tokio_postgres::{AsyncMessage, Client, Config, Connection, Error, NoTls, Row};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::address::{Acting, Address, MARK};
use crate::asking;
use crate::fault;
use crate::gathering;
use crate::pooling;
use crate::schema;

/// The oldest server that will do.
const VERSION_MIN: u32 = 14;

/// What the server calls the code that waits for a standby. Its words depend on the server's language.
const STANDBY_WAIT: &str = "SyncRepWaitForLSN";

const ABOUT: &str = "SELECT current_setting('server_version_num')::int / 10000, \
     pg_is_in_recovery(), current_setting('transaction_read_only'), \
     current_setting('synchronous_commit'), current_setting('fsync'), current_setting($1, true)";

/// What is done with the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ServerAccess {
    /// Runs are driven: what is acknowledged must be durable.
    All,
    /// It is only looked at, and a standby will do.
    Read,
}

/// Connections to one server, made when they are needed.
pub(crate) fn pool(address: &Address, size: usize, more: &str) -> Result<Pool, StoreError> {
    let config = ManagerConfig {
        recycling_method: RecyclingMethod::Fast,
    };
    let manager = Manager::from_connect(
        address.config(Acting::Application, more),
        Connector::new(address, Acting::Application)?,
        config,
    );
    let pool = Pool::builder(manager)
        .max_size(size)
        .runtime(Runtime::Tokio1)
        .build();
    pool.map_err(|_| StoreError::Closed {
        file: address.label().into(),
    })
}

/// A connection that was looked at.
pub(crate) async fn take(
    address: &Address,
    pool: &Pool,
    access: ServerAccess,
) -> Result<Object, StoreError> {
    let taken = pool.get().await;
    let connection = taken.map_err(|error| fault::of_pool(address, &error))?;
    let is_new = Object::metrics(&connection).recycle_count == 0;
    if is_new && let Err(error) = look(address, &connection, access).await {
        // It is not kept: the next one may lead to another server.
        drop(Object::take(connection));
        return Err(error);
    }
    Ok(connection)
}

/// One connection of the person who makes the store, outside of any pool.
pub(crate) async fn of_owner(address: &Address) -> Result<Client, StoreError> {
    let config = address.config(Acting::Owner, "");
    let made = Connector::new(address, Acting::Owner)?
        .connect(&config)
        .await;
    let (client, _task) = made.map_err(|error| fault::of(address, &error))?;
    let about = about(address, &client).await?;
    match is_our_own(&about) {
        true => check(address, &about, ServerAccess::All)?,
        false => {
            let why = "it drops the settings of a connection".into();
            return Err(address.problem(ServerProblem::Pooler { why }));
        }
    }
    Ok(client)
}

/// One connection that gives what other processes tell to the receiver, until either is dropped. What is wrong is said where
/// the other connections are made.
pub(crate) async fn listening(address: &Address, heard: UnboundedSender<String>) -> Option<Client> {
    let config = address.config(Acting::Application, "");
    let tls = tls_of(address).ok()?;
    let reached = reach(tls.as_ref(), &config, Some(heard)).await;
    reached.ok().map(|(client, _serving)| client)
}

async fn look(address: &Address, client: &Client, access: ServerAccess) -> Result<(), StoreError> {
    let mut found = about(address, client).await?;
    if !address.pooling.is_found() && !is_our_own(&found) {
        address.pooling.find();
        // As a statement of ours is carried out there.
        found = about(address, client).await?;
    }
    check(address, &found, access)?;
    schema::check(address, client).await
}

/// What the server says of itself and of the connection.
async fn about(address: &Address, client: &Client) -> Result<Row, StoreError> {
    let rows = asking::ask(address, client, ABOUT, &[&MARK]).await;
    let rows = rows.map_err(|error| fault::of(address, &error))?;
    let closed = || StoreError::Closed {
        file: address.label().into(),
    };
    rows.into_iter().next().ok_or_else(closed)
}

/// Whether the connection has what it began with.
fn is_our_own(about: &Row) -> bool {
    about.get::<_, Option<&str>>(5) == Some("1")
}

/// Refuses what could lose what it acknowledged.
fn check(address: &Address, about: &Row, access: ServerAccess) -> Result<(), StoreError> {
    let refuse = |problem| Err(address.problem(problem));
    let version: i32 = about.get(0);
    let (found, known) = (version.unsigned_abs(), VERSION_MIN);
    if found < known {
        return refuse(ServerProblem::OldServer { found, known });
    }
    if access == ServerAccess::Read {
        return Ok(());
    }
    if about.get(1) {
        let why = "it is a standby".into();
        return refuse(ServerProblem::ReadOnly { why });
    }
    if about.get::<_, &str>(2) == "on" {
        let why = "default_transaction_read_only = on".into();
        return refuse(ServerProblem::ReadOnly { why });
    }
    let (commit, sync): (&str, &str) = (about.get(3), about.get(4));
    let setting = match (commit, sync) {
        _ if address.allows_unsynced => None,
        (_, "off") => Some("fsync = off".to_owned()),
        ("on" | "remote_apply", _) => None,
        (weaker, _) => Some(format!("synchronous_commit = {weaker}")),
    };
    setting.map_or(Ok(()), |setting| {
        refuse(ServerProblem::Unsynced { setting })
    })
}

/// Trusts whom the system trusts.
fn tls(address: &Address) -> Result<MakeRustlsConnect, StoreError> {
    // An error says only that a provider is installed already, which serves as well.
    let _ = ring::default_provider().install_default();
    let config = rustls::ClientConfig::with_platform_verifier();
    let config = config.map_err(|error| {
        let why = format!("the certificates of this system cannot be read: {error}");
        address.problem(ServerProblem::Unreachable { why })
    })?;
    Ok(MakeRustlsConnect::new(config))
}

/// What encrypts, unless the address wants none.
fn tls_of(address: &Address) -> Result<Option<MakeRustlsConnect>, StoreError> {
    match address.pooled_config().get_ssl_mode() {
        SslMode::Disable => Ok(None),
        _ => tls(address).map(Some),
    }
}

async fn reach(
    tls: Option<&MakeRustlsConnect>,
    config: &Config,
    heard: Option<UnboundedSender<String>>,
) -> Result<(Client, JoinHandle<()>), Error> {
    match tls {
        Some(tls) => {
            let (client, connection) = config.connect(tls.clone()).await?;
            Ok((client, tokio::spawn(serve(connection, heard))))
        }
        None => {
            let (client, connection) = config.connect(NoTls).await?;
            Ok((client, tokio::spawn(serve(connection, heard))))
        }
    }
}

struct Connector {
    tls: Option<MakeRustlsConnect>,
    /// Where a pooler will do.
    pooled: Option<Address>,
}

impl Connector {
    fn new(address: &Address, acting: Acting) -> Result<Self, StoreError> {
        Ok(Self {
            tls: tls_of(address)?,
            pooled: (acting == Acting::Application).then(|| address.clone()),
        })
    }

    async fn reach(&self, config: &Config) -> Result<(Client, JoinHandle<()>), Error> {
        reach(self.tls.as_ref(), config, None).await
    }

    async fn reach_also_by_pooler(
        &self,
        config: &Config,
        address: &Address,
    ) -> Result<(Client, JoinHandle<()>), Error> {
        if !address.pooling.is_found() {
            match self.reach(config).await {
                Err(error) if pooling::refuses_settings(&error) => address.pooling.find(),
                done => return done,
            }
        }
        self.reach(&address.pooled_config()).await
    }
}

impl Connect for Connector {
    fn connect(&self, config: &Config) -> BoxFuture<'_, Result<(Client, JoinHandle<()>), Error>> {
        let config = config.clone();
        Box::pin(async move {
            match &self.pooled {
                Some(address) => self.reach_also_by_pooler(&config, address).await,
                None => self.reach(&config).await,
            }
        })
    }
}

/// Carries what is asked and answered, until the connection ends.
///
/// A wait for a standby that was cancelled is answered as a success, with a warning before it: what was appended is then
/// not known to be replicated. The connection is closed there, so that who appended must settle it.
async fn serve<S, T>(mut connection: Connection<S, T>, heard: Option<UnboundedSender<String>>)
where
    S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin,
    T: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin,
{
    while let Some(Ok(message)) =
        std::future::poll_fn(|context| connection.poll_message(context)).await
    {
        match (message, &heard) {
            (AsyncMessage::Notice(notice), _) if notice.routine() == Some(STANDBY_WAIT) => return,
            (AsyncMessage::Notification(told), Some(heard))
                if heard.send(told.payload().to_owned()).is_err() =>
            {
                return;
            }
            _ => {}
        }
    }
}

/// The pools of one server: see [`crate::server::Server`].
#[derive(Debug)]
pub(crate) struct Pools {
    pub(crate) work: Pool,
    /// A lease is renewed while all others wait.
    pub(crate) lease: Pool,
    /// Appends of several runs are made one group after the other.
    pub(crate) groups: Pool,
}

/// How many statements may be under way at once.
const WORK_CONNECTIONS: usize = 8;

impl Pools {
    pub(crate) fn new(address: &Address) -> Result<Arc<Self>, StoreError> {
        Ok(Arc::new(Self {
            work: pool(address, WORK_CONNECTIONS, "")?,
            lease: pool(address, 1, "")?,
            groups: pool(address, 1, gathering::SETTINGS)?,
        }))
    }
}
