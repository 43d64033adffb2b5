//! A real browser: Chromium, driven over `WebDriver`.
//!
//! Elements are found as people and screen readers find them: by role and name, by label, by text.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use acceptance::eventually_or;
use base64::prelude::{BASE64_STANDARD, Engine as _};
use fantoccini::elements::Element;
use fantoccini::wd::{Capabilities, WebDriverCompatibleCommand};
use fantoccini::{Client, ClientBuilder, Locator};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::runtime::Runtime;

/// How long the browser may take to show what a test waits for.
const PATIENCE: Duration = Duration::from_secs(15);

/// Marks the document, and says whether a click on the element leads to another one.
const LEADS_ELSEWHERE: &str = "const [element] = arguments;
    if (!window.former) addEventListener('htmx:afterRequest', ({ detail }) => {
        if (detail.xhr.getResponseHeader('HX-Redirect')) window.former = 'left';
    });
    window.former = 'shown';
    const form = element.matches('button') && element.type == 'submit' && element.form;
    const asks = (one) => one.matches('[hx-get]:not([hx-trigger]), [hx-post]:not([hx-trigger])');
    const byScript = window.htmx && (asks(element) || form && asks(form) || element.matches('dialog [data-close]'));
    const leads = form ? form.noValidate || form.checkValidity() : element.matches('a[href]:not([download], [href^=\"#\"])');
    return Boolean(leads && !byScript);";

/// Whether what the click before asked for is there: another document, or the answer to htmx's request.
const HAS_ANSWERED: &str = "return document.readyState == 'complete' && (
    window.former ? window.former == 'shown' && !arguments[0] && !document.querySelector('.htmx-request') : true
);";

/// A window of a browser with a profile of its own. Dropping it ends the browser.
pub(crate) struct Browser {
    client: Option<Client>,
    runtime: Runtime,
    driver: Child,
    base: String,
    _profile: TempDir,
}

/// The path of a program that the tests need, or a panic that says how to get it.
fn program(name: &str, package: &str) -> String {
    let found = Command::new("sh")
        .args(["-c", &format!("command -v {name}")])
        .output();
    let path = String::from_utf8(found.unwrap().stdout)
        .unwrap()
        .trim()
        .to_owned();
    assert!(
        !path.is_empty(),
        "{name} is missing: run tests/run, which installs the package {package}"
    );
    path
}

impl Browser {
    /// Opens a window of 1280 by 900 pixels for pages under `base`.
    pub(crate) fn open(base: &str) -> Self {
        Self::with(base, &json!({}))
    }

    /// Opens a window in which pages run no scripts.
    pub(crate) fn open_without_scripts(base: &str) -> Self {
        let switched_off = json!({"profile.managed_default_content_settings.javascript": 2});
        Self::with(base, &switched_off)
    }

    fn with(base: &str, preferences: &Value) -> Self {
        let chromium = program("chromium", "chromium");
        let mut driver = Command::new(program("chromedriver", "chromium-driver"))
            .arg("--port=0")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(driver.stdout.take().unwrap()).lines();
        let port = lines
            .find_map(|line| {
                let line = line.unwrap();
                let port = line.split_once("started successfully on port ")?.1;
                Some(port.trim_end_matches('.').to_owned())
            })
            .expect("ChromeDriver starts");
        // Its later lines are read, so that it never waits for a reader.
        std::thread::spawn(move || lines.for_each(drop));
        let profile = TempDir::new().unwrap();
        let mut arguments = vec![
            "--headless=new".to_owned(),
            "--disable-gpu".to_owned(),
            "--disable-dev-shm-usage".to_owned(),
            "--disable-background-networking".to_owned(),
            "--disable-component-update".to_owned(),
            "--disable-sync".to_owned(),
            "--disable-quic".to_owned(),
            // Colours that are changing are no colours to judge.
            "--force-prefers-reduced-motion".to_owned(),
            "--no-first-run".to_owned(),
            "--window-size=1280,900".to_owned(),
            format!("--user-data-dir={}", profile.path().display()),
        ];
        if rustix::process::geteuid().is_root() {
            arguments.push("--no-sandbox".to_owned());
        }
        let mut capabilities = Capabilities::new();
        let options = json!({"binary": chromium, "args": arguments, "prefs": preferences});
        capabilities.insert("goog:chromeOptions".to_owned(), options);
        capabilities.insert("goog:loggingPrefs".to_owned(), json!({"browser": "ALL"}));
        // A slow machine that is busy takes more than the usual 30 s to look at a long page.
        capabilities.insert("timeouts".to_owned(), json!({"script": 120_000}));
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let connector = hyper_util::client::legacy::connect::HttpConnector::new();
        let client = runtime
            .block_on(
                ClientBuilder::new(connector)
                    .capabilities(capabilities)
                    .connect(&format!("http://127.0.0.1:{port}")),
            )
            .unwrap();
        Self {
            client: Some(client),
            runtime,
            driver,
            base: base.to_owned(),
            _profile: profile,
        }
    }

    fn client(&self) -> &Client {
        self.client.as_ref().unwrap()
    }

    /// Opens a path of the console.
    pub(crate) fn go(&self, path: &str) {
        let url = format!("{}{path}", self.base);
        self.runtime.block_on(self.client().goto(&url)).unwrap();
    }

    /// The path of the page that is shown, with its query.
    pub(crate) fn path(&self) -> String {
        let url = self.runtime.block_on(self.client().current_url()).unwrap();
        let query = url.query().map(|query| format!("?{query}")).unwrap_or_default();
        format!("{}{query}", url.path())
    }

    /// Waits until the page's path is this.
    #[track_caller]
    pub(crate) fn wait_for_path(&self, path: &str) {
        self.until(&format!("the page {path}"), |browser| {
            (browser.path() == path).then_some(())
        });
    }

    /// Waits for something.
    #[track_caller]
    fn until<T>(&self, what: &str, look: impl Fn(&Self) -> Option<T>) -> T {
        let instead = || format!(", but {} shows:\n{}", self.path(), self.text());
        eventually_or(what, PATIENCE, || look(self), instead)
    }

    /// What the page shows.
    pub(crate) fn text(&self) -> String {
        let body = self.runtime.block_on(self.client().find(Locator::Css("body")));
        body.and_then(|body| self.runtime.block_on(body.text()))
            .unwrap_or_default()
    }

    /// Waits until the page shows a text. Where lines end is the layout's affair.
    #[track_caller]
    pub(crate) fn see(&self, text: &str) {
        let in_one_line = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        let looked_for = in_one_line(text);
        self.until(&format!("the text {text:?}"), |browser| {
            in_one_line(&browser.text()).contains(&looked_for).then_some(())
        });
    }

    /// Waits for the first visible element of an `XPath`, on a page whose scripts have run.
    #[track_caller]
    fn element(&self, what: &str, xpath: &str) -> Element {
        self.until(what, |browser| {
            if browser.script("return document.readyState") != "complete" {
                return None;
            }
            let found = browser.client().find_all(Locator::XPath(xpath));
            let found = browser.runtime.block_on(found).unwrap_or_default();
            found.into_iter().find(|element| {
                let shown = browser.runtime.block_on(element.is_displayed());
                shown.unwrap_or(false)
            })
        })
    }

    /// Types into the field with this label, in place of what it holds.
    #[track_caller]
    pub(crate) fn fill(&self, label: &str, text: &str) {
        let field = self.field(label);
        self.runtime.block_on(field.clear()).unwrap();
        self.runtime.block_on(field.send_keys(text)).unwrap();
    }

    /// Strikes the Enter key in the field with this label.
    #[track_caller]
    pub(crate) fn strike_enter(&self, label: &str) {
        let field = self.field(label);
        self.runtime.block_on(field.send_keys("\u{E007}")).unwrap();
    }

    #[track_caller]
    fn field(&self, label: &str) -> Element {
        let of_label = format!(
            "//*[self::input or self::textarea or self::select][@id=//label[starts-with(normalize-space(.),{0})]/@for or @aria-label={0}]",
            quoted(label)
        );
        self.element(&format!("the field {label:?}"), &of_label)
    }

    /// What the field with this label holds.
    #[track_caller]
    pub(crate) fn value(&self, label: &str) -> String {
        let field = self.field(label);
        let value = self.runtime.block_on(field.prop("value")).unwrap();
        value.unwrap_or_default()
    }

    /// Waits for the first visible element of a CSS selector; what it shows.
    #[track_caller]
    pub(crate) fn content(&self, selector: &str) -> String {
        self.until(&format!("the element {selector}"), |browser| {
            let found = browser.client().find(Locator::Css(selector));
            let found = browser.runtime.block_on(found).ok()?;
            let text = browser.runtime.block_on(found.text()).ok()?;
            (!text.is_empty()).then_some(text)
        })
    }

    /// Clicks the button with this name.
    #[track_caller]
    pub(crate) fn press(&self, name: &str) {
        let xpath = format!(
            "//button[normalize-space(.)={0} or @aria-label={0}]",
            quoted(name)
        );
        self.click(&format!("the button {name:?}"), &xpath);
    }

    /// Clicks the label that begins so: of a box to check or a choice.
    #[track_caller]
    pub(crate) fn press_label(&self, text: &str) {
        let xpath = format!("//label[starts-with(normalize-space(.),{})]", quoted(text));
        self.click(&format!("the label {text:?}"), &xpath);
    }

    /// Clicks the first button whose name begins so.
    #[track_caller]
    pub(crate) fn press_first(&self, name: &str) {
        let xpath = format!("//button[starts-with(normalize-space(.),{})]", quoted(name));
        self.click(&format!("the button {name:?}…"), &xpath);
    }

    /// Chooses what the field with this label offers under this text, with the events of a person's choice.
    #[track_caller]
    pub(crate) fn choose(&self, label: &str, option: &str) {
        let choose = "const [field, text] = arguments;
            const option = [...field.options].find((option) => option.text.trim() === text);
            field.value = option.value;
            for (const name of ['input', 'change']) field.dispatchEvent(new Event(name, { bubbles: true }));";
        let field = serde_json::to_value(self.field(label)).unwrap();
        let arguments = vec![field, json!(option)];
        self.runtime
            .block_on(self.client().execute(choose, arguments))
            .unwrap();
    }

    /// Gives the page this width.
    pub(crate) fn resize(&self, width: u32) {
        self.runtime
            .block_on(self.client().set_window_size(width, 900))
            .unwrap();
    }

    /// Shows pages as they are printed, or on the screen again.
    pub(crate) fn emulate_paper(&self, is_paper: bool) {
        let media = if is_paper { "print" } else { "" };
        self.devtools("Emulation.setEmulatedMedia", json!({"media": media}));
    }

    /// Gives pages the whole width, as phones do.
    pub(crate) fn hide_scrollbars(&self) {
        self.devtools("Emulation.setScrollbarsHidden", json!({"hidden": true}));
    }

    /// A `WebP` picture of the page from its top, as sharp as it can be under so many bytes.
    pub(crate) fn picture(&self, max_height: u32, max_bytes: usize) -> Vec<u8> {
        let metrics = self.devtools("Page.getLayoutMetrics", json!({}));
        let size = &metrics["cssContentSize"];
        let height = size["height"].as_f64().unwrap().min(f64::from(max_height));
        let clip = json!({"x": 0, "y": 0, "width": size["width"], "height": height, "scale": 1});
        (1..=9)
            .rev()
            .map(|tenths| {
                let arguments = json!({
                    "format": "webp", "quality": tenths * 10, "clip": clip, "captureBeyondViewport": true,
                });
                let taken = self.devtools("Page.captureScreenshot", arguments);
                BASE64_STANDARD.decode(taken["data"].as_str().unwrap()).unwrap()
            })
            .find(|picture| picture.len() <= max_bytes)
            .expect("a picture that is small enough")
    }

    /// What a command of Chromium's `DevTools` answers.
    fn devtools(&self, command: &'static str, arguments: Value) -> Value {
        let command = DevTools { command, arguments };
        self.runtime.block_on(self.client().issue_cmd(command)).unwrap()
    }

    /// What axe-core finds wrong with what the selector chooses, a line for each rule with the first element. It looks
    /// at these rules only, or at all if there are none.
    pub(crate) fn violations(&self, selector: &str, rules: &[&str]) -> Vec<String> {
        if self.script("return typeof axe") != "object" {
            let path = acceptance::variable("BIDLOOP_TEST_AXE", "axe-core");
            let axe = std::fs::read_to_string(&path).unwrap();
            self.runtime
                .block_on(self.client().execute(&axe, Vec::new()))
                .unwrap();
        }
        let run = "const [selector, rules, done] = arguments;
            axe.run(selector, { resultTypes: ['violations'], ...(rules.length && { runOnly: rules }) }).then(
                (found) => done(found.violations.map((rule) => `${rule.id}: ${rule.nodes.length} × ${rule.nodes[0].html}`)),
                (error) => done([String(error)]),
            );";
        let arguments = vec![json!(selector), json!(rules)];
        let found = self.runtime.block_on(self.client().execute_async(run, arguments));
        serde_json::from_value(found.unwrap()).unwrap()
    }

    /// Waits until the selector chooses an element.
    #[track_caller]
    pub(crate) fn see_selector(&self, selector: &str) {
        self.until(&format!("the element {selector}"), |browser| {
            let found = browser.client().find(Locator::Css(selector));
            browser.runtime.block_on(found).ok()
        });
    }

    /// What a script in the page answers.
    pub(crate) fn script(&self, script: &str) -> String {
        let answer = self.runtime.block_on(self.client().execute(script, Vec::new()));
        let answer = answer.ok();
        answer
            .and_then(|answer| answer.as_str().map(str::to_owned))
            .unwrap_or_default()
    }

    /// Follows the link with this name.
    #[track_caller]
    pub(crate) fn follow(&self, name: &str) {
        let xpath = format!("//a[normalize-space(.)={0} or @aria-label={0}]", quoted(name));
        self.click(&format!("the link {name:?}"), &xpath);
    }

    /// Clicks, and waits until the page has answered: what comes next looks at the page that the click led to, and a
    /// click that leads elsewhere is not overtaken by another page.
    #[track_caller]
    fn click(&self, what: &str, xpath: &str) {
        let leads = self.until(what, |browser| {
            // The element may be replaced between the look and the click.
            let element = browser.element(what, xpath);
            let leads = browser.asked(LEADS_ELSEWHERE, serde_json::to_value(&element).unwrap())?;
            browser.runtime.block_on(element.click()).ok()?;
            Some(leads)
        });
        self.until(&format!("the answer to a click on {what}"), |browser| {
            browser
                .asked(HAS_ANSWERED, json!(leads))
                .filter(|answered| *answered)
        });
    }

    /// What a script says of this; nothing while the page is leaving.
    fn asked(&self, script: &str, of: Value) -> Option<bool> {
        let answer = self.client().execute(script, vec![of]);
        self.runtime.block_on(answer).ok()?.as_bool()
    }
}

/// A command of Chromium's `DevTools`, which `ChromeDriver` passes on.
#[derive(Debug)]
struct DevTools {
    command: &'static str,
    arguments: Value,
}

impl WebDriverCompatibleCommand for DevTools {
    fn endpoint(&self, base: &url::Url, session: Option<&str>) -> Result<url::Url, url::ParseError> {
        base.join(&format!(
            "session/{}/goog/cdp/execute",
            session.unwrap_or_default()
        ))
    }

    fn method_and_body(&self, _: &url::Url) -> (http::Method, Option<String>) {
        let body = json!({"cmd": self.command, "params": self.arguments});
        (http::Method::POST, Some(body.to_string()))
    }
}

/// A text as an `XPath` literal.
fn quoted(text: &str) -> String {
    let parts: Vec<String> = text.split('\'').map(|part| format!("'{part}'")).collect();
    match parts.as_slice() {
        [one] => one.clone(),
        parts => format!("concat({})", parts.join(",\"'\",")),
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        if let Some(client) = self.client.take() {
            let _closed = self.runtime.block_on(client.close());
        }
        let _ended = self.driver.kill();
        let _ended = self.driver.wait();
    }
}
