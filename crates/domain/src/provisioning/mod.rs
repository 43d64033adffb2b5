//! The provisioning file (contract section 3): what it may say, what is wrong with it, and which changes it
//! amounts to.
//!
//! Everything here is pure. A file is taken in three steps:
//!
//! 1. `Document::read` turns JSON into patches, one an entity, collecting every fault of shape;
//! 2. `plan` holds the patches against a snapshot of the store, collecting every fault that only the whole
//!    shows: what a new entity lacks, references, ids in use, what an active campaign needs (decision D1);
//! 3. the changes of the plan are committed by [`ApplyProvisioning`](crate::use_case::ApplyProvisioning), which
//!    also reads the attachments' content. Neither is done here.
//!
//! The steps' faults are reported together, so a fault of shape must not make others up: a field that is faulty
//! counts as given, with an unknown value.

mod campaign_needs;
mod document;
mod faults;
mod fields;
mod plan;
mod plan_campaign;
mod plan_entities;
mod plan_filter;
mod plan_needs;
mod reading;
mod reading_campaign;
mod report;
mod standing;
mod values;

#[cfg(test)]
pub(crate) mod tests;

pub(crate) use document::{AttachmentPatch, Document};
pub(crate) use faults::{Faults, path_to};
pub(crate) use plan::{PlanTools, plan};
pub use report::{EntityKind, GeneratedSecret, ProvisioningReport, ReportedEntity};
