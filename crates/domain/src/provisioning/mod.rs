//! The provisioning file (contract section 3): its rules, its faults, and the changes that it leads to.
//!
//! Everything here is pure: no port is called, nothing is random. [`ApplyProvisioning`](crate::use_case::ApplyProvisioning)
//! takes a file in three steps:
//!
//! 1. `Lookups` lists what must be known to plan the file: the organizations in the store, the hashes of its passwords,
//!    random bytes for the keys that it leaves out, and the content of its attachments.
//! 2. `plan` merges every entry of the file over what the store holds and collects all faults. Some concern the file as a
//!    whole, such as an id that is in use or a missing requirement of an active campaign (decision D1).
//! 3. The changes of the plan are committed together.
//!
//! All faults are reported together, and one fault must not cause the report of others: a faulty field counts as given,
//! with an unknown value.

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
pub(crate) use peek::path_of_organization;
pub(crate) use plan::{Known, Plan, plan};
pub use records::{
    AccountRecord, CampaignRecord, FilterRecord, OrganizationRecord, ProvisioningChange, UserRecord,
    WebhookRecord,
};
pub use report::{EntityKind, GeneratedSecret, ProvisioningReport, ReportedEntity};
