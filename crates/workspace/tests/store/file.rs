//! What only a file has.

use crate::common::world;

#[tokio::test]
async fn what_happened_cannot_be_changed_or_taken_away() {
    let world = world().await;
    world.add(1, "first", &"long ".repeat(1000)).await;
    let path = world.place.file();
    let file = rusqlite::Connection::open(path).expect("it opens");
    let table = [
        "UPDATE event SET body = '{}'",
        "DELETE FROM event",
        "INSERT OR REPLACE INTO event SELECT * FROM event WHERE row = 1",
        "UPDATE blob SET bytes = x''",
        "DELETE FROM blob",
        "INSERT OR REPLACE INTO blob (rowid, hash, packed, bytes) SELECT rowid, hash, 0, x'' FROM blob",
    ];
    for sql in table {
        let error = file.execute(sql, []).expect_err(sql);
        assert!(error.to_string().contains("append-only"), "{sql}: {error}");
    }
}
