//! The setting `attachments.url`.

use std::path::PathBuf;

/// A parsed `attachments.url`.
///
/// ```
/// use bidloop_attachments::StorageUrl;
///
/// let url = StorageUrl::parse("s3://acme-files/bidloop/attachments")?;
/// assert_eq!(
///     url,
///     StorageUrl::Bucket { name: "acme-files".to_owned(), prefix: "bidloop/attachments".to_owned() }
/// );
/// assert_eq!(
///     StorageUrl::parse("file:bidloop-data/attachments")?,
///     StorageUrl::Folder("bidloop-data/attachments".into())
/// );
/// # Ok::<(), bidloop_attachments::StorageUrlError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StorageUrl {
    /// `file:folder`, relative to the working directory or absolute; `file:///folder` is absolute.
    Folder(PathBuf),
    /// `s3://bucket/prefix`; the prefix is optional.
    Bucket {
        /// The bucket's name.
        name: String,
        /// The first part of every key, without slashes at its ends; may be empty.
        prefix: String,
    },
}

/// Why an `attachments.url` is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StorageUrlError {
    /// It starts with neither `file:` nor `s3://`.
    #[error("must start with file: (a folder) or s3:// (a bucket)")]
    UnknownScheme,
    /// No folder follows `file:`.
    #[error("names no folder: write file:folder, file:/folder or file:///folder")]
    NoFolder,
    /// `file://host/…`.
    #[error("names a folder on another machine: write file:///folder, with three slashes")]
    RemoteFolder,
    /// No bucket follows `s3://`, or its name is not valid.
    #[error("names no bucket: write s3://bucket/prefix")]
    NoBucket,
    /// The prefix contains characters or segments that a key must not contain.
    #[error(
        "the prefix may contain only letters, digits, - _ . and /, and no segment that is empty, . or .."
    )]
    BadPrefix,
}

impl StorageUrl {
    /// Reads the setting.
    pub fn parse(url: &str) -> Result<Self, StorageUrlError> {
        if let Some(folder) = url.strip_prefix("file:") {
            return Self::folder(folder);
        }
        let place = url.strip_prefix("s3://").ok_or(StorageUrlError::UnknownScheme)?;
        let (name, prefix) = place.split_once('/').unwrap_or((place, ""));
        let is_of = |text: &str, more: &[char]| {
            text.chars()
                .all(|c| c.is_ascii_alphanumeric() || more.contains(&c))
        };
        if name.is_empty() || !is_of(name, &['-', '.', '_']) {
            return Err(StorageUrlError::NoBucket);
        }
        let prefix = prefix.trim_end_matches('/');
        let is_segment =
            |segment: &str| !matches!(segment, "" | "." | "..") && is_of(segment, &['-', '_', '.']);
        if !prefix.is_empty() && !prefix.split('/').all(is_segment) {
            return Err(StorageUrlError::BadPrefix);
        }
        Ok(Self::Bucket {
            name: name.to_owned(),
            prefix: prefix.to_owned(),
        })
    }

    fn folder(folder: &str) -> Result<Self, StorageUrlError> {
        let folder = match folder.strip_prefix("//") {
            None => folder,
            Some(place) => match place.strip_prefix("localhost").unwrap_or(place) {
                absolute if absolute.starts_with('/') => absolute,
                _ => return Err(StorageUrlError::RemoteFolder),
            },
        };
        if folder.is_empty() {
            return Err(StorageUrlError::NoFolder);
        }
        Ok(Self::Folder(PathBuf::from(folder)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_relative_or_absolute() {
        for (url, folder) in [
            ("file:data/files", "data/files"),
            ("file:./data", "./data"),
            ("file:../data", "../data"),
            ("file:/var/lib/x", "/var/lib/x"),
            ("file:///var/lib/x y", "/var/lib/x y"),
            ("file://localhost/var", "/var"),
        ] {
            assert_eq!(
                StorageUrl::parse(url),
                Ok(StorageUrl::Folder(folder.into())),
                "{url}"
            );
        }
    }

    #[test]
    fn a_bucket_may_have_a_prefix() {
        for (url, name, prefix) in [
            ("s3://files", "files", ""),
            ("s3://files/", "files", ""),
            ("s3://my.files-1/a/b_c/", "my.files-1", "a/b_c"),
        ] {
            let bucket = StorageUrl::Bucket {
                name: name.to_owned(),
                prefix: prefix.to_owned(),
            };
            assert_eq!(StorageUrl::parse(url), Ok(bucket), "{url}");
        }
    }

    #[test]
    fn anything_else_is_refused_with_its_reason() {
        for (url, error) in [
            ("", StorageUrlError::UnknownScheme),
            ("data/files", StorageUrlError::UnknownScheme),
            ("https://x.test/y", StorageUrlError::UnknownScheme),
            ("file:", StorageUrlError::NoFolder),
            ("file://server/share", StorageUrlError::RemoteFolder),
            ("file://", StorageUrlError::RemoteFolder),
            ("s3://", StorageUrlError::NoBucket),
            ("s3:///prefix", StorageUrlError::NoBucket),
            ("s3://user:secret@host/x", StorageUrlError::NoBucket),
            ("s3://files//x", StorageUrlError::BadPrefix),
            ("s3://files/../x", StorageUrlError::BadPrefix),
            ("s3://files/a?b", StorageUrlError::BadPrefix),
        ] {
            assert_eq!(StorageUrl::parse(url), Err(error), "{url}");
        }
    }
}
