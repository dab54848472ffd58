//! The stores of this crate do what every store does.

use bonded_state::{MemoryStore, SqliteStore, Store};
use bonded_testkit::each_store_case;
use bonded_testkit::stores::World;

struct Memory(MemoryStore);

impl World for Memory {
    fn open(&self) -> Box<dyn Store> {
        Box::new(self.0.another())
    }
}

struct Sqlite(tempfile::TempDir);

impl World for Sqlite {
    fn open(&self) -> Box<dyn Store> {
        let file = self.0.path().join("store.db");
        Box::new(SqliteStore::open(&file).expect("the store opens"))
    }
}

macro_rules! tests {
    ($($case:ident)*) => {
        mod memory {
            use bonded_testkit::stores::cases;
            $(
                #[tokio::test(start_paused = true)]
                async fn $case() {
                    cases::$case(&super::Memory(super::MemoryStore::new())).await;
                }
            )*
        }
        mod sqlite {
            use bonded_testkit::stores::cases;
            $(
                #[tokio::test]
                async fn $case() {
                    let dir = tempfile::tempdir().expect("a temporary directory");
                    cases::$case(&super::Sqlite(dir)).await;
                }
            )*
        }
    };
}

each_store_case!(tests);
