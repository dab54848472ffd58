//! The images of a goal: those that flags name, and those that the goal itself names.
//!
//! A goal that is JSON names none: what looks like a path in it is data. Neither do the goals of a file.

use std::path::{Path, PathBuf};

use bonded_host::images;
use bonded_kernel::Image;

use crate::error::{CliError, Code};
use crate::settings::RunSetup;

/// Reads them, flags first.
pub(crate) fn of(
    files: &[PathBuf],
    asked: &str,
    prepared: &RunSetup,
) -> Result<Vec<Image>, CliError> {
    if prepared.takes_json() {
        return match files.is_empty() {
            true => Ok(vec![]),
            false => Err(CliError::new(
                Code::BadGoal,
                "this agent accepts only JSON, and an image was given",
            )),
        };
    }
    let mut read = vec![];
    for file in files {
        read.push(images::read(file).map_err(|error| refused(&error))?);
    }
    for named in images::named_in(asked, Path::new(&prepared.workplace.dir))
        .map_err(|error| refused(&error))?
    {
        if !read.contains(&named) {
            read.push(named);
        }
    }
    Ok(read)
}

/// Of a file of goals each is begun when there is a place for it: by then nobody is told of an image that is not there.
pub(crate) fn none_named(goal: &str) -> Result<(), CliError> {
    match images::names_any(goal) {
        false => Ok(()),
        true => Err(
            CliError::new(Code::BadGoal, "a goal of a file cannot name an image")
                .hint("run it alone: bonded run --image FILE GOAL"),
        ),
    }
}

/// Images belong to the goal that a run begins with.
pub(crate) fn none_in_a_next_goal(goal: &str) -> Result<(), CliError> {
    match images::names_any(goal) {
        false => Ok(()),
        true => Err(CliError::new(
            Code::BadGoal,
            "the next goal of a run cannot bring an image",
        )
        .hint("start a new run: bonded run --image FILE GOAL")),
    }
}

fn refused(error: &images::ImageError) -> CliError {
    let error = CliError::new(Code::BadGoal, bonded_host::with_causes(error));
    error.hint("an image is a PNG, JPEG, GIF or WebP file: --image FILE, or @FILE in the goal for one of the working directory")
}
