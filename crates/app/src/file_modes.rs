//! Who may read the files that the program creates.

/// Files that the process creates from now on are readable by their owner alone, whatever the umask was: they hold
/// tokens, letters and attachments.
pub(crate) fn keep_new_files_private() {
    #[cfg(unix)]
    rustix::process::umask(rustix::fs::Mode::RWXG | rustix::fs::Mode::RWXO);
}
