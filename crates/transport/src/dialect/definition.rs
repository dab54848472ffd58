//! What makes a dialect: one value for each, which stands in its own module.

use bonded_kernel::{Accepts, Failure, ImageFormat, Reply, Request, Target, ThinkingForm};
use serde_json::value::RawValue;
use url::Url;

use super::Accumulate;
use super::fit::{Fitted, Rules};
use super::ids::IdForm;

/// A header's name and its value.
pub(crate) type Beta = (&'static str, &'static str);

/// Every kind of image that a run can hold.
pub(crate) const EVERY_IMAGE: [ImageFormat; 4] = [
    ImageFormat::Png,
    ImageFormat::Jpeg,
    ImageFormat::Gif,
    ImageFormat::Webp,
];

/// Everything that tells one dialect from the others. All of it is pure.
#[derive(Debug)]
pub(crate) struct Definition {
    /// What it is called in [`Reply::signed`], and in the log.
    pub(crate) name: &'static str,
    /// The body of a request, with its tools as they were rendered.
    pub(crate) encode: fn(&Request<'_>, Option<&RawValue>) -> Vec<u8>,
    /// Reads a whole reply.
    pub(crate) decode: fn(&[u8]) -> Result<Reply, Failure>,
    /// What puts a streamed reply together.
    pub(crate) accumulator: fn() -> Box<dyn Accumulate>,
    /// Tools as they stand in a body; the flag says whether they are marked for a cache.
    pub(crate) render_tools: fn(&[Fitted<'_>], bool) -> Box<RawValue>,
    /// What a tool must look like.
    pub(crate) tools: Rules,
    /// What the ids of calls must look like, where anything is demanded.
    pub(crate) call_ids: fn(&Accepts) -> Option<&'static IdForm>,
    /// The kinds of images that it has words for.
    pub(crate) images: &'static [ImageFormat],
    /// Where a request goes.
    pub(crate) completion_url: fn(&Target) -> Result<Url, Failure>,
    /// The address of another resource under an endpoint.
    pub(crate) resource_url: fn(&str, &[&str]) -> Result<Url, Failure>,
    /// Whether the address of a request names the model.
    pub(crate) address_names_model: bool,
    /// What is asked of a list of models that comes in pages, so that the first is no short one.
    pub(crate) models_query: Option<(&'static str, &'static str)>,
    /// Whether servers of one's own that speak it say how much their model takes in.
    pub(crate) tells_window: bool,
    /// The header in which the key is shown.
    pub(crate) key_header: &'static str,
    /// Headers that every request has.
    pub(crate) headers: &'static [(&'static str, &'static str)],
    /// The header that names what a request says that is not for everybody yet, and its value.
    pub(crate) beta: fn(&Accepts) -> Option<Beta>,
    /// Whether whoever runs a model reads what the same model signed elsewhere.
    pub(crate) reads_signed_elsewhere: bool,
    /// Takes away what it has no field for: nobody who speaks it accepts that.
    pub(crate) leave_out_unspoken: fn(&mut Accepts),
    /// The form of thinking that it has words for, in place of the one that a model has.
    pub(crate) spoken: fn(ThinkingForm) -> ThinkingForm,
    /// Whether it is a language of OpenAI's, of which a service may speak either.
    pub(crate) is_openai: bool,
}
