//! What a provider wants back with the reasoning, as a run keeps it: the dialect's name and its items.

use bonded_kernel::Text;
use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};

#[derive(Serialize, Deserialize)]
struct Signed<'a> {
    dialect: &'a str,
    #[serde(borrow)]
    items: Vec<&'a RawValue>,
}

/// The items as [`Reply::signed`](bonded_kernel::Reply::signed) has them; `None` where there are none.
pub(super) fn write<T: Serialize>(dialect: &str, items: &[T]) -> Option<String> {
    if items.is_empty() {
        return None;
    }
    let raw: Result<Vec<Box<RawValue>>, _> = items.iter().map(to_raw_value).collect();
    let raw = raw.ok()?;
    let items = raw.iter().map(AsRef::as_ref).collect();
    serde_json::to_string(&Signed { dialect, items }).ok()
}

/// The items that this dialect wrote. Those of another one mean nothing here.
pub(super) fn items<'a>(dialect: &str, signed: Option<&'a Text>) -> Vec<&'a RawValue> {
    let read = signed.and_then(|text| serde_json::from_str::<Signed<'a>>(text).ok());
    let own = read.filter(|signed| signed.dialect == dialect);
    own.map(|signed| signed.items).unwrap_or_default()
}
