//! The example's story, played in this process: the real engine and log, and the shop.

#[path = "../examples/order_cancel/desk.rs"]
mod desk;
#[path = "../examples/order_cancel/shop.rs"]
mod shop;
#[path = "../examples/order_cancel/story.rs"]
mod story;
#[path = "../examples/order_cancel/workflow.rs"]
mod workflow;

/// An order is cancelled wholly or not at all, over restarts, whoever says no.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_order_is_cancelled_wholly_or_not_at_all() -> Result<(), desk::Failure> {
    let folder = tempfile::tempdir()?;
    let story = story::play(folder.path()).await?;
    assert!(story.holds, "\n{}", story.text);
    assert!(story.text.contains("take_back_refund"), "\n{}", story.text);
    Ok(())
}
