//! What Bidloop talks about.

mod job_post;
mod merge;
mod number;
mod saved_filter;
mod suggestion;
mod timestamp;

pub use job_post::{
    ClientInfo, HourlyRange, JobAttachment, JobId, JobIdError, JobMetadata, JobPost, JobPostError, OpenJob,
    PaymentKind, Skill, VendorQualifications,
};
pub use merge::merge_patch;
pub use saved_filter::{
    Bounds, ClientConditions, FilterFault, FilterFile, IncludeExclude, MAX_LIST_VALUES, MAX_VALUE_CHARS,
    SavedFilter, SkillLists, VendorConditions, WhenUnknown,
};
pub(crate) use suggestion::closest;
pub use timestamp::Timestamp;
