//! Every rule on content, from both sides: what must pass passes, what must not is refused for the right reason.

use proptest::prelude::*;

use super::*;

type Verdict = Result<InspectedFile, FileFault>;

fn inspect_in_pieces(name: &str, content: &[u8], piece: usize) -> Verdict {
    let name = FileName::parse(name).unwrap();
    let extension = name.extension().unwrap().to_owned();
    let content_type = ContentType::ALL
        .into_iter()
        .find(|known| known.extensions().contains(&extension.as_str()));
    let mut inspector = ContentInspector::new(content_type.unwrap(), name);
    for piece in content.chunks(piece) {
        inspector.push(piece)?;
    }
    inspector.finish()
}

fn inspect(name: &str, content: &[u8]) -> Verdict {
    inspect_in_pieces(name, content, 8 * 1024)
}

/// A ZIP archive whose entries are stored, with central directory and end record.
fn zip(entries: &[(&str, &[u8])]) -> Vec<u8> {
    zip_with_comment(entries, b"")
}

fn zip_with_comment(entries: &[(&str, &[u8])], comment: &[u8]) -> Vec<u8> {
    let u16 = |n: usize| u16::try_from(n).unwrap().to_le_bytes();
    let u32 = |n: usize| u32::try_from(n).unwrap().to_le_bytes();
    let (mut file, mut directory) = (Vec::new(), Vec::new());
    for (name, content) in entries {
        let offset = file.len();
        let sizes = [
            &u32(0)[..],
            &u32(content.len()),
            &u32(content.len()),
            &u16(name.len()),
            &u16(0),
        ]
        .concat();
        file.extend(
            [
                b"PK\x03\x04\x14\0\0\0\0\0\0\0\0\0",
                sizes.as_slice(),
                name.as_bytes(),
                content,
            ]
            .concat(),
        );
        directory.extend([b"PK\x01\x02\x14\0\x14\0\0\0\0\0\0\0\0\0", sizes.as_slice()].concat());
        directory.extend([&[0; 10][..], &u32(offset), name.as_bytes()].concat());
    }
    let end = [u16(entries.len()), u16(entries.len())].concat();
    let place = [u32(directory.len()), u32(file.len())].concat();
    [
        &file,
        &directory,
        &b"PK\x05\x06\0\0\0\0"[..],
        &end,
        &place,
        &u16(comment.len()),
        comment,
    ]
    .concat()
}

fn docx(more: &[(&str, &[u8])]) -> Vec<u8> {
    let parts: [(&str, &[u8]); 3] = [
        ("[Content_Types].xml", b"<Types/>"),
        ("_rels/.rels", b"<R/>"),
        ("word/document.xml", b"<w:document/>"),
    ];
    zip(&[&parts, more].concat())
}

/// A compound file: a header of 512 bytes, padding, and a directory with these names.
fn compound(names: &[&str]) -> Vec<u8> {
    let mut file = compound_file::SIGNATURE.to_vec();
    file.resize(512 * 9, 0xff);
    for name in names {
        let mut entry: Vec<u8> = name.encode_utf16().flat_map(u16::to_le_bytes).collect();
        entry.resize(64, 0);
        entry.extend(u16::try_from(name.len() * 2 + 2).unwrap().to_le_bytes());
        entry.push(if *name == "Root Entry" { 5 } else { 2 });
        entry.resize(128, 0);
        file.extend(entry);
    }
    file
}

const PDF: &[u8] =
    b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n1 0 obj\n<</Type/Catalog>>\nendobj\ntrailer<</Root 1 0 R>>\n%%EOF\n";
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x06\0\0\0";
const JPEG: &[u8] = b"\xff\xd8\xff\xe0\0\x10JFIF\0\x01\x01";
const GIF: &[u8] = b"GIF89a\x01\0\x01\0\x80\0\0\0\0\0;";
const WEBP: &[u8] = b"RIFF\x1a\0\0\0WEBPVP8L\x0d\0\0\0";
const TEXT: &str = "Dear client,\n\nI have read your post — twice — and would like to help.\n";

fn samples() -> Vec<(&'static str, Vec<u8>)> {
    vec![
        ("a.pdf", PDF.to_vec()),
        ("a.png", PNG.to_vec()),
        ("a.jpg", JPEG.to_vec()),
        ("a.jpeg", JPEG.to_vec()),
        ("a.gif", GIF.to_vec()),
        ("a.webp", WEBP.to_vec()),
        ("a.doc", compound(&["Root Entry", "WordDocument", "1Table"])),
        ("a.docx", docx(&[])),
        (
            "a.zip",
            zip(&[
                ("portfolio/index.html", b"<html><script>x</script></html>"),
                ("a.js", b"alert(1)"),
            ]),
        ),
        ("a.txt", TEXT.as_bytes().to_vec()),
    ]
}

#[track_caller]
fn assert_executable(name: &str, content: &[u8], what: &str) {
    for piece in [1, 7, 4096, usize::MAX >> 1] {
        match inspect_in_pieces(name, content, piece.min(content.len())) {
            Err(FileFault::Executable { what: found, .. }) => {
                assert!(found.contains(what), "{found}, not {what}");
            }
            other => panic!("{name} is {what}, but: {other:?}"),
        }
    }
}

#[track_caller]
fn assert_mismatch(name: &str, content: &[u8], what: &str) {
    match inspect(name, content) {
        Err(FileFault::ContentMismatch { found, .. }) => assert!(found.contains(what), "{found}, not {what}"),
        other => panic!("{name} holds {what}, but: {other:?}"),
    }
}

#[test]
fn a_file_of_every_accepted_type_passes_with_its_size_and_digest() {
    for (name, content) in samples() {
        let expected = InspectedFile {
            size_bytes: content.len() as u64,
            sha256: hex::encode(Sha256::digest(&content)),
        };
        assert_eq!(inspect(name, &content), Ok(expected), "{name}");
    }
}

#[test]
fn content_of_another_accepted_type_is_refused() {
    for (name, _) in samples() {
        for (other, content) in samples() {
            let kind = |name: &str| name.split('.').nth(1).unwrap().replace("jpeg", "jpg");
            let is_archive_of_a_document = (kind(name).as_str(), kind(other).as_str()) == ("zip", "docx");
            if kind(name) != kind(other) && !is_archive_of_a_document {
                let verdict = inspect(name, &content);
                assert!(
                    matches!(verdict, Err(FileFault::ContentMismatch { .. })),
                    "{name} holds {other}: {verdict:?}"
                );
            }
        }
    }
}

#[test]
fn an_empty_file_is_refused() {
    assert_eq!(
        inspect("a.txt", b""),
        Err(FileFault::Empty {
            name: "a.txt".to_owned()
        })
    );
}

#[test]
fn a_file_of_25_mib_passes_and_one_byte_more_is_too_large() {
    let piece = vec![b'a'; 1_048_576];
    let mut inspector = ContentInspector::new(ContentType::Text, FileName::parse("a.txt").unwrap());
    for _ in 0..25 {
        inspector.push(&piece).unwrap();
    }
    let mut one_more = ContentInspector::new(ContentType::Text, FileName::parse("a.txt").unwrap());
    one_more.size = inspector.size;
    assert_eq!(inspector.finish().unwrap().size_bytes, MAX_FILE_BYTES);
    let fault = one_more.push(b"a").unwrap_err();
    assert!(fault.is_too_large(), "{fault:?}");
    assert_eq!(one_more.finish(), Err(fault));
}

#[test]
fn memory_does_not_grow_with_the_file() {
    let mut inspector = ContentInspector::new(ContentType::Zip, FileName::parse("a.zip").unwrap());
    let piece = [&zip(&[("a.txt", b"text")])[..], &vec![b'P'; 50_000]].concat();
    for _ in 0..100 {
        inspector.push(&piece).unwrap();
    }
    let kept = inspector.block.capacity() + inspector.text.bytes.capacity() + inspector.head.capacity();
    assert!(kept <= 4 * BLOCK, "{kept}");
}

#[test]
fn a_program_is_refused_wherever_it_poses() {
    let programs: [(&[u8], &str); 14] = [
        (b"\x7fELF\x02\x01\x01\0", "ELF"),
        (b"MZ\x90\0\x03\0\0\0\x04\0\0\0\xff\xff", "PE"),
        (b"\xfe\xed\xfa\xce\0\0\0\x12", "Mach-O"),
        (b"\xfe\xed\xfa\xcf\0\0\0\x12", "Mach-O"),
        (b"\xce\xfa\xed\xfe\x07\0\0\0", "Mach-O"),
        (b"\xcf\xfa\xed\xfe\x07\0\0\x01", "Mach-O"),
        (b"\xca\xfe\xba\xbe\0\0\0\x02", "Mach-O"),
        (b"\xbe\xba\xfe\xca\x02\0\0\0", "Mach-O"),
        (b"\xca\xfe\xba\xbf\0\0\0\x02", "Mach-O"),
        (b"\xca\xfe\xba\xbe\0\0\0\x41", "Java class"),
        (b"\0asm\x01\0\0\0", "WebAssembly"),
        (b"dex\n035\0", "Android"),
        (b"#!/bin/sh\nrm -rf /\n", "shebang"),
        (b"#! /usr/bin/env python3\n", "shebang"),
    ];
    for (name, _) in samples() {
        for (content, what) in programs {
            assert_executable(name, content, what);
        }
    }
}

#[test]
fn a_java_archive_is_refused_wherever_it_poses() {
    let jars = [
        zip(&[("META-INF/MANIFEST.MF", b"Manifest-Version: 1.0")]),
        zip(&[
            ("readme.txt", b"hello"),
            ("com/acme/Main.class", b"\xca\xfe\xba\xbe"),
        ]),
        zip(&[("meta-inf\\manifest.mf", b"")]),
    ];
    for jar in &jars {
        for name in ["a.zip", "a.docx", "a.pdf", "a.png", "a.txt", "a.doc"] {
            assert_executable(name, jar, "Java archive");
        }
        for (name, host) in [("a.pdf", PDF), ("a.gif", GIF), ("a.jpg", JPEG)] {
            assert_executable(name, &[host, jar].concat(), "Java archive");
            assert_executable(name, &[host, jar, b"trailing bytes"].concat(), "Java archive");
        }
    }
    assert_executable("a.docx", &docx(&[("x/Evil.CLASS", b"")]), "Java archive");
    assert_executable("a.zip", &zip(&[("AndroidManifest.xml", b"")]), "Android");
}

#[test]
fn an_entry_across_any_border_of_pieces_and_blocks_is_seen() {
    for padding in [
        BLOCK - 60,
        BLOCK - zip_directory::LOOKAHEAD - 3,
        2 * BLOCK - 20,
        3 * BLOCK + 1,
    ] {
        let stored = vec![b'x'; padding];
        assert_executable(
            "a.zip",
            &zip(&[("a.txt", &stored), ("A.class", b"")]),
            "Java archive",
        );
    }
}

#[test]
fn a_source_archive_that_only_resembles_a_java_archive_passes() {
    let sources = zip(&[
        ("project/META-INF/MANIFEST.MF.in", b""),
        ("src/Main.java", b"class Main {}"),
        ("first.classy", b""),
    ]);
    assert!(inspect("a.zip", &sources).is_ok());
    let epub = zip(&[
        ("mimetype", b"application/epub+zip"),
        ("META-INF/container.xml", b"<c/>"),
    ]);
    assert!(inspect("a.zip", &epub).is_ok());
}

#[test]
fn macros_inside_office_files_are_refused() {
    const MACROS: &str = "macros";
    assert_executable("a.docx", &docx(&[("word/vbaProject.bin", b"x")]), MACROS);
    assert_executable("a.zip", &docx(&[("word/VBAPROJECT.BIN", b"x")]), MACROS);
    assert_executable("a.zip", &zip(&[("xl/vbaProject.bin", b"x")]), MACROS);
    for storage in ["Macros", "_VBA_PROJECT", "_VBA_PROJECT_CUR", "VBA"] {
        assert_executable(
            "a.doc",
            &compound(&["Root Entry", "WordDocument", storage]),
            MACROS,
        );
    }
    let mut displaced = compound(&["Root Entry", "WordDocument"]);
    displaced.extend(b"odd");
    displaced.extend("_VBA_PROJECT".encode_utf16().flat_map(u16::to_le_bytes));
    assert_executable("a.doc", &displaced, MACROS);
}

#[test]
fn a_word_document_that_speaks_of_macros_passes() {
    let mut document = compound(&["Root Entry", "WordDocument"]);
    document.extend(
        "I write Macros and VBA."
            .encode_utf16()
            .flat_map(u16::to_le_bytes),
    );
    assert!(inspect("a.doc", &document).is_ok());
    assert!(inspect("a.docx", &docx(&[("word/media/vbaProject.bin.png", b"x")])).is_ok());
}

#[test]
fn a_compound_file_of_another_program_is_no_word_document() {
    assert_mismatch("a.doc", &compound(&["Root Entry", "Workbook"]), "Excel");
    assert_mismatch(
        "a.doc",
        &compound(&["Root Entry", "PowerPoint Document"]),
        "PowerPoint",
    );
    assert_mismatch(
        "a.doc",
        &compound(&["Root Entry", "__properties_version1.0"]),
        "Outlook",
    );
    assert!(
        inspect(
            "a.doc",
            &compound(&["Root Entry", "WordDocument", "ObjectPool", "Workbook"])
        )
        .is_ok()
    );

    let mut installer = compound(&["Root Entry"]);
    let class_id = installer.len() - 128 + 80;
    installer[class_id..class_id + 16].copy_from_slice(b"\x84\x10\x0c\0\0\0\0\0\xc0\0\0\0\0\0\0\x46");
    assert_executable("a.doc", &installer, "Installer");
}

#[test]
fn a_word_document_has_content_types_and_a_word_folder_of_its_own() {
    assert_mismatch("a.docx", &zip(&[("word/document.xml", b"")]), "ZIP");
    assert_mismatch(
        "a.docx",
        &zip(&[("[Content_Types].xml", b""), ("xl/workbook.xml", b"")]),
        "ZIP",
    );
    assert_mismatch("a.docx", &zip(&[("inner.docx", &docx(&[]))]), "ZIP");
    assert!(inspect("a.zip", &zip(&[("inner.docx", &docx(&[]))])).is_ok());
    assert!(inspect("a.zip", &docx(&[])).is_ok());
}

#[test]
fn an_empty_archive_and_one_with_a_comment_pass() {
    assert!(inspect("a.zip", &zip(&[])).is_ok());
    assert!(inspect("a.zip", &zip_with_comment(&[("a.txt", b"a")], b"made by hand")).is_ok());
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
fn a_document_or_image_that_also_is_a_page_or_script_is_refused() {
    assert_executable(
        "a.pdf",
        b"%PDF-1.4\n<html><SCRIPT>alert(1)</script>\n%%EOF",
        "hidden",
    );
    assert_executable("a.png", &[PNG, b"<script>alert(1)</script>"].concat(), "hidden");
    assert_executable("a.jpg", &[JPEG, b"<?php system($_GET[0]);"].concat(), "hidden");
    assert_executable("a.gif", b"GIF89a/*\0\0\0*/=1;alert(1)", "JavaScript");
    assert_executable("a.gif", b"GIF89a = 1; alert(1)", "JavaScript");
    assert_executable("a.webp", b"RIFF=1/*WEBP*/;alert(1)", "JavaScript");
}

#[test]
fn a_pdf_may_begin_after_white_space_and_nothing_else() {
    assert!(inspect("a.pdf", &[b"\xef\xbb\xbf\r\n", PDF].concat()).is_ok());
    assert_mismatch("a.pdf", &[b"x\n", PDF].concat(), "damaged");
}

#[test]
fn text_is_utf_8_without_nul() {
    for good in [
        "a",
        "\u{feff}with a mark",
        "naïve café ☕ 提案",
        "MZ Consulting wrote this.",
        "GIF89a is a format.",
    ] {
        for piece in 1..=4 {
            assert!(
                inspect_in_pieces("a.txt", good.as_bytes(), piece).is_ok(),
                "{good}"
            );
        }
    }
    let utf_16: Vec<u8> = "\u{feff}Hello"
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    let bad: [&[u8]; 7] = [
        b"a\0b",
        b"caf\xe9",
        b"cut \xe2\x98",
        b"\xc0\xaf",
        b"\xed\xa0\x80",
        b"\x80",
        &utf_16,
    ];
    for bad in bad {
        for piece in 1..=4 {
            let verdict = inspect_in_pieces("a.txt", bad, piece);
            assert!(
                matches!(verdict, Err(FileFault::ContentMismatch { .. })),
                "{bad:?}: {verdict:?}"
            );
        }
    }
    assert_mismatch("a.txt", b"{\\rtf1 \x00", "NUL");
}

#[test]
fn a_script_after_a_mark_and_much_white_space_is_still_a_script() {
    let text = [
        b"\xef\xbb\xbf".to_vec(),
        vec![b'\n'; 70_000],
        b"@echo off\r\ndel *.*\r\n".to_vec(),
    ]
    .concat();
    assert_executable("a.txt", &text, "batch");
}

#[test]
fn a_script_that_poses_as_a_document_is_called_a_script() {
    assert_executable("a.pdf", b"<!DOCTYPE html><html></html>", "HTML");
    assert_executable("a.docx", b"@echo off\r\n", "batch");
}

proptest! {
    #[test]
    fn the_verdict_does_not_depend_on_the_pieces(
        sample in 0..10_usize,
        tail in prop::collection::vec(any::<u8>(), 0..300),
        piece in 1..200_usize,
    ) {
        let (name, content) = samples().swap_remove(sample);
        let content = [content, tail].concat();
        prop_assert_eq!(inspect_in_pieces(name, &content, piece), inspect_in_pieces(name, &content, content.len()));
    }

    #[test]
    fn any_bytes_are_judged_without_a_panic(
        sample in 0..10_usize,
        content in prop::collection::vec(prop_oneof![Just(b'P'), Just(b'K'), 0..8_u8, any::<u8>()], 1..600),
    ) {
        let (name, _) = samples().swap_remove(sample);
        let size = content.len() as u64;
        if let Ok(file) = inspect(name, &content) {
            prop_assert_eq!(file.size_bytes, size);
        }
    }
}
