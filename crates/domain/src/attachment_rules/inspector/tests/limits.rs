//! The size of a file, and the memory and time that it takes to judge one.

use super::*;

/// The most memory that one file may take while it is judged.
const MAX_KEPT: usize = 512 * 1024;

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
