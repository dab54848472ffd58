//! Packs the addresses that the loader adjusts when the program starts: two megabytes less to read.

use std::env;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let is_linux = env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("linux");
    let is_native = env::var_os("TARGET") == env::var_os("HOST");
    if is_linux && is_native && can_load_packed() {
        println!("cargo::rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
}

/// Loaders of the GNU C library do since 2.36; another library's or an older one would not start the program.
fn can_load_packed() -> bool {
    let Ok(answer) = Command::new("getconf").arg("GNU_LIBC_VERSION").output() else {
        return false;
    };
    let answer = String::from_utf8_lossy(&answer.stdout);
    let version = answer.trim().strip_prefix("glibc ").unwrap_or_default();
    let mut numbers = version.split('.').map_while(|it| it.parse::<u32>().ok());
    (numbers.next(), numbers.next()) >= (Some(2), Some(36))
}
