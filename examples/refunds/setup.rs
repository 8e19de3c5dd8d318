//! The data folder of the example: where things listen, what the tools file says, who there is.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};

use holdpoint_engine::action::PrincipalKind;
use holdpoint_engine::identity::{Identity, NewKey, NewPerson, Role, Secret};
use holdpoint_engine::time::{Entropy, SystemEntropy};
use serde::{Deserialize, Serialize};
use tokio::net::TcpListener;

use crate::client::Failure;
use crate::shop::{Order, Shop};

/// What the tools file in the repository says about the shop; replaced by where the shop listens.
const SHOP_ADDRESS: &str = "127.0.0.1:7071";
const TOOLS: &str = include_str!("holdpoint.json");
/// Who the history names for what the example sets up.
const SETTING_UP: &str = "cli:refunds-example";

/// A person of the story.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Player {
    /// The name on the pages.
    pub(crate) name: String,
    /// The address to sign in with.
    pub(crate) email: String,
    /// Made for this data folder alone.
    pub(crate) password: String,
}

/// Who there is, with what they sign in with. Kept in the data folder, readable by its owner only:
/// this is a demonstration, and a real installation keeps no passwords.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Cast {
    /// Asks for refunds; an approver too, so that the rule against approving one's own is seen.
    pub(crate) rita: Player,
    /// Approves, in finance.
    pub(crate) fiona: Player,
    /// Approves, in finance.
    pub(crate) felix: Player,
    /// Audits.
    pub(crate) ada: Player,
    /// The key of the checkout service, owned by Rita; empty until it is made.
    pub(crate) checkout_key: String,
    /// The key of the support agent, owned by Rita; empty until it is made.
    pub(crate) agent_key: String,
}

/// The data folder.
pub(crate) struct Folder {
    root: PathBuf,
}

impl Folder {
    /// The folder at `root`, made where it is missing.
    pub(crate) fn open(root: &Path) -> io::Result<Self> {
        fs::create_dir_all(root.join("secrets"))?;
        Ok(Self {
            root: root.canonicalize()?,
        })
    }

    /// Holdpoint's log.
    pub(crate) fn log(&self) -> PathBuf {
        self.root.join("log")
    }

    /// The tools file.
    pub(crate) fn tools(&self) -> PathBuf {
        self.root.join("holdpoint.json")
    }

    /// The shop's books.
    pub(crate) fn books(&self) -> PathBuf {
        self.root.join("shop.json")
    }

    /// Where the shop must listen: the tools file, and with it every waiting approval, names it.
    pub(crate) fn shop_address(&self) -> io::Result<Option<SocketAddr>> {
        match fs::read_to_string(self.root.join("shop.address")) {
            Ok(text) => text.trim().parse().map(Some).map_err(io::Error::other),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Writes the tools file for a shop at this address, with the secret that it asks for.
    pub(crate) fn write_tools(&self, shop: SocketAddr) -> Result<(), Failure> {
        let tools = TOOLS.replace(SHOP_ADDRESS, &shop.to_string());
        write_private(&self.tools(), tools.as_bytes())?;
        if !self.token_path().exists() {
            write_private(&self.token_path(), random_text()?.as_bytes())?;
        }
        write_private(&self.root.join("shop.address"), shop.to_string().as_bytes())?;
        Ok(())
    }

    /// The bearer token that the shop asks for.
    pub(crate) fn shop_token(&self) -> io::Result<String> {
        fs::read_to_string(self.token_path()).map(|token| token.trim().to_owned())
    }

    /// Who there is; makes them where they are missing. Can be killed at any moment and called again.
    pub(crate) async fn cast(&self, identity: &Identity) -> Result<Cast, Failure> {
        let path = self.root.join("cast.json");
        // Passwords are on disk before the people who have them are.
        let mut cast: Cast = match fs::read(&path) {
            Ok(bytes) => serde_json::from_slice(&bytes)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let cast = new_cast()?;
                write_private(&path, &serde_json::to_vec_pretty(&cast)?)?;
                cast
            }
            Err(error) => return Err(error.into()),
        };
        let asks = [Role::Requester, Role::Approver];
        let rita = ensure_person(identity, &cast.rita, &asks, true).await?;
        ensure_person(identity, &cast.fiona, &[Role::Approver], true).await?;
        ensure_person(identity, &cast.felix, &[Role::Approver], true).await?;
        ensure_person(identity, &cast.ada, &[Role::Auditor], false).await?;
        if cast.checkout_key.is_empty() || cast.agent_key.is_empty() {
            let scopes = ["orders:read", "orders:write", "refunds:write"];
            cast.checkout_key =
                key(identity, "checkout", PrincipalKind::Service, &rita, &scopes).await?;
            let scopes = ["orders:read", "refunds:write"];
            cast.agent_key = key(
                identity,
                "support-agent",
                PrincipalKind::Agent,
                &rita,
                &scopes,
            )
            .await?;
            write_private(&path, &serde_json::to_vec_pretty(&cast)?)?;
        }
        Ok(cast)
    }

    fn token_path(&self) -> PathBuf {
        self.root.join("secrets/shop.token")
    }
}

/// The orders that the shop has at first.
pub(crate) fn orders() -> Vec<Order> {
    vec![
        Order::paid("8812", "cus_2041", "Rain jacket", 4_900),
        Order::paid("8813", "cus_1177", "Kettle", 5_000),
        Order::paid("8814", "cus_3310", "Sofa", 62_000),
        Order::paid("8815", "cus_0452", "Slippers", 1_250),
        Order::paid("8816", "cus_9087", "Desk lamp", 3_300),
        Order::paid("8817", "cus_5150", "Headphones", 19_900),
    ]
}

/// A shop that serves, and where.
pub(crate) async fn open_shop(
    folder: &Folder,
    wanted: Option<SocketAddr>,
) -> Result<(Shop, SocketAddr), Failure> {
    // The tools file names the shop's address, and an approval binds to the tools file: a shop
    // that moved would be another shop, and every waiting refund would have to be planned again.
    let fixed = wanted.or(folder.shop_address()?);
    let listener = match fixed {
        Some(address) => TcpListener::bind(address).await.map_err(|error| {
            format!(
                "the shop must listen on {address}, and cannot: {error}; where this example \
                     runs already, stop it or name another folder with --data"
            )
        })?,
        None => bind(7071).await?,
    };
    let address = listener.local_addr()?;
    folder.write_tools(address)?;
    let shop = Shop::open(folder.books(), &folder.shop_token()?, orders())?;
    tokio::spawn(shop.clone().serve(listener));
    Ok((shop, address))
}

/// The port on loopback, or a free one where it is taken.
pub(crate) async fn bind(port: u16) -> io::Result<TcpListener> {
    match TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await {
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
            TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await
        }
        bound => bound,
    }
}

/// An address on loopback where nothing listens at the moment.
pub(crate) async fn free_address() -> io::Result<SocketAddr> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
        .await?
        .local_addr()
}

fn new_cast() -> Result<Cast, Failure> {
    let player = |name: &str| -> Result<Player, Failure> {
        Ok(Player {
            name: name.to_owned(),
            email: format!("{}@example.com", name.to_lowercase()),
            password: random_text()?,
        })
    };
    Ok(Cast {
        rita: player("Rita")?,
        fiona: player("Fiona")?,
        felix: player("Felix")?,
        ada: player("Ada")?,
        checkout_key: String::new(),
        agent_key: String::new(),
    })
}

/// Makes a person where there is none with the address, and returns the id.
async fn ensure_person(
    identity: &Identity,
    player: &Player,
    roles: &[Role],
    finance: bool,
) -> Result<String, Failure> {
    if let Some(person) = identity.person_by_email(&player.email) {
        return Ok(person.id);
    }
    let groups = if finance {
        BTreeSet::from(["finance".to_owned()])
    } else {
        BTreeSet::new()
    };
    let new = NewPerson {
        email: player.email.clone(),
        name: player.name.clone(),
        roles: roles.iter().copied().collect(),
        groups,
        password: Some(Secret::new(player.password.clone())),
        ..NewPerson::default()
    };
    Ok(identity.create_person(SETTING_UP, new).await?.id)
}

async fn key(
    identity: &Identity,
    name: &str,
    kind: PrincipalKind,
    owner: &str,
    scopes: &[&str],
) -> Result<String, Failure> {
    let new = NewKey {
        name: name.to_owned(),
        kind,
        owner: owner.to_owned(),
        scopes: scopes.iter().map(|&scope| scope.to_owned()).collect(),
        attributes: BTreeMap::new(),
        expires_at: None,
    };
    let (_, secret) = identity.create_key(SETTING_UP, new).await?;
    Ok(secret.expose().to_owned())
}

/// 32 random hexadecimal digits.
fn random_text() -> Result<String, Failure> {
    let mut bytes = [0; 16];
    SystemEntropy.fill(&mut bytes)?;
    Ok(format!("{:032x}", u128::from_be_bytes(bytes)))
}

/// Replaces a file in one step, readable by its owner only.
fn write_private(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let next = path.with_extension("next");
    let mut options = fs::OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(&next)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(&next, path)
}
