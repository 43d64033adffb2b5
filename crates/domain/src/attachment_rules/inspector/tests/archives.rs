//! ZIP archives: whole ones, and those that hold a program.

use super::*;

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
fn an_empty_archive_and_one_with_a_comment_pass() {
    assert!(inspect("a.zip", &zip(&[])).is_ok());
    assert!(inspect("a.zip", &zip_with_comment(&[("a.txt", b"a")], b"made by hand")).is_ok());
}
