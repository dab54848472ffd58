//! The web app: static files, embedded when the program is built. It knows no run, no store and no server.
//!
//! The files lie in `app/` as browsers load them: modules without a build step. What is embedded is compressed; a client
//! that takes no gzip is given the file itself.

use std::io::Read as _;

use flate2::read::GzDecoder;

/// A file of the app.
#[derive(Clone, Copy, Debug)]
pub struct Asset {
    /// Relative to the app's root, such as `src/main.js`.
    pub path: &'static str,
    /// Its content, compressed.
    pub gzip: &'static [u8],
    /// Another one for another content, in quotes, as an entity tag is written.
    pub tag: &'static str,
}

/// Sorted by path.
static ASSETS: &[Asset] = include!(concat!(env!("OUT_DIR"), "/assets.rs"));

/// The page that every address of the app begins with.
pub const INDEX: &str = "index.html";

/// Every file, in the order of their paths.
pub fn assets() -> &'static [Asset] {
    ASSETS
}

/// The file at a path.
pub fn asset(path: &str) -> Option<&'static Asset> {
    let found = ASSETS.binary_search_by(|asset| asset.path.cmp(path));
    found.ok().and_then(|at| ASSETS.get(at))
}

impl Asset {
    /// The file as it is on the disk.
    pub fn content(&self) -> Vec<u8> {
        let mut content = vec![];
        // What we compressed ourselves can be read.
        let _whole = GzDecoder::new(self.gzip).read_to_end(&mut content);
        content
    }

    /// What a browser takes it for; it is told not to guess.
    pub fn media_type(&self) -> &'static str {
        match self.path.rsplit_once('.').map_or("", |(_, end)| end) {
            "html" => "text/html; charset=utf-8",
            "css" => "text/css; charset=utf-8",
            "js" => "text/javascript; charset=utf-8",
            "svg" => "image/svg+xml",
            "woff2" => "font/woff2",
            _ => "application/octet-stream",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_is_found_and_is_what_lies_on_the_disk() {
        let app = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("app");
        assert!(asset(INDEX).is_some());
        for embedded in assets() {
            let found = asset(embedded.path).expect("the table is sorted");
            let file = std::fs::read(app.join(embedded.path)).expect("it can be read");
            assert_eq!(found.content(), file, "{}", embedded.path);
            assert_ne!(
                found.media_type(),
                "application/octet-stream",
                "{}",
                embedded.path
            );
        }
        assert!(asset("vendor/../index.html").is_none());
    }
}
