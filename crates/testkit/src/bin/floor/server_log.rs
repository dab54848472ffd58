//! The plainest durable log on a PostgreSQL server: the statements and the pool of the program that is measured.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use deadpool_postgres::{Manager, ManagerConfig, Pool, RecyclingMethod};
use tokio_postgres::{Config, NoTls};

use crate::Fault;

const CONNECTIONS: usize = 8;

const TABLES: &str = "CREATE SCHEMA IF NOT EXISTS floor; \
    CREATE TABLE IF NOT EXISTS floor.run (run bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, \
        id text COLLATE \"C\" NOT NULL UNIQUE, goal text NOT NULL); \
    CREATE TABLE IF NOT EXISTS floor.drive (run bigint PRIMARY KEY, epoch bigint NOT NULL, worker bigint, \
        head int NOT NULL, hash bytea NOT NULL); \
    CREATE TABLE IF NOT EXISTS floor.step (run bigint NOT NULL, first int NOT NULL, last int NOT NULL, \
        hash bytea NOT NULL, blobs bytea, body bytea NOT NULL, PRIMARY KEY (run, first))";

const START: &str = "WITH h AS (INSERT INTO floor.run (id, goal) VALUES ($1, '') RETURNING run), \
    d AS (INSERT INTO floor.drive (run, epoch, worker, head, hash) SELECT run, 1, 1, 1, $2 FROM h) \
    INSERT INTO floor.step (run, first, last, hash, body) SELECT run, 1, 1, $2, $3 FROM h RETURNING run";

const APPEND: &str = "WITH h AS (UPDATE floor.drive SET head = $2 + 1, hash = $3 \
        WHERE run = $1 AND head = $2 AND hash = $3 AND epoch = 1 RETURNING run) \
    INSERT INTO floor.step (run, first, last, hash, body) SELECT run, $2 + 1, $2 + 1, $3, $4 FROM h RETURNING run";

const HASH: &[u8] = &[7; 32];

pub(crate) struct ServerLog {
    pool: Pool,
    /// The key and the head of each run.
    heads: Mutex<HashMap<usize, (i64, i32)>>,
}

impl ServerLog {
    pub(crate) async fn open(address: &str) -> Result<Self, Fault> {
        let config: Config = address.parse()?;
        let recycling_method = RecyclingMethod::Fast;
        let manager = Manager::from_config(config, NoTls, ManagerConfig { recycling_method });
        let pool = Pool::builder(manager).max_size(CONNECTIONS).build()?;
        pool.get().await?.batch_execute(TABLES).await?;
        Ok(Self {
            pool,
            heads: Mutex::default(),
        })
    }

    /// Resolves when the body is durable.
    pub(crate) async fn append(&self, run: usize, body: Vec<u8>) -> Result<(), Fault> {
        let head = self.heads().get(&run).copied();
        let connection = self.pool.get().await?;
        let next = match head {
            None => {
                let id = format!("{}-{run}", std::process::id());
                let start = connection.prepare_cached(START).await?;
                let row = connection.query_one(&start, &[&id, &HASH, &body]).await?;
                (row.get(0), 1)
            }
            Some((key, head)) => {
                let append = connection.prepare_cached(APPEND).await?;
                let values: [&(dyn tokio_postgres::types::ToSql + Sync); 4] =
                    [&key, &head, &HASH, &body];
                connection.query_one(&append, &values).await?;
                (key, head + 1)
            }
        };
        self.heads().insert(run, next);
        Ok(())
    }

    fn heads(&self) -> std::sync::MutexGuard<'_, HashMap<usize, (i64, i32)>> {
        self.heads.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
