//! The rules of files: names, declared types, content and sizes.
