//! What the floor is told.

use std::path::PathBuf;

use crate::Fault;

#[derive(Debug, Default)]
pub(crate) struct Options {
    pub(crate) runs: usize,
    pub(crate) jobs: usize,
    pub(crate) base_url: String,
    pub(crate) db: PathBuf,
    /// Where the notes lie.
    pub(crate) dir: PathBuf,
    /// The body of a request of the program that is measured: the floor sends the same.
    pub(crate) like: PathBuf,
    /// Instead of the model that the request names.
    pub(crate) model: Option<String>,
    pub(crate) appends: Appends,
    /// End when the first answer has come.
    pub(crate) start: bool,
    /// Load this log and tell how long it took, and do nothing else.
    pub(crate) load: Option<PathBuf>,
}

/// How many bytes are appended when a run starts, after a reply, and after a tool's output.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Appends {
    pub(crate) start_bytes: usize,
    pub(crate) reply_bytes: usize,
    pub(crate) output_bytes: usize,
}

impl Default for Appends {
    fn default() -> Self {
        Self {
            start_bytes: 1200,
            reply_bytes: 450,
            output_bytes: 450,
        }
    }
}

impl Options {
    pub(crate) fn parse(mut words: impl Iterator<Item = String>) -> Result<Self, Fault> {
        let mut options = Self {
            runs: 1,
            jobs: 1,
            ..Self::default()
        };
        while let Some(word) = words.next() {
            if word == "--start" {
                options.start = true;
                continue;
            }
            let value = words
                .next()
                .ok_or_else(|| format!("{word} needs a value"))?;
            match word.as_str() {
                "--runs" => options.runs = value.parse()?,
                "--jobs" => options.jobs = value.parse()?,
                "--base-url" => options.base_url = value,
                "--db" => options.db = value.into(),
                "--dir" => options.dir = value.into(),
                "--like" => options.like = value.into(),
                "--model" => options.model = Some(value),
                "--appends" => options.appends = Appends::parse(&value)?,
                "--load" => options.load = Some(value.into()),
                _ => return Err(format!("{word} is not an option").into()),
            }
        }
        Ok(options)
    }
}

impl Appends {
    fn parse(text: &str) -> Result<Self, Fault> {
        let bytes: Vec<usize> = text.split(',').map(str::parse).collect::<Result<_, _>>()?;
        match bytes[..] {
            [start_bytes, reply_bytes, output_bytes] => Ok(Self {
                start_bytes,
                reply_bytes,
                output_bytes,
            }),
            _ => Err("--appends takes START,REPLY,OUTPUT in bytes".into()),
        }
    }
}
