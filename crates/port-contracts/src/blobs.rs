//! The rules of `BlobStore`: blobs are stored whole or not at all (decisions A1 and A9).

use std::sync::Arc;

use bidloop_domain::port::{BlobError, BlobPath, BlobStore, StagedBlob};
use bytes::Bytes;
use futures::TryStreamExt;

use crate::fixture::at_once;

type Blobs = Arc<dyn BlobStore>;

fn path(text: &str) -> BlobPath {
    BlobPath::parse(text).unwrap()
}

async fn staged(blobs: &Blobs, pieces: &[&'static str]) -> Box<dyn StagedBlob> {
    let mut staged = blobs.stage().await.unwrap();
    for piece in pieces {
        staged.write(Bytes::from_static(piece.as_bytes())).await.unwrap();
    }
    staged
}

async fn publish(blobs: &Blobs, at: &BlobPath, pieces: &[&'static str]) {
    staged(blobs, pieces).await.publish(at).await.unwrap();
}

async fn pieces(blobs: &Blobs, at: &BlobPath) -> Result<Vec<Bytes>, BlobError> {
    blobs.read(at).await?.try_collect().await
}

async fn content(blobs: &Blobs, at: &BlobPath) -> Result<String, BlobError> {
    let bytes = pieces(blobs, at).await?.concat();
    Ok(String::from_utf8(bytes).unwrap())
}

pub async fn a_published_blob_is_read_as_it_was_written(blobs: Blobs) {
    let at = path("leads/ld_1/offer.pdf");
    publish(&blobs, &at, &["one ", "", "two\0", "three"]).await;
    for _ in 0..2 {
        assert_eq!(content(&blobs, &at).await.as_deref(), Ok("one two\0three"));
    }
}

pub async fn an_empty_blob_is_a_blob(blobs: Blobs) {
    let at = path("leads/ld_1/empty.txt");
    publish(&blobs, &at, &[]).await;
    assert_eq!(content(&blobs, &at).await.as_deref(), Ok(""));
}

pub async fn a_large_blob_is_read_in_pieces(blobs: Blobs) {
    let at = path("leads/ld_1/large.zip");
    let mut staging = blobs.stage().await.unwrap();
    // Twelve mebibytes: more than one part of a multipart upload.
    let mut written = Vec::new();
    for number in 0..192_u32 {
        let piece: Vec<u8> = number.to_le_bytes().repeat(16 * 1024);
        written.extend_from_slice(&piece);
        staging.write(piece.into()).await.unwrap();
    }
    staging.publish(&at).await.unwrap();
    let read = pieces(&blobs, &at).await.unwrap();
    assert!(
        read.iter().all(|piece| piece.len() <= written.len() / 2),
        "memory use would grow with the size"
    );
    assert!(read.concat() == written);
}

pub async fn nothing_is_visible_before_it_is_published(blobs: Blobs) {
    let at = path("leads/ld_1/offer.pdf");
    let staging = staged(&blobs, &["half"]).await;
    assert_eq!(content(&blobs, &at).await, Err(BlobError::NotFound));
    staging.publish(&at).await.unwrap();
    assert_eq!(content(&blobs, &at).await.as_deref(), Ok("half"));
}

pub async fn a_dropped_staging_leaves_nothing(blobs: Blobs) {
    let at = path("leads/ld_1/offer.pdf");
    drop(staged(&blobs, &["gone"]).await);
    assert_eq!(content(&blobs, &at).await, Err(BlobError::NotFound));
    publish(&blobs, &at, &["kept"]).await;
    assert_eq!(content(&blobs, &at).await.as_deref(), Ok("kept"));
}

pub async fn a_dropped_staging_leaves_what_was_there(blobs: Blobs) {
    let at = path("leads/ld_1/offer.pdf");
    publish(&blobs, &at, &["kept"]).await;
    drop(staged(&blobs, &["gone"]).await);
    assert_eq!(content(&blobs, &at).await.as_deref(), Ok("kept"));
}

pub async fn publishing_replaces_what_was_there(blobs: Blobs) {
    let at = path("leads/ld_1/offer.pdf");
    publish(&blobs, &at, &["a longer content"]).await;
    publish(&blobs, &at, &["short"]).await;
    assert_eq!(content(&blobs, &at).await.as_deref(), Ok("short"));
}

pub async fn two_stagings_do_not_mix(blobs: Blobs) {
    let (first_at, second_at) = (path("a/1"), path("a/2"));
    let (mut first, mut second) = (blobs.stage().await.unwrap(), blobs.stage().await.unwrap());
    for (one, two) in [("a", "x"), ("b", "y"), ("c", "z")] {
        first.write(Bytes::from_static(one.as_bytes())).await.unwrap();
        second.write(Bytes::from_static(two.as_bytes())).await.unwrap();
    }
    second.publish(&second_at).await.unwrap();
    first.publish(&first_at).await.unwrap();
    assert_eq!(content(&blobs, &first_at).await.as_deref(), Ok("abc"));
    assert_eq!(content(&blobs, &second_at).await.as_deref(), Ok("xyz"));
}

pub async fn a_path_may_have_folders_and_every_permitted_character(blobs: Blobs) {
    for (text, words) in [
        ("A-z_0.9", "one"),
        ("a/b/c/d-1.tar.gz", "two"),
        ("a/b/c/D-1.tar.gz", "three"),
    ] {
        publish(&blobs, &path(text), &[words]).await;
        assert_eq!(content(&blobs, &path(text)).await.as_deref(), Ok(words));
    }
    assert_eq!(
        content(&blobs, &path("a/b/c/d-1.tar.gz")).await.as_deref(),
        Ok("two")
    );
}

pub async fn what_was_never_published_is_not_found(blobs: Blobs) {
    publish(&blobs, &path("leads/ld_1/offer.pdf"), &["there"]).await;
    for absent in ["leads/ld_1/offer.pd", "leads/ld_2/offer.pdf", "offer.pdf"] {
        assert_eq!(content(&blobs, &path(absent)).await, Err(BlobError::NotFound));
    }
}

pub async fn a_deleted_blob_is_not_found(blobs: Blobs) {
    let (at, beside) = (path("leads/ld_1/offer.pdf"), path("leads/ld_1/rates.pdf"));
    publish(&blobs, &at, &["gone"]).await;
    publish(&blobs, &beside, &["kept"]).await;
    blobs.delete(&at).await.unwrap();
    assert_eq!(content(&blobs, &at).await, Err(BlobError::NotFound));
    assert_eq!(content(&blobs, &beside).await.as_deref(), Ok("kept"));
}

pub async fn deleting_what_is_not_there_is_no_error(blobs: Blobs) {
    let at = path("leads/ld_1/offer.pdf");
    assert_eq!(blobs.delete(&at).await, Ok(()));
    publish(&blobs, &at, &["gone"]).await;
    assert_eq!(blobs.delete(&at).await, Ok(()));
    assert_eq!(blobs.delete(&at).await, Ok(()));
}

async fn list(blobs: &Blobs, folder: &str) -> Vec<String> {
    let listed: Vec<BlobPath> = blobs.list(&path(folder)).try_collect().await.unwrap();
    let mut listed: Vec<String> = listed.iter().map(|path| path.as_str().to_owned()).collect();
    listed.sort();
    listed
}

pub async fn a_folder_lists_what_is_published_in_it_at_any_depth(blobs: Blobs) {
    assert_eq!(list(&blobs, "acme").await, [""; 0]);
    let inside = ["acme/ld_1/a.pdf", "acme/ld_1/b.tar.gz", "acme/ld_2/deep/c"];
    let outside = ["acme2/ld_1/a.pdf", "campaigns/acme/d", "acm", "ACME-1/e"];
    for text in inside.iter().chain(&outside) {
        publish(&blobs, &path(text), &["content"]).await;
    }
    let staging = staged(&blobs, &["not yet"]).await;
    assert_eq!(list(&blobs, "acme").await, inside);
    assert_eq!(list(&blobs, "acme/ld_2").await, inside[2..]);
    assert_eq!(list(&blobs, "campaigns").await, ["campaigns/acme/d"]);
    drop(staging);
}

pub async fn a_list_may_be_emptied_while_it_is_read(blobs: Blobs) {
    for number in 0..300 {
        publish(
            &blobs,
            &path(&format!("acme/ld_{}/{number}.txt", number % 7)),
            &["x"],
        )
        .await;
    }
    let mut listed = blobs.list(&path("acme"));
    let mut count = 0;
    while let Some(found) = listed.try_next().await.unwrap() {
        blobs.delete(&found).await.unwrap();
        count += 1;
    }
    assert_eq!(count, 300);
    assert_eq!(list(&blobs, "acme").await, [""; 0]);
}

pub async fn readers_see_one_whole_content_while_others_publish(blobs: Blobs) {
    const CONTENTS: [&str; 2] = ["aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "bbbbbbbbbb"];
    let at = path("leads/ld_1/offer.pdf");
    publish(&blobs, &at, &[CONTENTS[0]]).await;
    at_once(8, |number| {
        let (blobs, at) = (blobs.clone(), at.clone());
        async move {
            for round in 0..10 {
                if number < 2 {
                    publish(&blobs, &at, &[CONTENTS[(number + round) % 2]]).await;
                } else {
                    let read = content(&blobs, &at).await.unwrap();
                    assert!(CONTENTS.contains(&read.as_str()), "{read}");
                }
            }
        }
    })
    .await;
}
