//! Reading an answer: bounded, and honest about what was left unread.
//!
//! Answers are not asked to be compressed and are not unpacked: a small body could become an endless one. The
//! bound is on what is read, so that a server that sends more is cut off and the model is told.

use reqwest::Response;
use reqwest::header::{CONTENT_ENCODING, CONTENT_TYPE, HeaderName};

use super::error::UNREACHABLE;
use crate::causes::causes;
use crate::fault::ToolFault;

/// No more of an answer is read.
pub(super) const BYTES_MAX: u64 = 10 * 1024 * 1024;

/// An answer as it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RestAnswer {
    pub(super) status: u16,
    /// Lower-case, without parameters; empty where the server says none.
    pub(super) content_type: String,
    /// Set where the server compressed what nobody asked it to.
    pub(super) encoding: Option<String>,
    pub(super) bytes: Vec<u8>,
    /// Whether there was more.
    pub(super) is_cut: bool,
}

impl RestAnswer {
    /// Reads at most `bytes_max` bytes. What lies beyond is never taken into memory.
    ///
    /// An answer of exactly `bytes_max` bytes is whole. One that breaks off is a fault, and what was read of it
    /// is dropped.
    pub(super) async fn read(mut response: Response, bytes_max: u64) -> Result<Self, ToolFault> {
        let mut answer = Self {
            status: response.status().as_u16(),
            content_type: content_type(&response),
            encoding: word(&response, &CONTENT_ENCODING).filter(|word| word != "identity"),
            bytes: vec![],
            is_cut: false,
        };
        let room = usize::try_from(bytes_max).unwrap_or(usize::MAX);
        while let Some(piece) = response.chunk().await.map_err(broken)? {
            let left = room - answer.bytes.len();
            answer
                .bytes
                .extend_from_slice(&piece[..piece.len().min(left)]);
            if piece.len() > left {
                answer.is_cut = true;
                break;
            }
        }
        Ok(answer)
    }
}

fn content_type(response: &Response) -> String {
    let whole = word(response, &CONTENT_TYPE).unwrap_or_default();
    let kind = whole.split(';').next().unwrap_or_default();
    kind.trim().to_owned()
}

/// A header in lower case.
fn word(response: &Response, name: &HeaderName) -> Option<String> {
    let value = response.headers().get(name)?;
    let text = String::from_utf8_lossy(value.as_bytes()).to_lowercase();
    Some(text.trim().to_owned()).filter(|text| !text.is_empty())
}

/// The URL stays out of the message: it may hold a secret.
pub(super) fn broken(error: reqwest::Error) -> ToolFault {
    let why = causes(&error.without_url());
    ToolFault::new(UNREACHABLE, format!("the answer broke off: {why}"))
}
