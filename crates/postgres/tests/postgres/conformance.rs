//! The store on a server does what every store does: as it is, with every append sent alone, and through a pooler.

use bonded_state::Store;
use bonded_testkit::each_store_case;
use bonded_testkit::pooler::Pooler;
use bonded_testkit::stores::{World, cases};

use crate::place::{Place, open};

/// A store that is opened with settings of its own.
struct Alone(Place);

/// A store whose every transaction may get another connection.
struct Pooled(Place, Pooler);

impl World for Place {
    fn open(&self) -> Box<dyn Store> {
        Box::new(self.open())
    }
}

impl World for Alone {
    fn open(&self) -> Box<dyn Store> {
        let address = self.0.database.address("app");
        let store = open(&format!("{address}&bonded_group_appends=no"));
        Box::new(store.expect("the store opens"))
    }
}

impl World for Pooled {
    fn open(&self) -> Box<dyn Store> {
        let store = open(&self.1.address(&self.0.database, "app"));
        Box::new(store.expect("the store opens"))
    }
}

async fn as_it_is() -> Option<Place> {
    Place::new().await
}

async fn alone() -> Option<Alone> {
    Place::new().await.map(Alone)
}

async fn pooled() -> Option<Pooled> {
    let place = Place::new().await?;
    let pooler = Pooler::start(place.database.server, "extra_float_digits")?;
    Some(Pooled(place, pooler))
}

macro_rules! tests {
    ($($case:ident)*) => {
        tests! { in server: as_it_is, $($case)* }
        tests! { in each_append_alone: alone, $($case)* }
        tests! { in pooler: pooled, $($case)* }
    };
    (in $world:ident: $open:ident, $($case:ident)*) => {
        mod $world {
            use super::*;
            $(
                #[tokio::test]
                async fn $case() {
                    if let Some(world) = $open().await {
                        cases::$case(&world).await;
                    }
                }
            )*
        }
    };
}

each_store_case!(tests);
