//! The example's story, played in this process: the real engine, log, web server and shop, over HTTP.

#[path = "../examples/refunds/client.rs"]
mod client;
#[path = "../examples/refunds/house.rs"]
mod house;
#[path = "../examples/refunds/report.rs"]
mod report;
#[path = "../examples/refunds/setup.rs"]
mod setup;
#[path = "../examples/refunds/shop/mod.rs"]
mod shop;
#[path = "../examples/refunds/story/mod.rs"]
mod story;

use client::Failure;

/// I25: at the end the shop's count of refunds is the engine's count of `succeeded`, line by line.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn i25_the_refunds_story_keeps_every_promise() -> Result<(), Failure> {
    let folder = tempfile::tempdir()?;
    let listener = setup::bind(0).await?;
    let shop = setup::free_address().await?;
    let report = story::headless(folder.path(), listener, Some(shop)).await?;
    assert!(report.holds(), "\n{report}");
    Ok(())
}
