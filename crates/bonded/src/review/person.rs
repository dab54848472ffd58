//! Who is at the keyboard.

use rustix::process::getuid;

/// The login name as the system has it, whatever the environment says; its number where it has none.
/// It is written to the log as the system's word, and proves nothing.
pub(crate) fn person() -> String {
    let uid = getuid().as_raw();
    let user = uzers::get_user_by_uid(uid);
    let name = user.map(|user| user.name().to_string_lossy().into_owned());
    name.unwrap_or_else(|| format!("uid {uid}"))
}
