//! Every rule on content, from both sides: what must pass passes, what must not is refused for the right reason.

use proptest::prelude::*;
use strum::VariantArray;

use super::*;

mod archives;
mod documents;
mod limits;
mod texts;

type Verdict = Result<InspectedFile, FileFault>;

fn inspect_in_pieces(name: &str, content: &[u8], piece: usize) -> Verdict {
    let name = FileName::parse(name).unwrap();
    let extension = name.extension().unwrap().to_owned();
    let content_type = ContentType::VARIANTS
        .iter()
        .find(|known| known.extensions().contains(&extension.as_str()));
    let mut inspector = ContentInspector::new(*content_type.unwrap(), name);
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
