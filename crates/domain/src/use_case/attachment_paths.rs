//! Where attachments lie in the blob store: an organization's uploads under `<organization>/<lead>/`, the files of its
//! campaigns under `campaigns/<organization>/`.
//!
//! An organization may have the id `campaigns`, so the folder alone does not tell whose a file is.

use crate::model::{AttachmentId, LeadId, OrganizationId};
use crate::port::BlobPath;

/// The folder of all campaigns' files.
const CAMPAIGNS: &str = "campaigns";

/// How many digits a SHA-256 has.
const DIGEST_LENGTH: usize = 64;

/// The path of an upload; `name` is a segment of a path. Uploads have paths of their own, whatever their content is.
pub(crate) fn of_upload(
    organization: &OrganizationId,
    lead: &LeadId,
    id: AttachmentId,
    name: &str,
) -> Option<BlobPath> {
    BlobPath::parse(&format!("{organization}/{lead}/{id}-{name}"))
}

/// The path of a campaign's file. Files with the same content share it.
pub(crate) fn of_campaign(organization: &OrganizationId, sha256: &str) -> String {
    format!("{CAMPAIGNS}/{organization}/{sha256}")
}

/// The folders in which the organization's files are, perhaps among those of others.
pub(crate) fn folders(organization: &OrganizationId) -> impl Iterator<Item = BlobPath> {
    let folders = [organization.to_string(), format!("{CAMPAIGNS}/{organization}")];
    folders.into_iter().filter_map(|folder| BlobPath::parse(&folder))
}

/// Whether a file of these folders is the organization's.
pub(crate) fn is_of(organization: &OrganizationId, path: &BlobPath) -> bool {
    let segments: Vec<&str> = path.as_str().split('/').collect();
    // The name of an upload has a hyphen.
    let is_digest = |name: &str| name.len() == DIGEST_LENGTH && name.bytes().all(|b| b.is_ascii_hexdigit());
    match segments[..] {
        [CAMPAIGNS, owner, name] if is_digest(name) => owner == organization.as_str(),
        [owner, ..] => owner == organization.as_str(),
        [] => false,
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;
    use crate::model::{CampaignId, JobId};

    fn organization(id: &str) -> OrganizationId {
        OrganizationId::parse(id).unwrap()
    }

    fn paths_of(id: &str) -> [BlobPath; 2] {
        let lead = LeadId::derive(
            &organization(id),
            &CampaignId::parse("camp").unwrap(),
            &JobId::parse("1").unwrap(),
        );
        let upload = of_upload(&organization(id), &lead, AttachmentId(Uuid::nil()), "offer.pdf");
        let file = BlobPath::parse(&of_campaign(&organization(id), &"0a".repeat(32)));
        [upload.unwrap(), file.unwrap()]
    }

    #[test]
    fn a_file_is_of_one_organization_whatever_their_ids_are() {
        let ids = ["acme", "acme2", "campaigns", "ld_1", &"0a".repeat(32)];
        for owner in ids {
            for path in paths_of(owner) {
                let owners: Vec<&str> = ids
                    .into_iter()
                    .filter(|id| {
                        let below =
                            |folder: BlobPath| path.as_str().starts_with(&format!("{}/", folder.as_str()));
                        folders(&organization(id)).any(below) && is_of(&organization(id), &path)
                    })
                    .collect();
                assert_eq!(owners, [owner], "{path:?}");
            }
        }
    }
}
