//! Compresses the files of the app and writes the table that `lib.rs` includes: no tool but cargo is needed.

use std::error::Error;
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;

/// What browsers load. The declarations beside the vendored modules are for the type checker alone.
const SERVED: [&str; 5] = ["html", "css", "js", "svg", "woff2"];

fn main() -> Result<(), Box<dyn Error>> {
    let app = Path::new(&std::env::var("CARGO_MANIFEST_DIR")?).join("app");
    let out = PathBuf::from(std::env::var("OUT_DIR")?);
    println!("cargo:rerun-if-changed={}", app.display());
    let mut files = vec![];
    find(&app, &mut files)?;
    files.sort();
    let mut table = String::from("&[\n");
    for (index, file) in files.iter().enumerate() {
        let content = fs::read(file)?;
        let packed = out.join(format!("{index}.gz"));
        let mut encoder = GzEncoder::new(fs::File::create(&packed)?, Compression::best());
        encoder.write_all(&content)?;
        encoder.finish()?;
        let path = file.strip_prefix(&app)?.display().to_string();
        writeln!(
            table,
            "Asset {{ path: {path:?}, gzip: include_bytes!({packed:?}), tag: \"\\\"{:016x}\\\"\" }},",
            digest(&content)
        )?;
    }
    table.push_str("]\n");
    fs::write(out.join("assets.rs"), table)?;
    Ok(())
}

/// Every file that browsers load, below a directory.
fn find(dir: &Path, files: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in fs::read_dir(dir)? {
        let path = entry?.path();
        let extension = path.extension().and_then(|it| it.to_str());
        if path.is_dir() {
            find(&path, files)?;
        } else if extension.is_some_and(|it| SERVED.contains(&it)) {
            files.push(path);
        }
    }
    Ok(())
}

/// FNV-1a: it tells versions of our own files apart, and nobody gains by making two of them alike.
fn digest(content: &[u8]) -> u64 {
    content.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}
