//! Files that pages load: built in, named by their content, kept by browsers for ever.

use std::sync::LazyLock;

use axum::extract::Path;
use axum::response::{IntoResponse, Response};
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use sha2::{Digest as _, Sha256};

use super::error::PageError;

struct Asset {
    name: String,
    media_type: &'static str,
    bytes: &'static [u8],
}

impl Asset {
    fn new(stem: &str, extension: &str, media_type: &'static str, bytes: &'static [u8]) -> Self {
        use std::fmt::Write as _;
        let mut name = format!("{stem}-");
        for byte in Sha256::digest(bytes).iter().take(8) {
            // Writing to a string cannot fail.
            let _ = write!(name, "{byte:02x}");
        }
        let _ = write!(name, ".{extension}");
        Self {
            name,
            media_type,
            bytes,
        }
    }
}

static CSS: LazyLock<Asset> = LazyLock::new(|| {
    let bytes = include_bytes!("../../assets/holdpoint.css");
    Asset::new("holdpoint", "css", "text/css; charset=utf-8", bytes)
});
static SCRIPT: LazyLock<Asset> = LazyLock::new(|| {
    let bytes = include_bytes!("../../assets/holdpoint.js");
    Asset::new("holdpoint", "js", "text/javascript; charset=utf-8", bytes)
});
static ICON: LazyLock<Asset> = LazyLock::new(|| {
    let bytes = include_bytes!("../../assets/icon.svg");
    Asset::new("icon", "svg", "image/svg+xml", bytes)
});

/// The name of the style sheet.
pub(super) fn css() -> &'static str {
    &CSS.name
}

/// The name of the script.
pub(super) fn script() -> &'static str {
    &SCRIPT.name
}

/// The name of the icon.
pub(super) fn icon() -> &'static str {
    &ICON.name
}

pub(super) async fn get(Path(name): Path<String>) -> Result<Response, PageError> {
    let asset = [&CSS, &SCRIPT, &ICON]
        .into_iter()
        .find(|asset| asset.name == name)
        .ok_or(PageError::NotFound)?;
    let headers = [
        (CONTENT_TYPE, asset.media_type),
        (CACHE_CONTROL, "public, max-age=31536000, immutable"),
    ];
    Ok((headers, asset.bytes).into_response())
}

/// The address that browsers ask for by themselves.
pub(super) async fn favicon() -> Response {
    let headers = [
        (CONTENT_TYPE, ICON.media_type),
        (CACHE_CONTROL, "public, max-age=86400"),
    ];
    (headers, ICON.bytes).into_response()
}
