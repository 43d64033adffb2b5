//! Attachment storage in a local folder or in S3.
