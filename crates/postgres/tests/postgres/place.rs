//! A store of one test, on a database of its own.

use bonded_postgres::{Address, Initialised, PostgresStore, initialise};
use bonded_state::StoreError;
use bonded_testkit::postgres::{Database, PASSWORD, PostgresServer};
use bonded_testkit::proxy::Proxy;

pub(crate) struct Place {
    pub(crate) database: Database,
}

pub(crate) fn address(text: &str) -> Address {
    Address::read(text, None).expect("it is an address")
}

pub(crate) fn open(text: &str) -> Result<PostgresStore, StoreError> {
    PostgresStore::open(address(text), "beside".into())
}

impl Place {
    /// A database without a store; `None` where there is no server to be had.
    pub(crate) fn empty() -> Option<Self> {
        let database = PostgresServer::shared()?.database();
        Some(Self { database })
    }

    /// A store on a server of its own. Its processes end with the thread that started it.
    pub(crate) async fn on(server: PostgresServer) -> Self {
        let server: &'static PostgresServer = Box::leak(Box::new(server));
        let database = server.database();
        let place = Self { database };
        place.init().await.expect("the store can be made");
        place
    }

    /// A database with a store, which the user `app` may use.
    pub(crate) async fn new() -> Option<Self> {
        let place = Self::empty()?;
        place.init().await.expect("the store can be made");
        Some(place)
    }

    pub(crate) async fn init(&self) -> Result<Initialised, StoreError> {
        initialise(&address(&self.database.address("owner")), &["app".into()]).await
    }

    pub(crate) fn open(&self) -> PostgresStore {
        open(&self.database.address("app")).expect("the store opens")
    }

    /// With a lease of its own length.
    pub(crate) fn open_for(&self, lease_ms: u64) -> PostgresStore {
        let address = self.database.address("app");
        let opened = open(&format!("{address}&bonded_lease_ms={lease_ms}"));
        opened.expect("the store opens")
    }

    /// Its address behind a proxy.
    pub(crate) fn address_through(&self, proxy: &Proxy) -> String {
        let (port, name) = (proxy.port, &self.database.name);
        format!("postgres://app:{PASSWORD}@127.0.0.1:{port}/{name}")
    }

    pub(crate) fn sql(&self, sql: &str) -> String {
        self.database.sql(sql)
    }
}
