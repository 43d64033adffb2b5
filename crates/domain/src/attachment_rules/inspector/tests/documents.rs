//! Documents and images: macros, and files of two formats at once.

use super::*;

#[test]
fn a_word_file_with_macros_is_refused() {
    const MACROS: &str = "vbaproject.bin";
    assert_executable("a.docx", &docx(&[("word/vbaProject.bin", b"x")]), MACROS);
    assert_executable("a.docx", &docx(&[("VBAPROJECT.BIN", b"x")]), MACROS);
    assert_executable("a.zip", &docx(&[("word\\vbaProject.bin", b"x")]), MACROS);
    assert_executable("a.zip", &zip(&[("xl/vbaProject.bin", b"x")]), MACROS);
    for storage in ["Macros", "MACROS", "VBA", "_VBA_PROJECT", "_VBA_PROJECT_CUR"] {
        let document = compound(&["Root Entry", "WordDocument", storage]);
        assert_executable("a.doc", &document, "macros");
    }
}

#[test]
fn a_word_document_that_speaks_of_macros_passes() {
    let mut document = compound(&["Root Entry", "WordDocument", "Macros and VBA"]);
    document.extend(
        "I write Macros and _VBA_PROJECT."
            .encode_utf16()
            .flat_map(u16::to_le_bytes),
    );
    assert!(inspect("a.doc", &document).is_ok());
}

#[test]
fn a_compound_file_of_another_program_is_no_word_document() {
    for stream in [
        "Workbook",
        "PowerPoint Document",
        "__properties_version1.0",
        "EncryptedPackage",
    ] {
        assert_mismatch("a.doc", &compound(&["Root Entry", stream]), "not a Word document");
    }
    let with_embedded = compound(&["Root Entry", "WordDocument", "ObjectPool", "Workbook"]);
    assert!(inspect("a.doc", &with_embedded).is_ok());
}

#[test]
fn a_word_document_has_content_types_and_a_word_folder_of_its_own() {
    assert_mismatch("a.docx", &zip(&[("word/document.xml", b"")]), "application/zip");
    assert_mismatch(
        "a.docx",
        &zip(&[("[Content_Types].xml", b""), ("xl/workbook.xml", b"")]),
        "application/zip",
    );
    assert_mismatch("a.docx", &zip(&[("inner.docx", &docx(&[]))]), "application/zip");
    assert!(inspect("a.zip", &zip(&[("inner.docx", &docx(&[]))])).is_ok());
    assert!(inspect("a.zip", &docx(&[])).is_ok());
}

#[test]
fn a_document_or_image_that_also_is_an_archive_is_refused() {
    for (name, host) in [
        ("a.pdf", PDF),
        ("a.png", PNG),
        ("a.jpg", JPEG),
        ("a.gif", GIF),
        ("a.webp", WEBP),
    ] {
        assert_mismatch(name, &[host, &zip(&[("a.txt", b"a")])].concat(), "also a ZIP");
        let with_comment = zip_with_comment(&[("a.txt", b"a")], &vec![b'c'; 60_000]);
        assert_mismatch(name, &[host, &with_comment].concat(), "also a ZIP");
    }
    assert!(
        inspect(
            "a.pdf",
            &[PDF, &zip(&[("a.txt", b"a")]), b"\nendstream\n%%EOF"].concat()
        )
        .is_ok()
    );
}

#[test]
fn a_pdf_may_begin_after_white_space_and_nothing_else() {
    assert!(inspect("a.pdf", &[b"\xef\xbb\xbf\r\n", PDF].concat()).is_ok());
    assert_mismatch("a.pdf", &[b"x\n", PDF].concat(), "damaged");
}
