//! A refund, end to end: a shop, Holdpoint in front of it, and the people who decide.
//!
//! ```text
//! cargo run --release --example refunds                # try it in a browser, until Ctrl-C
//! cargo run --release --example refunds -- --headless  # the whole story by itself, over HTTP
//! ```
//!
//! * [`shop`]: the system that refunds are made in; knows nothing of Holdpoint.
//! * `holdpoint.json`: what Holdpoint is told about the shop.
//! * [`setup`]: the data folder and the people. [`house`]: Holdpoint, put together from its crates.
//! * [`tour`]: what is printed for a person to follow. [`story`]: the same and more, by itself.

mod client;
mod house;
mod report;
mod setup;
mod shop;
mod story;
mod tour;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use tokio::net::TcpListener;

use client::{Client, Failure};
use house::House;
use setup::Folder;

/// A shop, Holdpoint in front of it, and the people who decide, in one process.
#[derive(Parser)]
#[command(name = "refunds")]
struct Args {
    /// Play the whole story by itself, and exit with 1 if any promise is broken
    #[arg(long, conflicts_with = "serve_only")]
    headless: bool,
    /// Keep everything in this folder [default: holdpoint-refunds in the system's temporary folder]
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Where Holdpoint listens [default: 127.0.0.1:7070, or a free port where that one is taken]
    #[arg(long, value_name = "ADDR")]
    listen: Option<SocketAddr>,
    /// Where the shop listens [default: 127.0.0.1:7071, or a free port where that one is taken]
    #[arg(long, value_name = "ADDR")]
    shop: Option<SocketAddr>,
    /// Serve Holdpoint alone, for a shop that runs elsewhere
    #[arg(long, requires_all = ["data", "listen", "shop"])]
    serve_only: bool,
}

#[tokio::main]
async fn main() -> ExitCode {
    let args = Args::parse();
    let outcome = if args.headless {
        headless(&args).await
    } else if args.serve_only {
        serve_only(&args).await.map(|()| true)
    } else {
        interactive(&args).await.map(|()| true)
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            anstream::eprintln!("error: {error}");
            let mut cause = error.source();
            while let Some(error) = cause {
                anstream::eprintln!("  because: {error}");
                cause = error.source();
            }
            ExitCode::FAILURE
        }
    }
}

async fn listener(args: &Args) -> Result<TcpListener, Failure> {
    match args.listen {
        Some(address) => Ok(TcpListener::bind(address)
            .await
            .map_err(|error| format!("cannot listen on {address}: {error}"))?),
        None => Ok(setup::bind(7070).await?),
    }
}

/// Plays the story and prints what was found; on a fresh folder where none is named.
async fn headless(args: &Args) -> Result<bool, Failure> {
    let fresh = tempfile::Builder::new()
        .prefix("holdpoint-refunds-")
        .tempdir()?;
    let root = args.data.as_deref().unwrap_or(fresh.path());
    let listen = args.listen.unwrap_or(setup::free_address().await?);
    // Other shops of other folders may run on the usual port; this one has no folder to go on in.
    let shop = match (args.shop, &args.data) {
        (None, None) => Some(setup::free_address().await?),
        (named, _) => named,
    };
    let report = story::headless(root, TcpListener::bind(listen).await?, shop).await?;
    anstream::println!("{report}");
    Ok(report.holds())
}

/// Serves Holdpoint alone until it is stopped.
async fn serve_only(args: &Args) -> Result<(), Failure> {
    let root = args.data.clone().unwrap_or_default();
    let folder = Folder::open(&root)?;
    if let Some(shop) = args.shop {
        folder.write_tools(shop)?;
    }
    let house = House::open(&folder, listener(args).await?).await?;
    folder.cast(house.engine.identity()).await?;
    anstream::println!("listening on http://{}", house.address);
    tokio::signal::ctrl_c().await?;
    house.close().await
}

/// Sets the scene, prints what to do, and serves until Ctrl-C.
async fn interactive(args: &Args) -> Result<(), Failure> {
    let root = args
        .data
        .clone()
        .unwrap_or_else(|| std::env::temp_dir().join("holdpoint-refunds"));
    let folder = Folder::open(&root)?;
    let (_, shop_address) = setup::open_shop(&folder, args.shop).await?;
    let house = House::open(&folder, listener(args).await?).await?;
    let cast = folder.cast(house.engine.identity()).await?;
    let client = Client::new(format!("http://{}", house.address))?;
    let waiting = tour::submit_three(&client, &cast).await?;
    let links = tour::links(&house, &cast).await?;
    anstream::println!(
        "{}",
        tour::script(&house, shop_address, &root, &cast, &links, waiting)
    );
    tokio::signal::ctrl_c().await?;
    anstream::println!(
        "\nStopping. Start it again to go on where it was; everything is in {}.",
        root.display()
    );
    house.close().await
}
