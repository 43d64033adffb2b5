//! What is executable by its extension or by the first bytes of its content. Scripts are told by their text in
//! [`script`](super::script), code inside containers by [`zip_directory`](super::zip_directory) and
//! [`compound_file`](super::compound_file).

/// What a file with this extension (lower case, no dot) is, if it is known to be run, loaded or interpreted.
///
/// Any extension that is not accepted is refused all the same; this list is for the message.
pub(super) fn by_extension(extension: &str) -> Option<&'static str> {
    Some(match extension {
        "exe" | "com" | "scr" | "pif" | "cpl" | "dll" | "sys" | "ocx" | "msi" | "msp" | "msix" | "appx" => {
            "a Windows program"
        }
        "app" | "dmg" | "pkg" | "dylib" | "command" => "a macOS program",
        "so" | "elf" | "bin" | "run" | "deb" | "rpm" | "appimage" => "a Linux program",
        "apk" | "aab" | "dex" => "an Android program",
        "jar" | "war" | "ear" | "class" | "jnlp" => "a Java program",
        "wasm" => "a WebAssembly module",
        "bat" | "cmd" => "a batch script",
        "ps1" | "psm1" | "psd1" | "ps1xml" => "a PowerShell script",
        "vbs" | "vbe" | "vb" | "wsf" | "wsh" | "wsc" | "sct" => "a VBScript",
        "js" | "jse" | "mjs" | "cjs" => "a JavaScript",
        "html" | "htm" | "xhtml" | "mht" | "mhtml" | "hta" | "svg" | "chm" => "an HTML document",
        "sh" | "bash" | "zsh" | "csh" | "ksh" | "fish" | "py" | "pyc" | "pl" | "rb" | "php" | "lua"
        | "tcl" => "a script",
        "docm" | "dotm" | "xlsm" | "xltm" | "xlam" | "pptm" | "potm" | "ppsm" | "ppam" => {
            "an Office document with macros"
        }
        "lnk" | "url" | "desktop" | "reg" | "inf" | "scf" => "a shortcut or system setting",
        _ => return None,
    })
}

/// What the first bytes of a file say it is, if that is something executable.
///
/// `is_text` says that the whole file is UTF-8 without NUL: no such file is one of the formats whose marks are
/// plain letters, so a note on "MZ Consulting" is no program.
pub(super) fn by_content(head: &[u8], is_text: bool) -> Option<&'static str> {
    const UNMISTAKABLE: [(&[u8], &str); 13] = [
        (b"\x7fELF", "a Linux program (ELF)"),
        (b"\xfe\xed\xfa\xce", "a macOS program (Mach-O)"),
        (b"\xfe\xed\xfa\xcf", "a macOS program (Mach-O)"),
        (b"\xce\xfa\xed\xfe", "a macOS program (Mach-O)"),
        (b"\xcf\xfa\xed\xfe", "a macOS program (Mach-O)"),
        (b"\xbe\xba\xfe\xca", "a macOS program (universal Mach-O)"),
        (b"\xca\xfe\xba\xbf", "a macOS program (universal Mach-O)"),
        (b"\xbf\xba\xfe\xca", "a macOS program (universal Mach-O)"),
        (b"\0asm", "a WebAssembly module"),
        (b"dex\n0", "an Android program"),
        (b"\x4c\0\0\0\x01\x14\x02\0", "a Windows shortcut"),
        (b"\x1bLua", "a compiled script"),
        (b"#!", "a script (shebang)"),
    ];
    const LETTERS: [(&[u8], &str); 4] = [
        (b"MZ", "a Windows program (PE)"),
        (b"ZM", "a Windows program (MZ)"),
        (b"MSCF", "a Windows cabinet"),
        (b"ITSF", "a compiled HTML document"),
    ];
    if head.starts_with(b"\xca\xfe\xba\xbe") {
        // Java and universal Mach-O share the mark; a class file's version follows at 6, at least 45, where the
        // other holds its (small) number of architectures.
        let is_class = head
            .get(4..8)
            .is_none_or(|version| u16::from_be_bytes([version[2], version[3]]) >= 45);
        return Some(if is_class {
            "a Java class"
        } else {
            "a macOS program (universal Mach-O)"
        });
    }
    let letters: &[(&[u8], &str)] = if is_text { &[] } else { &LETTERS };
    UNMISTAKABLE
        .iter()
        .chain(letters)
        .find_map(|(mark, what)| head.starts_with(mark).then_some(*what))
}
