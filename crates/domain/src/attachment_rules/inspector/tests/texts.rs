//! Texts: their encoding, and those that are scripts or pages.

use super::*;

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
