//! The store on a server does what every store does.

use bonded_state::Store;
use bonded_testkit::each_store_case;
use bonded_testkit::stores::{World, cases};

use crate::place::Place;

impl World for Place {
    fn open(&self) -> Box<dyn Store> {
        Box::new(self.open())
    }
}

macro_rules! tests {
    ($($case:ident)*) => {
        $(
            #[tokio::test]
            async fn $case() {
                if let Some(place) = Place::new().await {
                    cases::$case(&place).await;
                }
            }
        )*
    };
}

each_store_case!(tests);
