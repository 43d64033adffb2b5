//! The provisioning file (contract section 3): what it may say, what is wrong with it, and which changes it leads to.
//!
//! Everything here is pure: no port is asked, nothing is random. [`ApplyProvisioning`](crate::use_case::ApplyProvisioning)
//! takes a file in three steps:
//!
//! 1. `Lookups` names what has to be known before the file can be planned: the organizations in the store, hashes
//!    of its passwords, random bytes for the keys that it leaves out, the content of its attachments;
//! 2. `plan` merges every entry of the file over what the store holds, and collects all faults: of shape, and those
//!    that only the whole shows, such as an id in use or what an active campaign needs (decision D1);
//! 3. the changes of the plan are committed together.
//!
//! All faults are reported together, so none may make others up: a field that is faulty counts as given, with an
//! unknown value.

mod attachments;
mod campaign;
mod current_state;
mod entities;
mod lookups;
mod organization;
mod peek;
mod plan;
mod reconcile;
mod records;
mod removals;
mod report;
mod requirements;
mod values;

#[cfg(test)]
pub(crate) mod tests;

pub(crate) use attachments::AttachmentEntry;
pub(crate) use lookups::{GivenPassword, Lookups, Provided};
pub(crate) use plan::plan;
pub use records::{
    AccountRecord, CampaignRecord, FilterRecord, OrganizationRecord, ProvisioningChange, UserRecord,
    WebhookRecord,
};
pub use report::{EntityKind, GeneratedSecret, ProvisioningReport, ReportedEntity};
