//! The shop's books, in one file that is always whole.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};

/// What a customer bought.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Order {
    /// Its number.
    pub(crate) id: String,
    /// Who bought it.
    pub(crate) customer_id: String,
    /// What it was.
    pub(crate) item: String,
    /// `paid` or `cancelled`.
    pub(crate) status: String,
    /// What it cost, in the smallest unit of the currency.
    pub(crate) total_minor: i64,
    /// What can still be refunded.
    pub(crate) refundable_minor: i64,
    /// An ISO 4217 code.
    pub(crate) currency: String,
    /// Counts its changes; the `ETag`.
    pub(crate) version: u64,
}

impl Order {
    /// An order that was paid and of which nothing was refunded yet.
    pub(crate) fn paid(id: &str, customer_id: &str, item: &str, total_minor: i64) -> Self {
        Self {
            id: id.to_owned(),
            customer_id: customer_id.to_owned(),
            item: item.to_owned(),
            status: "paid".to_owned(),
            total_minor,
            refundable_minor: total_minor,
            currency: "EUR".to_owned(),
            version: 1,
        }
    }

    /// The entity tag of this version.
    pub(crate) fn etag(&self) -> String {
        format!("\"{}-v{}\"", self.id, self.version)
    }
}

/// Money that went back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Refund {
    /// Its number.
    pub(crate) id: String,
    /// The key of the request that made it.
    pub(crate) key: String,
    /// The order.
    pub(crate) order: String,
    /// How much, in the smallest unit of the currency.
    pub(crate) amount_minor: i64,
}

/// A note on an order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Note {
    /// Its number.
    pub(crate) id: String,
    /// The key of the request that wrote it.
    pub(crate) key: String,
    /// The order.
    pub(crate) order: String,
    /// What it says.
    pub(crate) text: String,
}

/// The first answer to a key, given again to every repeat.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Answered {
    /// The request, to tell a repeat from another request under the same key.
    pub(crate) request: String,
    /// The status of the answer.
    pub(crate) status: u16,
    /// The body of the answer.
    pub(crate) body: serde_json::Value,
}

/// Everything the shop knows.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Books {
    /// Orders by number.
    pub(crate) orders: BTreeMap<String, Order>,
    /// Refunds in the order in which they were made.
    pub(crate) refunds: Vec<Refund>,
    /// Notes in the order in which they were written.
    pub(crate) notes: Vec<Note>,
    /// The answers by key.
    pub(crate) answers: BTreeMap<String, Answered>,
    /// How many complete requests to write something came in under each key, whatever became of them.
    pub(crate) calls: BTreeMap<String, u64>,
}

impl Books {
    /// How often something was done under a key.
    pub(crate) fn effects(&self, key: &str) -> usize {
        let refunds = self.refunds.iter().filter(|refund| refund.key == key);
        let notes = self.notes.iter().filter(|note| note.key == key);
        refunds.count() + notes.count()
    }

    /// How many refunds were made on an order.
    pub(crate) fn refunds_of(&self, order: &str) -> usize {
        self.refunds
            .iter()
            .filter(|refund| refund.order == order)
            .count()
    }
}

/// The books with their file.
pub(crate) struct Ledger {
    path: PathBuf,
    books: Mutex<Books>,
}

impl Ledger {
    /// Reads the books, or begins them with `orders` where there is no file yet.
    pub(crate) fn open(path: PathBuf, orders: Vec<Order>) -> io::Result<Self> {
        let books = match fs::read(&path) {
            Ok(bytes) => serde_json::from_slice(&bytes).map_err(|error| {
                let path = path.display();
                io::Error::new(
                    io::ErrorKind::InvalidData,
                    format!("{path} is not the shop's books: {error}"),
                )
            })?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Books {
                orders: orders
                    .into_iter()
                    .map(|order| (order.id.clone(), order))
                    .collect(),
                ..Books::default()
            },
            Err(error) => return Err(error),
        };
        write_whole(&path, &books)?;
        Ok(Self {
            path,
            books: Mutex::new(books),
        })
    }

    /// The books as they are now.
    pub(crate) fn read(&self) -> Books {
        self.books
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Changes the books. Once this returns, the change is on disk; where it fails, nothing changed.
    pub(crate) fn change<T>(&self, change: impl FnOnce(&mut Books) -> T) -> io::Result<T> {
        let mut books = self.books.lock().unwrap_or_else(PoisonError::into_inner);
        let mut next = books.clone();
        let outcome = change(&mut next);
        write_whole(&self.path, &next)?;
        *books = next;
        Ok(outcome)
    }
}

/// Replaces the file in one step: whoever reads it after a crash finds the old or the new books.
fn write_whole(path: &Path, books: &Books) -> io::Result<()> {
    let next = path.with_extension("next");
    let mut file = File::create(&next)?;
    file.write_all(&serde_json::to_vec_pretty(books)?)?;
    file.sync_all()?;
    fs::rename(&next, path)?;
    // The new name is durable only with its folder.
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    File::open(folder.unwrap_or(Path::new(".")))?.sync_all()
}
