//! A real Chromium, driven over WebDriver.

use std::net::TcpListener;
use std::process::Stdio;

use serde_json::{Value, json};
use thirtyfour::prelude::*;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

/// How the page is looked at.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Look {
    /// In CSS pixels.
    pub(crate) width: u32,
    /// Whether the person prefers dark pages.
    pub(crate) dark: bool,
    /// Whether scripts run.
    pub(crate) script: bool,
}

pub(crate) const DESKTOP: Look = Look {
    width: 1280,
    dark: false,
    script: true,
};

/// A browser with its driver; both end with it.
pub(crate) struct Browser {
    pub(crate) driver: WebDriver,
    process: Child,
    _profile: tempfile::TempDir,
}

impl Browser {
    pub(crate) async fn open(look: Look) -> Self {
        let port = free_port();
        let mut process = Command::new("chromedriver")
            .arg(format!("--port={port}"))
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .expect("chromedriver starts; scripts/test installs it");
        let output = process.stdout.take().expect("its output is piped");
        let mut lines = BufReader::new(output).lines();
        while let Some(line) = lines.next_line().await.expect("its output is text") {
            if line.contains("started successfully") {
                break;
            }
        }
        let profile = tempfile::tempdir().expect("a folder for the profile");
        let mut capabilities = DesiredCapabilities::chrome();
        for argument in [
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
            "--disable-dev-shm-usage",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--hide-scrollbars",
            &format!("--user-data-dir={}", profile.path().display()),
        ] {
            capabilities.add_arg(argument).expect("an argument");
        }
        if !look.script {
            let off = json!({ "profile.managed_default_content_settings.javascript": 2 });
            capabilities
                .add_experimental_option("prefs", off)
                .expect("a preference");
        }
        let driver = WebDriver::new(format!("http://127.0.0.1:{port}"), capabilities)
            .await
            .expect("a browser opens");
        let browser = Self {
            driver,
            process,
            _profile: profile,
        };
        browser.look(look).await;
        browser
    }

    /// Changes the width and the colours.
    pub(crate) async fn look(&self, look: Look) {
        let scheme = if look.dark { "dark" } else { "light" };
        // Without reduced motion the page would still be scrolling when it is clicked.
        let features = json!({ "features": [
            { "name": "prefers-color-scheme", "value": scheme },
            { "name": "prefers-reduced-motion", "value": "reduce" } ] });
        self.cdp("Emulation.setEmulatedMedia", features).await;
        let size = json!({ "width": look.width, "height": 900, "deviceScaleFactor": 1,
            "mobile": look.width < 600 });
        self.cdp("Emulation.setDeviceMetricsOverride", size).await;
    }

    async fn cdp(&self, method: &str, parameters: Value) -> Value {
        self.driver
            .cdp()
            .send_raw(method, parameters)
            .await
            .expect("the browser obeys")
    }

    pub(crate) async fn goto(&self, url: &str) {
        self.driver.goto(url).await.expect("the page loads");
    }

    /// The text of the page as a person reads it; of the next page where this one is just leaving.
    pub(crate) async fn text(&self) -> String {
        loop {
            if let Ok(text) = self.find("body").await.text().await {
                return text;
            }
        }
    }

    /// The first element that fits, as soon as it is there.
    pub(crate) async fn find(&self, css: &str) -> WebElement {
        let found = self.driver.query(By::Css(css)).first().await;
        match found {
            Ok(element) => element,
            Err(error) => panic!("{css} is not on the page: {error}\n{}", self.source().await),
        }
    }

    pub(crate) async fn count(&self, css: &str) -> usize {
        self.driver
            .find_all(By::Css(css))
            .await
            .expect("the page answers")
            .len()
    }

    pub(crate) async fn source(&self) -> String {
        self.driver.source().await.expect("the page has a source")
    }

    pub(crate) async fn click(&self, css: &str) {
        let element = self.find(css).await;
        element
            .scroll_into_view()
            .await
            .expect("it can be scrolled to");
        element.click().await.expect("it can be clicked");
    }

    pub(crate) async fn fill(&self, css: &str, text: &str) {
        let field = self.find(css).await;
        field.clear().await.expect("the field can be emptied");
        field.send_keys(text).await.expect("the field takes text");
    }

    /// Waits until the page shows a text.
    pub(crate) async fn wait_for_text(&self, text: &str) {
        for _ in 0..150 {
            if self.text().await.contains(text) {
                return;
            }
            tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        }
        panic!(
            "the page never says {text:?}; it says:\n{}",
            self.text().await
        );
    }

    /// What axe finds wrong at the levels A and AA of WCAG 2.2.
    pub(crate) async fn accessibility_violations(&self) -> Vec<String> {
        let path = std::env::var("HOLDPOINT_AXE").unwrap_or_else(|_| {
            concat!(
                env!("CARGO_MANIFEST_DIR"),
                "/target/tools/node_modules/axe-core/axe.min.js"
            )
            .to_owned()
        });
        let axe = std::fs::read_to_string(&path)
            .unwrap_or_else(|error| panic!("scripts/test installs axe at {path}: {error}"));
        let parameters = json!({ "expression": axe });
        self.cdp("Runtime.evaluate", parameters).await;
        let run = "axe.run(document, { runOnly: ['wcag2a','wcag2aa','wcag21a','wcag21aa','wcag22aa'] })\
            .then(result => JSON.stringify(result.violations.map(violation => \
            violation.id + ': ' + violation.nodes.map(node => node.target.join(' ') + ' ' \
            + node.failureSummary).join('; '))))";
        let parameters = json!({ "expression": run, "awaitPromise": true, "returnByValue": true });
        let answer = self.cdp("Runtime.evaluate", parameters).await;
        let text = answer["result"]["value"]
            .as_str()
            .unwrap_or_else(|| panic!("{answer}"));
        serde_json::from_str(text).expect("axe answers a list")
    }

    /// Whether the page is wider than the window, so that a person must scroll sideways.
    pub(crate) async fn overflows(&self) -> bool {
        let expression = "document.documentElement.scrollWidth > window.innerWidth";
        let parameters = json!({ "expression": expression, "returnByValue": true });
        self.cdp("Runtime.evaluate", parameters).await["result"]["value"] == json!(true)
    }

    /// Keeps a picture where `HOLDPOINT_PICTURES` names a folder, to be looked at.
    pub(crate) async fn picture(&self, name: &str) {
        if let Some(folder) = std::env::var_os("HOLDPOINT_PICTURES") {
            let path = std::path::Path::new(&folder).join(format!("{name}.png"));
            let parameters = json!({ "captureBeyondViewport": true, "format": "png" });
            let answer = self.cdp("Page.captureScreenshot", parameters).await;
            let data = answer["data"].as_str().unwrap_or_default();
            let bytes = base64::Engine::decode(&base64::engine::general_purpose::STANDARD, data);
            std::fs::write(path, bytes.expect("a picture")).expect("the picture is written");
        }
    }

    pub(crate) async fn close(mut self) {
        self.driver.quit().await.expect("the browser closes");
        self.process.kill().await.expect("the driver ends");
    }
}

/// A port that nothing listens on.
pub(crate) fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    listener.local_addr().expect("it has an address").port()
}
