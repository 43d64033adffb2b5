//! The content types that are accepted and the extensions that go with each.

use std::fmt;

use strum::VariantArray;

use super::{FileFault, FileName};

/// An accepted content type (specification, "POST …/attachments").
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, VariantArray)]
pub enum ContentType {
    /// `application/pdf`
    Pdf,
    /// `image/png`
    Png,
    /// `image/jpeg`
    Jpeg,
    /// `image/gif`
    Gif,
    /// `image/webp`
    Webp,
    /// `application/msword`: a binary Word document
    Doc,
    /// `application/vnd.openxmlformats-officedocument.wordprocessingml.document`
    Docx,
    /// `application/zip`
    Zip,
    /// `text/plain`, which is UTF-8 here (decision A9)
    Text,
}

impl ContentType {
    /// Reads a `Content-Type` value: case and parameters such as `; charset=utf-8` do not matter.
    ///
    /// `None` for a type that is not accepted.
    ///
    /// ```
    /// use bidloop_domain::attachment_rules::ContentType;
    ///
    /// assert_eq!(ContentType::parse("Text/Plain; charset=UTF-8"), Some(ContentType::Text));
    /// assert_eq!(ContentType::parse("text/html"), None);
    /// ```
    pub fn parse(declared: &str) -> Option<Self> {
        let essence = declared.split(';').next().unwrap_or_default().trim();
        let mut types = Self::VARIANTS.iter().copied();
        types.find(|known| known.as_str().eq_ignore_ascii_case(essence))
    }

    /// The type that `declared` names, once it is known to agree with the file's extension (decision A9).
    ///
    /// # Errors
    ///
    /// [`FileFault::UnsupportedExtension`] and [`FileFault::UnsupportedType`] for what is not accepted,
    /// [`FileFault::ExtensionMismatch`] for a type and an extension that do not go together.
    ///
    /// ```
    /// use bidloop_domain::attachment_rules::{ContentType, FileName};
    ///
    /// let name = FileName::parse("Offer.PDF")?;
    /// assert_eq!(ContentType::declared(&name, "application/pdf")?, ContentType::Pdf);
    /// assert!(ContentType::declared(&name, "image/png").is_err());
    /// # Ok::<(), bidloop_domain::attachment_rules::FileFault>(())
    /// ```
    pub fn declared(file_name: &FileName, declared: &str) -> Result<Self, FileFault> {
        let name = || file_name.as_str().to_owned();
        let extension = file_name
            .extension()
            .map(str::to_ascii_lowercase)
            .unwrap_or_default();
        if !Self::VARIANTS.iter().any(|known| known.goes_with(&extension)) {
            return Err(FileFault::UnsupportedExtension { name: name() });
        }
        let Some(content_type) = Self::parse(declared) else {
            return Err(FileFault::UnsupportedType {
                name: name(),
                declared: declared.to_owned(),
            });
        };
        if !content_type.goes_with(&extension) {
            return Err(FileFault::ExtensionMismatch {
                name: name(),
                declared: content_type,
            });
        }
        Ok(content_type)
    }

    /// The type's name, without parameters.
    pub fn as_str(self) -> &'static str {
        self.names().0
    }

    /// The extensions that go with the type, in lower case and without the dot.
    pub fn extensions(self) -> &'static [&'static str] {
        self.names().1
    }

    const fn names(self) -> (&'static str, &'static [&'static str]) {
        match self {
            Self::Pdf => ("application/pdf", &["pdf"]),
            Self::Png => ("image/png", &["png"]),
            Self::Jpeg => ("image/jpeg", &["jpg", "jpeg"]),
            Self::Gif => ("image/gif", &["gif"]),
            Self::Webp => ("image/webp", &["webp"]),
            Self::Doc => ("application/msword", &["doc"]),
            Self::Docx => (
                "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
                &["docx"],
            ),
            Self::Zip => ("application/zip", &["zip"]),
            Self::Text => ("text/plain", &["txt"]),
        }
    }

    fn goes_with(self, lower_case_extension: &str) -> bool {
        self.extensions().contains(&lower_case_extension)
    }

    pub(super) fn extensions_in_words(self) -> String {
        let dotted: Vec<String> = self
            .extensions()
            .iter()
            .map(|extension| format!(".{extension}"))
            .collect();
        dotted.join(" or ")
    }

    pub(super) fn all_extensions() -> String {
        let extensions = Self::VARIANTS.iter().flat_map(|known| known.extensions());
        extensions.copied().collect::<Vec<_>>().join(", ")
    }

    pub(super) fn all_names() -> String {
        let names = Self::VARIANTS.iter().map(|known| known.as_str());
        names.collect::<Vec<_>>().join(", ")
    }
}

impl fmt::Display for ContentType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn declared(name: &str, content_type: &str) -> Result<ContentType, FileFault> {
        ContentType::declared(&FileName::parse(name).unwrap(), content_type)
    }

    #[test]
    fn every_accepted_type_goes_with_its_extensions_in_any_case_and_with_no_other() {
        for &content_type in ContentType::VARIANTS {
            for &other in ContentType::VARIANTS {
                for extension in other.extensions() {
                    for name in [
                        format!("a.{extension}"),
                        format!("A.B.{}", extension.to_ascii_uppercase()),
                    ] {
                        let expected = if content_type == other {
                            Ok(content_type)
                        } else {
                            Err(FileFault::ExtensionMismatch {
                                name: name.clone(),
                                declared: content_type,
                            })
                        };
                        assert_eq!(declared(&name, content_type.as_str()), expected);
                    }
                }
            }
        }
    }

    #[test]
    fn parameters_and_case_of_a_declared_type_do_not_matter() {
        for value in [
            "text/plain",
            "TEXT/plain;charset=utf-8",
            " text/plain ; charset=\"utf-8\"; format=flowed",
        ] {
            assert_eq!(ContentType::parse(value), Some(ContentType::Text), "{value}");
        }
    }

    #[test]
    fn a_type_that_is_not_accepted_is_refused() {
        for value in [
            "",
            ";",
            "text",
            "text/html",
            "text/plainer",
            "image/svg+xml",
            "image/jpg",
            "application/octet-stream",
            "application/x-msdownload",
            "application/pdf, text/html",
            "application/java-archive",
        ] {
            assert_eq!(
                declared("a.pdf", value),
                Err(FileFault::UnsupportedType {
                    name: "a.pdf".to_owned(),
                    declared: value.to_owned()
                })
            );
        }
    }

    #[test]
    fn any_other_extension_or_none_is_refused_whatever_the_type() {
        for name in [
            "a",
            "pdf",
            ".pdf",
            "a.",
            "a.pdf.",
            "a.pdf ",
            "a.xlsx",
            "a.pdf/b",
            "a.\u{ff50}df",
            "a.ｐｄｆ",
            "a.exe",
            "a.pdf.EXE",
            "a.jar",
            "a.ps1",
            "a.html",
            "a.docm",
        ] {
            assert_eq!(
                declared(name, "application/pdf"),
                Err(FileFault::UnsupportedExtension {
                    name: name.to_owned()
                })
            );
        }
    }
}
