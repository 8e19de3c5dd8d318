//! Calls over TLS, from the real program to doors with certificates made here: only a door that proves
//! who it is gets a request, and no proxy of the environment gets anything.

use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair, KeyUsagePurpose,
    PKCS_ECDSA_P256_SHA256, date_time_ymd,
};
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::aws_lc_rs;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;

use crate::story::{ADMIN, id};
use crate::support::{Place, Server};

const GOOD: &[u8] = b"HTTP/1.1 201 Created\r\ncontent-length: 8\r\n\r\n{\"id\":1}";

/// Where certificates come from.
type Authority = CertifiedIssuer<'static, KeyPair>;

fn key() -> KeyPair {
    KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256).expect("a key")
}

fn authority() -> Authority {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
    CertifiedIssuer::self_signed(params, key()).expect("an authority")
}

/// A certificate for this name, in these years.
fn certificate(by: &Authority, name: &str, years: (i32, i32)) -> Arc<ServerConfig> {
    let key = key();
    let mut params = CertificateParams::new([name.to_owned()]).expect("a name");
    params.not_before = date_time_ymd(years.0, 1, 1);
    params.not_after = date_time_ymd(years.1, 1, 1);
    let certificate = params.signed_by(&key, by).expect("a certificate");
    let config = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_no_client_auth()
        .with_single_cert(
            vec![certificate.der().clone()],
            PrivateKeyDer::Pkcs8(key.serialize_der().into()),
        );
    Arc::new(config.expect("a configuration"))
}

/// A door on this machine. It counts those who come, and the bytes that they say in clear or inside
/// of TLS, and answers what is good.
struct Door {
    address: SocketAddr,
    came: Arc<AtomicUsize>,
    bytes: Arc<AtomicUsize>,
}

impl Door {
    fn open(config: Option<Arc<ServerConfig>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        listener.set_nonblocking(true).expect("a socket");
        let door = Self {
            address: listener.local_addr().expect("bound"),
            came: Arc::default(),
            bytes: Arc::default(),
        };
        let (came, bytes) = (Arc::clone(&door.came), Arc::clone(&door.bytes));
        let attend = async move {
            let listener = tokio::net::TcpListener::from_std(listener).expect("a socket");
            while let Ok((stream, _)) = listener.accept().await {
                came.fetch_add(1, Ordering::SeqCst);
                let (config, bytes) = (config.clone(), Arc::clone(&bytes));
                tokio::spawn(async move {
                    match config {
                        None => answer(stream, &bytes).await,
                        Some(config) => {
                            if let Ok(stream) = TlsAcceptor::from(config).accept(stream).await {
                                answer(stream, &bytes).await;
                            }
                        }
                    }
                });
            }
        };
        std::thread::spawn(move || {
            tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .expect("a runtime")
                .block_on(attend);
        });
        door
    }

    fn came(&self) -> usize {
        self.came.load(Ordering::SeqCst)
    }

    fn bytes(&self) -> usize {
        self.bytes.load(Ordering::SeqCst)
    }

    /// A tool that calls here once.
    fn tool(&self, scheme: &str) -> Value {
        let port = self.address.port();
        json!({
            "safetyClass": "write-once-checkable",
            "execute": {
                "http": {
                    "post": format!("{scheme}://localhost:{port}/pay"),
                    "json": { "amount": "{amount}" },
                },
                "retry": { "attempts": 1 },
            },
        })
    }
}

/// Reads to the end of a request and answers it.
async fn answer<S: AsyncRead + AsyncWrite + Unpin>(mut stream: S, bytes: &AtomicUsize) {
    let (mut heard, mut part) = (Vec::new(), [0; 4096]);
    while !heard.ends_with(b"}") {
        match stream.read(&mut part).await {
            Ok(0) | Err(_) => return,
            Ok(more) => heard.extend_from_slice(&part[..more]),
        }
        bytes.store(heard.len(), Ordering::SeqCst);
        if !heard.starts_with(b"P") {
            // A greeting of TLS, to somebody who speaks in clear.
            break;
        }
    }
    let _gone = stream.write_all(GOOD).await;
    let _gone = stream.shutdown().await;
}

/// The program with these tools, in this environment, and with this authority alone.
struct House {
    place: Place,
    server: Server,
}

impl House {
    fn begin(authority: &Authority, tools: &Value, env: &[(&str, &str)]) -> Self {
        let place = Place::new();
        place.write("holdpoint.json", &json!({ "tools": tools }).to_string());
        place.write("authority.pem", &authority.pem());
        place.add_person(ADMIN, "admin");
        place.create_key(ADMIN);
        let trusted = place.path("authority.pem");
        let trusted = ("SSL_CERT_FILE", trusted.to_str().expect("a path"));
        let server = Server::start_in(&place, &[], &[&[trusted], env].concat());
        Self { place, server }
    }

    /// Calls a tool, and waits for what comes of it.
    fn call(&self, tool: &str) -> Value {
        let env = [
            ("HOLDPOINT_SERVER", self.server.url.as_str()),
            ("HOLDPOINT_TOKEN_FILE", "key"),
        ];
        let args = r#"{"amount":1}"#;
        let submit = ["actions", "submit", tool, "--args", args, "--json"];
        let action = self.place.run_with(&submit, &env).code(0).json();
        let wait = ["actions", "wait", id(&action), "--for", "60s", "--json"];
        self.place.run_with(&wait, &env).json()
    }
}

#[test]
fn i17_a_door_that_does_not_prove_who_it_is_gets_no_byte_of_a_request() {
    let (trusted, other) = (authority(), authority());
    let door = |by, name, years| Door::open(Some(certificate(by, name, years)));
    let now = (2020, 2120);
    let good = door(&trusted, "localhost", now);
    let bad = [
        ("another_name", door(&trusted, "shop.example", now)),
        ("expired", door(&trusted, "localhost", (2000, 2001))),
        ("not_yet_valid", door(&trusted, "localhost", (2119, 2120))),
        ("unknown_authority", door(&other, "localhost", now)),
        ("in_clear", Door::open(None)),
    ];
    let mut tools = json!({ "good": good.tool("https") });
    for (name, door) in &bad {
        tools[name] = door.tool("https");
    }
    let house = House::begin(&trusted, &tools, &[]);
    let action = house.call("good");
    assert_eq!(action["status"], "succeeded", "{action}");
    assert_ne!(good.bytes(), 0);
    for (name, door) in &bad {
        let action = house.call(name);
        assert_eq!(action["status"], "failed", "{name}: {action}");
        assert_eq!(door.came(), 1, "{name}");
        if *name != "in_clear" {
            assert_eq!(door.bytes(), 0, "{name}: a request left");
        }
    }
}

#[test]
fn i17_a_proxy_of_the_environment_sees_nothing() {
    let trusted = authority();
    let certificate = certificate(&trusted, "localhost", (2020, 2120));
    let (sealed, clear, proxy) = (
        Door::open(Some(certificate)),
        Door::open(None),
        Door::open(None),
    );
    let tools = json!({ "sealed": sealed.tool("https"), "clear": clear.tool("http") });
    let url = format!("http://{}", proxy.address);
    let names = ["http_proxy", "https_proxy", "all_proxy"];
    let names: Vec<String> = names
        .into_iter()
        .flat_map(|name| [name.to_owned(), name.to_uppercase()])
        .collect();
    let env: Vec<(&str, &str)> = names.iter().map(|name| (&**name, &*url)).collect();
    let house = House::begin(&trusted, &tools, &env);
    for (name, door) in [("sealed", &sealed), ("clear", &clear)] {
        let action = house.call(name);
        assert_eq!(action["status"], "succeeded", "{name}: {action}");
        assert_eq!(door.came(), 1, "{name}");
    }
    assert_eq!(proxy.came(), 0, "the proxy was asked");
}
