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
    let mut file = compound_scan::SIGNATURE.to_vec();
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
                let found = found.to_lowercase();
                assert!(found.contains(&what.to_lowercase()), "{found}, not {what}");
            }
            other => panic!("{name} holds {what}, but: {other:?}"),
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

/// The most memory that one file may take while it is judged.
const MAX_KEPT: usize = 512 * 1024;

#[test]
fn memory_does_not_grow_with_the_file() {
    let mut inspector = ContentInspector::new(ContentType::Zip, FileName::parse("a.zip").unwrap());
    let piece = [&zip(&[("a.txt", b"text")])[..], &vec![b'P'; 500_000]].concat();
    for _ in 0..50 {
        inspector.push(&piece).unwrap();
        let kept =
            inspector.zip.window.capacity() + inspector.text.open.capacity() + inspector.head.capacity();
        assert!(kept <= MAX_KEPT, "{kept}");
    }
}

#[test]
fn every_file_is_judged_in_time_that_grows_with_its_size_alone() {
    const SIZE: usize = 2 * 1_048_576;
    let repeated = |bytes: &[u8]| bytes.iter().copied().cycle().take(SIZE).collect::<Vec<u8>>();
    let entry = [b"PK\x01\x02".as_slice(), &[0xff; 42], b"a.txt"].concat();
    let files = [
        ("nothing of note", repeated(b"\x80")),
        ("marks alone", repeated(b"PK")),
        ("overlapping local headers", repeated(b"PK\x03\x04")),
        ("overlapping directory entries", repeated(b"PK\x01\x02")),
        ("directory entries with the longest names", repeated(&entry)),
        ("end records", repeated(b"PK\x05\x06")),
        ("boundaries", repeated(b"\r\n--")),
        ("white space", repeated(b" ")),
        ("characters of four bytes", repeated("𝄞".as_bytes())),
    ];
    let time = |content: &[u8]| {
        let started = std::time::Instant::now();
        let _ = inspect_in_pieces("a.zip", content, 16 * 1024);
        started.elapsed()
    };
    let plain = time(&files[0].1);
    for (what, content) in &files {
        let spent = time(content);
        assert!(
            spent < plain * 20,
            "{what}: {spent:?}, {plain:?} for nothing of note"
        );
    }
}

#[test]
fn a_program_is_refused_whatever_it_is_called() {
    let padded = |mark: &[u8]| [mark, &[0; 120]].concat();
    for program in [
        padded(b"\x7fELF\x02\x01\x01\0"),
        padded(b"MZ\x90\0\x03\0\0\0\x04\0\0\0\xff\xff"),
        padded(b"MZ\x90\0\x03\0\0\0WEBP"),
        padded(b"\xfe\xed\xfa\xce\0\0\0\x12"),
        padded(b"\xfe\xed\xfa\xcf\0\0\0\x12"),
        padded(b"\xce\xfa\xed\xfe\x07\0\0\0"),
        padded(b"\xcf\xfa\xed\xfe\x07\0\0\0"),
        padded(b"\xca\xfe\xba\xbe\0\0\0\x02"),
        padded(b"\xca\xfe\xba\xbe\0\0\0\x41"),
        padded(b"\0asm\x01\0\0\0"),
        padded(b"dex\n035\0"),
        padded(b"L\0\0\0\x01\x14\x02\0"),
        padded(b"MSCF\0\0\0\0"),
        padded(b"\x1bLua"),
    ] {
        for (name, _) in samples() {
            let verdict = inspect(name, &program);
            assert!(
                matches!(verdict, Err(FileFault::ContentMismatch { .. })),
                "{name} holds {program:?}: {verdict:?}"
            );
        }
    }
    assert_mismatch(
        "a.pdf",
        &padded(b"MZ\x90\0"),
        "application/vnd.microsoft.portable-executable",
    );
}

#[test]
fn a_text_that_begins_as_a_script_or_page_does_is_refused() {
    for (text, what) in [
        ("#!/bin/sh\nrm -rf /\n", "a script"),
        ("#! /usr/bin/env python3\n", "a script"),
        ("#!node", "a script"),
        ("<?php system('ls');", "a PHP script"),
        ("@echo off", "a batch script"),
        ("@ECHO OFF\r\ndel /q C:\\Temp\\*.*\r\n", "a batch script"),
        ("<!DOCTYPE html>\n<p>Hello", "an HTML page"),
        (
            "<!doctype HTML PUBLIC \"-//W3C//DTD HTML 4.01//EN\">",
            "an HTML page",
        ),
        ("<HTML>", "an HTML page"),
        ("<html lang=en>", "an HTML page"),
        ("<script>alert(1)</script>", "a script"),
        ("<script\nsrc=x>", "a script"),
        ("<svg onload=alert(1)>", "an SVG image"),
        ("<svg/onload=alert(1)>", "an SVG image"),
        ("<job id=\"a\"><script language=\"JScript\">", "a script"),
        ("<package>", "a script"),
        ("<job", "a script"),
    ] {
        let leading: [&[u8]; 5] = [
            b"",
            b"\xef\xbb\xbf",
            b"\r\n \t",
            b"\xef\xbb\xbf\n",
            b" \xef\xbb\xbf ",
        ];
        for leading in leading {
            assert_executable("a.txt", &[leading, text.as_bytes()].concat(), what);
        }
        assert_executable("a.pdf", text.as_bytes(), what);
        assert_executable("a.docx", text.as_bytes(), what);
    }
    let late = [&b"\xef\xbb\xbf"[..], &vec![b'\n'; 70_000], b"@echo off\r\n"].concat();
    assert_executable("a.txt", &late, "a batch script");
}

#[test]
fn a_text_is_not_refused_for_its_words() {
    for text in [
        "Start 50% now, 50% later",
        "Net 30 days",
        "Set expectations early and often.\nPause when needed.",
        "Echo Park, Los Angeles\n\nDear Sir or Madam,",
        "@echo offers a start on Monday",
        "@echo offline messages",
        "Dear client, <script> tags are what I remove.",
        "My offer:\n<html>\n<script>alert(1)</script>\n</html>",
        "# My offer\n\n## Scope\n\n- API\n- Console\n",
        "! #important",
        "<jobs> and <packages>",
        "<scripts> I wrote",
        "<b>Dear client</b>, hello",
        "<img src=x onerror=alert(1)>",
        "<?xml version=\"1.0\"?><offer/>",
        "alert(1);",
        "'use strict';\nconst fs = require('fs');\n",
        "function run() {\n  document.write('x');\n}\nrun();",
        "Get-ChildItem -Path C:\\ -Recurse | Remove-Item -Force",
        "Option Explicit\nDim x\n",
        "del /f /s /q C:\\*",
        "[InternetShortcut]\nURL=x",
        "import os\nprint(os.getcwd())\n",
        "MZ Consulting wrote this.",
        "GIF89a is a format, and so is RIFFxxxxWEBP.",
        "PK and I know each other well.",
        "{\n  \"name\": \"Ada\",\n  \"rate\": 90\n}\n",
    ] {
        for piece in [1, 5, 4096] {
            assert!(
                inspect_in_pieces("a.txt", text.as_bytes(), piece).is_ok(),
                "{text}"
            );
        }
    }
}

#[test]
fn an_archive_with_a_program_at_any_depth_is_refused() {
    for extension in [
        "exe", "com", "scr", "pif", "msi", "dll", "cpl", "bat", "cmd", "ps1", "vbs", "vbe", "jse", "wsf",
        "hta", "lnk", "jar",
    ] {
        for name in [
            format!("a.{extension}"),
            format!(".{}", extension.to_ascii_uppercase()),
            format!("one/two/three.v2.{extension}"),
            format!(
                "{}/Setup.{}",
                "deep/".repeat(3_000),
                extension.to_ascii_uppercase()
            ),
        ] {
            let archive = zip(&[("readme.txt", b"hello"), (&name, b"x"), ("z.txt", b"")]);
            let shown: String = name.chars().take(60).collect();
            assert_executable("a.zip", &archive, &shown);
        }
    }
}

#[test]
fn an_archive_of_source_code_and_documents_passes() {
    let archive = zip(&[
        ("src/main.js", b"alert(1)"),
        ("src/tool.py", b"#!/usr/bin/env python3"),
        ("install.sh", b"#!/bin/sh"),
        ("target/Main.class", b"\xca\xfe\xba\xbe"),
        ("index.html", b"<html>"),
        ("example.com/", b""),
        ("example.com/index.php", b"<?php"),
        ("exe", b""),
        ("notexe", b""),
        ("setup.exe.txt", b""),
        ("a.execute", b""),
        ("program.bin", b"\x7fELF"),
        ("project/META-INF/MANIFEST.MF", b""),
        ("META-INF/MANIFEST.MF.in", b""),
        ("word/media/vbaProject.bin.png", b"x"),
        ("notvbaProject.bin", b"x"),
    ]);
    assert!(inspect("a.zip", &archive).is_ok());
    let epub = zip(&[
        ("mimetype", b"application/epub+zip"),
        ("META-INF/container.xml", b"<c/>"),
    ]);
    assert!(inspect("a.zip", &epub).is_ok());
}

#[test]
fn a_java_archive_is_refused_wherever_it_poses() {
    for manifest in [
        "META-INF/MANIFEST.MF",
        "meta-inf/manifest.mf",
        "META-INF\\MANIFEST.MF",
    ] {
        let jar = zip(&[
            (manifest, b"Manifest-Version: 1.0"),
            ("com/acme/Main.class", b"\xca\xfe\xba\xbe"),
        ]);
        for name in ["a.zip", "a.docx", "a.pdf", "a.png", "a.txt", "a.doc"] {
            assert_executable(name, &jar, manifest);
        }
        for (name, host) in [("a.pdf", PDF), ("a.gif", GIF), ("a.jpg", JPEG)] {
            assert_executable(name, &[host, &jar].concat(), manifest);
            assert_executable(name, &[host, &jar, b"trailing bytes"].concat(), manifest);
        }
    }
}

#[test]
fn an_entry_across_any_border_of_pieces_and_windows_is_seen() {
    let long = format!("{}.exe", "n".repeat(65_000));
    for name in ["a.exe", &long] {
        for padding in [0, 65_535, 131_100, 200_000, 262_144] {
            let stored = vec![b'x'; padding];
            let archive = zip(&[("a.txt", &stored), (name, b"")]);
            assert_executable("a.zip", &archive, "entry");
        }
    }
}

#[test]
fn an_entry_is_seen_whether_or_not_the_directory_lists_it() {
    let hidden = zip(&[("a.exe", b"x")]);
    let directory = hidden.len() - 22 - 46 - "a.exe".len();
    let listed_only = zip(&[("a.txt", b"x"), ("b.txt", &hidden[directory..])]);
    assert_executable("a.zip", &listed_only, "a.exe");
    let local_only = zip(&[("a.txt", &hidden[..directory])]);
    assert_executable("a.zip", &local_only, "a.exe");
}

#[test]
fn a_damaged_archive_is_refused() {
    let whole = zip(&[("a.txt", b"one"), ("b.txt", b"two")]);
    let directory = whole.len() - 22 - 2 * (46 + 5);
    let spoiled = |at: usize, byte: u8| {
        let mut archive = whole.clone();
        archive[at] = byte;
        archive
    };
    for (archive, what) in [
        (b"PK\x03\x04".to_vec(), "a signature alone"),
        (whole[..whole.len() - 1].to_vec(), "cut off in its end record"),
        (whole[..directory].to_vec(), "without a directory"),
        ([&whole[..], b"x"].concat(), "with trailing bytes"),
        (spoiled(directory, b'Q'), "without the directory's first entry"),
        (spoiled(directory + 51, b'Q'), "with a gap in the directory"),
        (spoiled(directory + 28, 4), "with a wrong length in the directory"),
        (
            spoiled(whole.len() - 6, 1),
            "whose end names another start of the directory",
        ),
    ] {
        for name in ["a.zip", "a.docx"] {
            match inspect(name, &archive) {
                Err(FileFault::ContentMismatch { found, .. }) => assert_eq!(found, "a damaged ZIP archive"),
                other => panic!("{name} {what}: {other:?}"),
            }
        }
    }
}

#[test]
fn an_archive_in_the_zip64_format_passes() {
    let plain = zip(&[("a.txt", b"one")]);
    let (entries, end) = plain.split_at(plain.len() - 22);
    let mut end = end.to_vec();
    end[8..20].fill(0xff);
    let record = [&b"PK\x06\x06"[..], &44_u64.to_le_bytes(), &[0; 44]].concat();
    let locator = [&b"PK\x06\x07"[..], &[0; 16]].concat();
    assert!(inspect("a.zip", &[entries, &record, &locator, &end].concat()).is_ok());
    assert_mismatch(
        "a.zip",
        &[entries, &record[1..], &locator, &end].concat(),
        "damaged",
    );
}

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
fn a_pdf_may_begin_after_white_space_and_nothing_else() {
    assert!(inspect("a.pdf", &[b"\xef\xbb\xbf\r\n", PDF].concat()).is_ok());
    assert_mismatch("a.pdf", &[b"x\n", PDF].concat(), "damaged");
}

#[test]
fn text_is_utf_8_without_nul() {
    for good in ["a", "\u{feff}with a mark", "naïve café ☕ 提案"] {
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
    assert_mismatch("a.txt", b"text \x00", "NUL");
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
