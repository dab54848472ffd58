//! Compresses the OpenAPI document, which the program has for those who ask for it and is seventeen times as long as text.

use std::error::Error;
use std::fs;
use std::io::Write as _;
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;

const DOCUMENT: &str = "../../docs/openapi.json";

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-changed={DOCUMENT}");
    let content = fs::read(Path::new(&std::env::var("CARGO_MANIFEST_DIR")?).join(DOCUMENT))?;
    let packed = Path::new(&std::env::var("OUT_DIR")?).join("openapi.json.gz");
    let mut encoder = GzEncoder::new(fs::File::create(packed)?, Compression::best());
    encoder.write_all(&content)?;
    encoder.finish()?;
    Ok(())
}
