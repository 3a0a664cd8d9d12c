//! What only a store in files has to hold to.

use std::fs;

use super::*;
use crate::store::{
    State,
    contract::{ask, at, entry, lease},
};

fn open(folder: &Path) -> Result<Sqlite, StoreError> {
    Sqlite::open(&folder.join("queue.db"), Size(1 << 30), at(100))
}

fn large() -> Entry {
    let mut large = entry(&["a@example.com"]);
    large.message.rest = vec![b'x'; SMALL + 1].into();
    large
}

#[tokio::test]
async fn a_restart_finds_everything_and_doubts_what_was_leased() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path()).unwrap();
    let (small, large) = (entry(&["a@example.com"]), large());
    store.put(small.clone()).await.unwrap();
    assert_eq!(lease(&store, 0).await.id, small.id);
    store.put(large.clone()).await.unwrap();
    drop(store);
    let store = open(folder.path()).unwrap();
    let leases = store.lease(ask(100, 10)).await.unwrap();
    assert_eq!(leases.iter().map(|lease| lease.id).collect::<Vec<_>>(), [large.id, small.id]);
    assert_eq!(store.message(large.id).await.unwrap().unwrap(), large.message);
    let account = store.show(small.id).await.unwrap().unwrap();
    assert!(account.tries[0].1.ambiguous);
    assert_eq!(account.summary.state, State::Leased);
}

#[tokio::test]
async fn other_users_of_the_machine_cannot_read_mail() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path()).unwrap();
    let (small, large) = (entry(&["a@example.com"]), large());
    store.put(small).await.unwrap();
    store.put(large.clone()).await.unwrap();
    let body = format!("queue.db.bodies/{}", large.id);
    for name in ["queue.db", "queue.db-wal", "queue.db-shm", "queue.db.bodies", &body] {
        let mode = fs::metadata(folder.path().join(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0, "{name} has mode {mode:o}");
    }
}

#[tokio::test]
async fn a_start_removes_files_that_no_row_names_and_leaves_other_peoples() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path()).unwrap();
    let kept = large();
    store.put(kept.clone()).await.unwrap();
    drop(store);
    let bodies = folder.path().join("queue.db.bodies");
    let (orphan, half) = (Id::mint().to_string(), format!("{}.new", Id::mint()));
    for name in [orphan.as_str(), half.as_str(), "README"] {
        fs::write(bodies.join(name), "x").unwrap();
    }
    let store = open(folder.path()).unwrap();
    let mut names: Vec<String> =
        fs::read_dir(&bodies).unwrap().map(|one| one.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    assert_eq!(names, [kept.id.to_string(), "README".to_owned()]);
    assert_eq!(store.bodies.octets(), SMALL as u64 + 1);
}

#[tokio::test]
async fn the_file_of_a_body_goes_with_its_last_recipient() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path()).unwrap();
    let put = large();
    store.put(put.clone()).await.unwrap();
    let file = folder.path().join("queue.db.bodies").join(put.id.to_string());
    assert!(file.exists());
    store.order(put.id, Order::Delete(at(1))).await.unwrap();
    assert!(!file.exists());
    assert_eq!(store.bodies.octets(), 0);
}

#[tokio::test]
async fn a_second_process_is_kept_out() {
    let folder = tempfile::tempdir().unwrap();
    let _store = open(folder.path()).unwrap();
    assert!(matches!(open(folder.path()), Err(StoreError::Locked(path)) if path.ends_with("queue.db")));
}

#[tokio::test]
async fn a_newer_layout_and_a_foreign_database_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    drop(open(folder.path()).unwrap());
    let connection = Connection::open(folder.path().join("queue.db")).unwrap();
    connection.execute_batch("PRAGMA user_version = 99").unwrap();
    assert!(matches!(open(folder.path()), Err(StoreError::Newer { found: 99, .. })));
    let foreign = tempfile::tempdir().unwrap();
    let connection = Connection::open(foreign.path().join("queue.db")).unwrap();
    connection.execute_batch("CREATE TABLE mine (x)").unwrap();
    assert!(matches!(open(foreign.path()), Err(StoreError::Corrupt(_))));
    fs::write(foreign.path().join("text.db"), "no database at all, but long enough to look at".repeat(40)).unwrap();
    let text = Sqlite::open(&foreign.path().join("text.db"), Size(1), at(0));
    assert!(matches!(text, Err(StoreError::Corrupt(_))), "{text:?}");
}

#[tokio::test]
async fn a_queue_of_the_layout_before_dsn_is_brought_up_with_its_mail() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path()).unwrap();
    let put = entry(&["a@example.com"]);
    store.put(put.clone()).await.unwrap();
    drop(store);
    let connection = Connection::open(folder.path().join("queue.db")).unwrap();
    let new = [("message", "ret"), ("message", "envid"), ("recipient", "notify"), ("recipient", "orcpt")];
    for (table, column) in new {
        connection.execute_batch(&format!("ALTER TABLE {table} DROP COLUMN {column}")).unwrap();
    }
    let before: Vec<String> = columns(&connection);
    connection.execute_batch("PRAGMA user_version = 2").unwrap();
    let old = Connection::open_in_memory().unwrap();
    schema::STEPS[..2].iter().for_each(|step| old.execute_batch(step).unwrap());
    assert_eq!(before, columns(&old), "the layout of version 2");
    drop(connection);
    let store = open(folder.path()).unwrap();
    let lease = lease(&store, 0).await;
    assert_eq!((lease.id, lease.dsn), (put.id, put.dsn));
    assert_eq!((&lease.pending[0].address, &lease.pending[0].asked), (&put.recipients[0].address, &Default::default()));
    assert_eq!(store.message(put.id).await.unwrap().unwrap(), put.message);
}

/// Tables and columns of a database.
fn columns(connection: &Connection) -> Vec<String> {
    let text = "SELECT s.name || '.' || c.name FROM sqlite_schema s, pragma_table_info(s.name) c
        WHERE s.type = 'table' ORDER BY 1";
    let mut select = connection.prepare(text).unwrap();
    let names = select.query_map([], |row| row.get(0)).unwrap();
    names.map(Result::unwrap).collect()
}

#[tokio::test]
async fn beyond_its_size_the_store_is_full_and_keeps_what_it_has() {
    let folder = tempfile::tempdir().unwrap();
    let store = Sqlite::open(&folder.path().join("queue.db"), Size(400_000), at(0)).unwrap();
    let (first, second) = (large(), large());
    store.put(first.clone()).await.unwrap();
    let error = store.put(second.clone()).await.unwrap_err();
    assert!(matches!(error, StoreError::Full(_)));
    assert_eq!(error.reply().to_string(), "452 4.3.1 The queue is full; try again");
    assert!(store.show(second.id).await.unwrap().is_none());
    store.order(first.id, Order::Delete(at(1))).await.unwrap();
    store.put(second).await.unwrap();
}

#[tokio::test]
async fn what_cannot_be_written_now_is_refused_and_later_taken() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path()).unwrap();
    let first = entry(&["a@example.com"]);
    store.put(first.clone()).await.unwrap();
    let other = Connection::open(folder.path().join("queue.db")).unwrap();
    other.execute_batch("BEGIN EXCLUSIVE").unwrap();
    let second = entry(&["a@example.com"]);
    let error = store.put(second.clone()).await.unwrap_err();
    assert!(matches!(error, StoreError::Unavailable(_)));
    assert_eq!(error.reply().to_string(), "452 4.3.1 The queue cannot be written; try again");
    assert!(store.message(first.id).await.unwrap().is_some());
    other.execute_batch("ROLLBACK").unwrap();
    store.put(second).await.unwrap();
    assert_eq!(store.counts().await.unwrap().queued, 2);
}

#[tokio::test]
async fn on_a_full_disk_the_log_gives_back_the_room_that_it_once_took() {
    let folder = tempfile::tempdir().unwrap();
    let log = || fs::metadata(folder.path().join("queue.db-wal")).unwrap().len();
    // A folder of that name keeps the reserve from coming back, as a disk without room does.
    fs::create_dir(folder.path().join("queue.db.reserve")).unwrap();
    let store = open(folder.path()).unwrap();
    assert!(log() > 0);
    for _ in 0..2 {
        let refused = store.put(entry(&["a@example.com"])).await;
        assert!(matches!(refused, Err(StoreError::Full(_))), "{refused:?}");
    }
    assert_eq!(log(), 0);
    fs::remove_dir(folder.path().join("queue.db.reserve")).unwrap();
}

#[tokio::test]
async fn many_at_once_are_all_kept() {
    let folder = tempfile::tempdir().unwrap();
    let store = Arc::new(open(folder.path()).unwrap());
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..300 {
        let store = Arc::clone(&store);
        tasks.spawn(async move { store.put(entry(&["a@example.com", "b@example.com"])).await.unwrap() });
    }
    tasks.join_all().await;
    assert_eq!(store.counts().await.unwrap().queued, 300);
    assert_eq!(store.lease(ask(0, 1000)).await.unwrap().len(), 300);
}
