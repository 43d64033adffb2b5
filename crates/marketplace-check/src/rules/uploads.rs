//! Uploading a file for a proposal.

use super::{Judgement, answered, broken, expect_status, made};
use crate::answer::Asked;
use crate::observed::Observed;
use crate::shape::{self, UPLOADED_FILE};

fn uploaded(asked: &Asked) -> Judgement {
    expect_status(asked, 201)?;
    let faults = shape::faults(&answered(asked)?.json(), UPLOADED_FILE);
    if faults.is_empty() {
        return Ok(());
    }
    broken("{\"id\": text}", format!("{}: {}", asked.call, faults.join("; ")))
}

pub(super) fn created(seen: &Observed) -> Judgement {
    uploaded(made(seen.uploads.first.as_ref(), seen)?)
}

pub(super) fn again(seen: &Observed) -> Judgement {
    let first = made(seen.uploads.first.as_ref(), seen)?;
    if uploaded(first).is_err() {
        return Err(super::not_tried(
            "the first upload failed: see attachments.created",
        ));
    }
    uploaded(made(seen.uploads.again.as_ref(), seen)?)
}

pub(super) fn without_file(seen: &Observed) -> Judgement {
    let asked = made(seen.uploads.without_file.as_ref(), seen)?;
    let status = answered(asked)?.status;
    // A marketplace that refuses every upload has said nothing about this one.
    if status.is_client_error() || uploaded(made(seen.uploads.first.as_ref(), seen)?).is_err() {
        return Ok(());
    }
    broken(
        format!("{} → 422 {{\"code\": \"invalid\", …}}", asked.call),
        asked.shown(),
    )
}
