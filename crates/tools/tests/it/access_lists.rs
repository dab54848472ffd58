//! Access lists of files whose content is replaced: nobody gains or loses access by a write.

use std::io::Write as _;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use rustix::fs::{XattrFlags, lgetxattr, lsetxattr};
use rustix::io::Errno;
use serde_json::json;

use crate::world::World;

const ACCESS: &str = "system.posix_acl_access";
const DEFAULT: &str = "system.posix_acl_default";

/// A list as the kernel takes it: the owner, one user more, the group, what is granted at most, others.
fn list(user: u32, rights: u16) -> Vec<u8> {
    let nobody = u32::MAX;
    let entries = [
        (0x01_u16, 6_u16, nobody),
        (0x02, rights, user),
        (0x04, 4, nobody),
        (0x10, rights | 4, nobody),
        (0x20, 0, nobody),
    ];
    let mut bytes = 2_u32.to_le_bytes().to_vec();
    for (kind, rights, id) in entries {
        bytes.extend(kind.to_le_bytes());
        bytes.extend(rights.to_le_bytes());
        bytes.extend(id.to_le_bytes());
    }
    bytes
}

/// Whether the file system has access lists; where it has none, that is said.
fn set(path: &Path, name: &str, list: &[u8]) -> bool {
    match lsetxattr(path, name, list, XattrFlags::empty()) {
        Ok(()) => true,
        Err(Errno::NOTSUP) => {
            // Past what the test runner keeps to itself.
            let _ = writeln!(
                std::io::stderr(),
                "NOT TESTED: {} has no access lists",
                path.display()
            );
            false
        }
        Err(errno) => panic!("{}: {errno}", path.display()),
    }
}

fn get(path: &Path) -> Option<Vec<u8>> {
    let mut value = vec![0_u8; 1024];
    let size = lgetxattr(path, ACCESS, &mut value[..]).ok()?;
    value.truncate(size);
    Some(value)
}

fn mode(path: &Path) -> u32 {
    let about = std::fs::metadata(path).expect("it is there");
    about.permissions().mode() & 0o7777
}

/// Every way in which a file gets other content.
async fn change(world: &World) {
    let calls = [
        ("write", json!({ "path": "f", "content": "one two" })),
        ("edit", json!({ "path": "f", "old": "two", "new": "three" })),
        ("append", json!({ "path": "f", "content": "." })),
    ];
    for (tool, arguments) in calls {
        world.ok(tool, arguments).await;
    }
    assert_eq!(world.get("f"), "one three.");
}

#[tokio::test]
async fn the_list_of_a_file_stays_when_its_content_is_replaced() {
    let world = World::new();
    world.put("f", "old");
    let list = list(61_234, 6);
    if !set(&world.path("f"), ACCESS, &list) {
        return;
    }
    let before = mode(&world.path("f"));
    change(&world).await;
    assert_eq!(get(&world.path("f")), Some(list));
    assert_eq!(mode(&world.path("f")), before);
}

#[tokio::test]
async fn a_file_without_a_list_gets_none_from_its_directory_when_its_content_is_replaced() {
    let world = World::new();
    world.put("f", "old");
    let mode_before = PermissionsExt::from_mode(0o640);
    std::fs::set_permissions(world.path("f"), mode_before).expect("it is ours");
    if !set(&world.path(""), DEFAULT, &list(61_234, 6)) {
        return;
    }
    // Whatever is made there has the list of the directory.
    world.put("made", "");
    assert!(get(&world.path("made")).is_some());
    change(&world).await;
    assert_eq!(get(&world.path("f")), None);
    assert_eq!(mode(&world.path("f")), 0o640);
}
