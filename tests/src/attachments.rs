//! Where an installation keeps attachments: a folder of its own, or a prefix of its own in the bucket of the S3 server that
//! `tests/run` starts. Tests ask here what is stored, so that they hold for both.

use std::path::{Path, PathBuf};

use crate::bucket::{Access, Bucket};
use crate::database::optional;

/// Asks for a bucket (`s3`) instead of a folder.
const PLACE: &str = "BIDLOOP_TEST_ATTACHMENTS";

/// The place of one installation's attachments.
#[derive(Debug)]
pub enum Attachments {
    /// Below this folder.
    Folder(PathBuf),
    /// Below a prefix in the bucket.
    Bucket {
        /// As the test reaches it, with every right.
        bucket: Bucket,
        /// The first part of every key.
        prefix: String,
    },
}

impl Attachments {
    /// The place that the caller of the tests asks for, of the installation in this folder.
    pub(crate) fn create(folder: &Path) -> Self {
        match optional(PLACE).as_deref() {
            None | Some("folder") => Self::Folder(folder.join("attachments")),
            Some("s3") => Self::in_bucket(folder),
            Some(other) => panic!("{PLACE} must be `folder` or `s3`, not `{other}`"),
        }
    }

    /// A prefix in the bucket that no other installation has.
    pub(crate) fn in_bucket(folder: &Path) -> Self {
        let own = folder.file_name().unwrap().to_string_lossy();
        let prefix = format!(
            "attachments/{}-{}",
            std::process::id(),
            own.trim_start_matches('.')
        );
        let bucket = Bucket::of_the_tests(Access::Owner);
        Self::Bucket { bucket, prefix }
    }

    /// What `attachments.url` is to be set to.
    pub fn url(&self) -> String {
        match self {
            Self::Folder(folder) => format!("file:{}", folder.display()),
            Self::Bucket { bucket, prefix } => format!("s3://{}/{prefix}", bucket.name),
        }
    }

    /// The environment variables that the program needs to use it.
    pub(crate) fn variables(&self) -> Vec<(&'static str, String)> {
        match self {
            Self::Folder(_) => Vec::new(),
            Self::Bucket { .. } => Bucket::of_the_tests(Access::Program).variables(),
        }
    }

    /// The paths that begin with this folder, in order.
    #[track_caller]
    pub fn list(&self, folder: &str) -> Vec<String> {
        let (root, mut found) = match self {
            Self::Folder(root) => {
                let files = files_below(&root.join(folder)).into_iter();
                let files = files.map(|file| file.display().to_string()).collect::<Vec<_>>();
                (format!("{}/", root.display()), files)
            }
            Self::Bucket { bucket, prefix } => {
                (format!("{prefix}/"), bucket.keys(&format!("{prefix}/{folder}/")))
            }
        };
        for path in &mut found {
            path.drain(..root.len());
        }
        found.sort();
        found
    }

    /// Stores a file behind the program's back.
    #[track_caller]
    pub fn put(&self, path: &str, content: &str) {
        match self {
            Self::Folder(root) => {
                let file = root.join(path);
                std::fs::create_dir_all(file.parent().unwrap()).unwrap();
                std::fs::write(file, content).unwrap();
            }
            Self::Bucket { bucket, prefix } => bucket.put(&format!("{prefix}/{path}"), content),
        }
    }
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return Vec::new();
    };
    let paths = entries.map(|entry| entry.unwrap().path());
    paths
        .flat_map(|path| {
            if path.is_dir() {
                files_below(&path)
            } else {
                vec![path]
            }
        })
        .collect()
}
