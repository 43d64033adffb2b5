//! Signatures of stored jobs.

use bidloop_domain::matching::JobSignature;
use bidloop_domain::port::StoredSignature;
use diesel::prelude::*;

use crate::schema::job_signatures;

/// A signature under the number of its job.
#[derive(Debug, Clone, Queryable, Selectable, Insertable)]
#[diesel(table_name = job_signatures)]
pub(crate) struct JobSignatureRow {
    pub(crate) seq: i64,
    pub(crate) signature: Vec<u8>,
}

impl JobSignatureRow {
    pub(crate) fn new(seq: i64, signature: &JobSignature) -> Self {
        Self {
            seq,
            signature: signature.to_bytes().to_vec(),
        }
    }

    /// None if it was stored by another version.
    pub(crate) fn into_stored_signature(self) -> Option<StoredSignature> {
        Some(StoredSignature {
            seq: self.seq,
            signature: JobSignature::from_bytes(&self.signature)?,
        })
    }
}
