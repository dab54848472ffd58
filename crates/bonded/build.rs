//! Makes the program smaller and its start shorter, by what the linker and the loader of this machine can do.

use std::env;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// Addresses that the loader adjusts when the program starts, packed: two megabytes less to read.
const PACK: &str = "-Wl,-z,pack-relative-relocs";

/// Functions that became the same code are kept once: half a megabyte. Nothing here compares the addresses of functions.
const FOLD: &str = "-Wl,--icf=all";

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let is_linux = env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("linux");
    let is_native = env::var_os("TARGET") == env::var_os("HOST");
    if !is_linux || !is_native {
        return;
    }
    if can_load_packed() {
        println!("cargo::rustc-link-arg-bins={PACK}");
    }
    // It takes longer to link so.
    if env::var("PROFILE").as_deref() == Ok("release") && can_link_with(FOLD) {
        println!("cargo::rustc-link-arg-bins={FOLD}");
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

/// Whether the linker that this build uses, whichever it is, takes an option: tried with an empty program.
fn can_link_with(option: &str) -> bool {
    let named = |name| env::var_os(name).map(PathBuf::from);
    let (Some(compiler), Some(place)) = (named("RUSTC"), named("OUT_DIR")) else {
        return false;
    };
    let empty = place.join("empty.rs");
    if std::fs::write(&empty, "fn main() {}").is_err() {
        return false;
    }
    let mut linker = OsString::from("linker=");
    let linker = named("RUSTC_LINKER").map(|it| {
        linker.push(it);
        linker
    });
    let flags = env::var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
    let linked = Command::new(compiler)
        .args(flags.split('\u{1f}').filter(|it| !it.is_empty()))
        .args(linker.iter().flat_map(|it| ["-C".as_ref(), it.as_os_str()]))
        .args(["-C", &format!("link-arg={option}"), "-o"])
        .args([place.join("empty"), empty])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    linked.is_ok_and(|it| it.success())
}
