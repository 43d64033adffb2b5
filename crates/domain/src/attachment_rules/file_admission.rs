//! How many files a lead and a request may have, and that no two share a name.

use std::collections::HashSet;

use super::{FileFault, FileName, MAX_FILES};

/// Admits the files of one request one by one, in addition to those that the lead already has (specification,
/// "POST …/attachments": at most five a request, at most five a lead over all requests, no name twice).
///
/// The store checks both again when it records the files, so that of two simultaneous requests with a fifth file one is
/// refused.
///
/// ```
/// use bidloop_domain::attachment_rules::{FileAdmission, FileName};
///
/// let attached = FileName::parse("offer.pdf")?;
/// let mut admission = FileAdmission::beside([&attached]);
/// admission.admit(&FileName::parse("portfolio.pdf")?)?;
/// assert!(admission.admit(&FileName::parse("OFFER.pdf")?).is_err());
/// # Ok::<(), bidloop_domain::attachment_rules::FileFault>(())
/// ```
#[derive(Debug)]
pub struct FileAdmission {
    keys: HashSet<String>,
}

impl FileAdmission {
    /// Starts a request's admission beside the files that the lead has.
    pub fn beside<'a>(attached: impl IntoIterator<Item = &'a FileName>) -> Self {
        Self {
            keys: attached.into_iter().map(FileName::comparison_key).collect(),
        }
    }

    /// Admits one more file.
    ///
    /// # Errors
    ///
    /// [`FileFault::TooManyFiles`] and [`FileFault::DuplicateName`].
    pub fn admit(&mut self, name: &FileName) -> Result<(), FileFault> {
        let held = self.keys.len();
        if held >= MAX_FILES {
            return Err(FileFault::TooManyFiles {
                name: name.as_str().to_owned(),
                held,
            });
        }
        if !self.keys.insert(name.comparison_key()) {
            return Err(FileFault::DuplicateName {
                name: name.as_str().to_owned(),
            });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(count: usize) -> Vec<FileName> {
        (0..count)
            .map(|n| FileName::parse(&format!("{n}.pdf")).unwrap())
            .collect()
    }

    #[test]
    fn a_lead_holds_five_files_over_all_requests() {
        for held in 0..=MAX_FILES {
            let all = names(MAX_FILES + 1);
            let mut admission = FileAdmission::beside(&all[..held]);
            for name in &all[held..MAX_FILES] {
                admission.admit(name).unwrap();
            }
            let fault = FileFault::TooManyFiles {
                name: "5.pdf".to_owned(),
                held: MAX_FILES,
            };
            assert_eq!(admission.admit(&all[MAX_FILES]), Err(fault));
        }
    }

    #[test]
    fn a_name_is_attached_once_whatever_its_case_or_spelling() {
        let attached = FileName::parse("Résumé.pdf").unwrap();
        let mut admission = FileAdmission::beside([&attached]);
        let again = FileName::parse("RE\u{301}SUME\u{301}.PDF").unwrap();
        let fault = FileFault::DuplicateName {
            name: again.as_str().to_owned(),
        };
        assert_eq!(admission.admit(&again), Err(fault));
        let new = FileName::parse("new.pdf").unwrap();
        admission.admit(&new).unwrap();
        assert!(admission.admit(&new).is_err());
    }
}
