//! What a request carries: nothing, a JSON document, or a file on its way.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};

use crate::upload::{MultipartFile, UploadFault};

/// A request's body. Its length is always known, so no request is sent in chunks.
#[derive(Debug)]
pub(crate) enum RequestBody {
    /// Whole in memory; `None` once it was taken, or from the beginning for a request without one.
    Whole(Option<Bytes>),
    /// Streamed.
    File(Box<MultipartFile>),
}

impl RequestBody {
    pub(crate) const EMPTY: Self = Self::Whole(None);
}

impl Body for RequestBody {
    type Data = Bytes;
    type Error = UploadFault;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, UploadFault>>> {
        match self.get_mut() {
            Self::Whole(bytes) => Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes)))),
            Self::File(file) => file
                .poll_piece(cx)
                .map(|piece| piece.map(|piece| piece.map(Frame::data))),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Whole(bytes) => bytes.is_none(),
            Self::File(file) => file.remaining() == 0,
        }
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(match self {
            Self::Whole(bytes) => bytes.as_ref().map_or(0, |bytes| bytes.len() as u64),
            Self::File(file) => file.remaining(),
        })
    }
}
