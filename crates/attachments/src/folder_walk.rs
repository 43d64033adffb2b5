//! Walks through a folder of blobs, whose number does not matter: it holds one open folder a level.

use std::fs::{self, ReadDir};
use std::io;
use std::path::PathBuf;

use bidloop_domain::port::BlobPath;

/// How many blobs are looked for at once.
const AT_ONCE: usize = 256;

/// The rest of a walk.
#[derive(Debug)]
pub(crate) struct FolderWalk {
    root: PathBuf,
    /// The folder to begin with, until it was entered.
    first: Option<String>,
    /// The folders that are being read, each in the one before it, with their paths below the root.
    open: Vec<(String, ReadDir)>,
}

impl FolderWalk {
    /// A walk through the folder and the folders in it.
    pub(crate) fn new(root: PathBuf, folder: &BlobPath) -> Self {
        Self {
            root,
            first: Some(folder.as_str().to_owned()),
            open: Vec::new(),
        }
    }

    /// The next blobs; none at the end. Blocks.
    pub(crate) fn next_some(&mut self) -> io::Result<Vec<BlobPath>> {
        if let Some(first) = self.first.take() {
            self.enter(first)?;
        }
        let mut found = Vec::new();
        while found.len() < AT_ONCE
            && let Some((folder, entries)) = self.open.last_mut()
        {
            let Some(entry) = entries.next().transpose()? else {
                self.open.pop();
                continue;
            };
            // Files and folders with other names were put there by others.
            let name = entry.file_name();
            let Some(path) = name
                .to_str()
                .and_then(|name| BlobPath::parse(&format!("{folder}/{name}")))
            else {
                continue;
            };
            let kind = entry.file_type()?;
            if kind.is_dir() {
                self.enter(path.as_str().to_owned())?;
            } else if kind.is_file() {
                found.push(path);
            }
        }
        Ok(found)
    }

    /// A folder that does not exist has nothing in it.
    fn enter(&mut self, folder: String) -> io::Result<()> {
        match fs::read_dir(self.root.join(&folder)) {
            Ok(entries) => self.open.push((folder, entries)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }
}
