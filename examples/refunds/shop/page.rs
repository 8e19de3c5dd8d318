//! The shop's page for people: orders, refunds, counts, switches.

use std::fmt::Write;

use super::{Books, Shop};

/// The whole page.
pub(super) fn render(shop: &Shop) -> String {
    let books = shop.ledger.read();
    let mut page = String::from(HEAD);
    switches(&mut page, &shop.switches.describe());
    orders(&mut page, &books);
    refunds(&mut page, &books);
    counts(&mut page, &books);
    page.push_str("</main></body></html>\n");
    page
}

fn switches(page: &mut String, on: &[String]) {
    let state = if on.is_empty() {
        "It behaves.".to_owned()
    } else {
        escape(&on.join(" · "))
    };
    let _ = write!(
        page,
        "<h2>How it behaves</h2><p>{state}</p><p class=\"row\">{}{}{}{}{}</p>",
        button("lose-answer?times=1", "Lose the next answer"),
        button("fail-after?times=1", "Answer the next with 500"),
        button("refuse?times=1", "Refuse the next"),
        button("slow?ms=3000", "Be slow"),
        button("reset", "Behave again"),
    );
}

fn button(switch: &str, label: &str) -> String {
    format!("<form method=\"post\" action=\"/switches/{switch}\"><button>{label}</button></form>")
}

fn orders(page: &mut String, books: &Books) {
    page.push_str(
        "<h2>Orders</h2><table><tr><th>Order<th>Customer<th>Item<th>Status<th>Paid<th>Can still be refunded\
         <th>Version<th>Refunds</tr>",
    );
    for order in books.orders.values() {
        let _ = write!(
            page,
            "<tr><td>{}<td>{}<td>{}<td>{}<td>{}<td>{}<td>{}<td>{}</tr>",
            escape(&order.id),
            escape(&order.customer_id),
            escape(&order.item),
            escape(&order.status),
            money(order.total_minor, &order.currency),
            money(order.refundable_minor, &order.currency),
            order.version,
            books.refunds_of(&order.id),
        );
    }
    page.push_str("</table>");
}

fn refunds(page: &mut String, books: &Books) {
    page.push_str("<h2>Refunds</h2>");
    if books.refunds.is_empty() {
        page.push_str("<p>No money went back yet.</p>");
        return;
    }
    page.push_str("<table><tr><th>Refund<th>Order<th>Amount<th>Key</tr>");
    for refund in &books.refunds {
        let currency = books
            .orders
            .get(&refund.order)
            .map_or("", |order| &order.currency);
        let _ = write!(
            page,
            "<tr><td>{}<td>{}<td>{}<td><code>{}</code></tr>",
            escape(&refund.id),
            escape(&refund.order),
            money(refund.amount_minor, currency),
            escape(&refund.key),
        );
    }
    page.push_str("</table>");
}

fn counts(page: &mut String, books: &Books) {
    page.push_str("<h2>Counts</h2>");
    if books.calls.is_empty() {
        page.push_str("<p>Nobody called yet.</p>");
        return;
    }
    page.push_str("<table><tr><th>Key<th>Calls that came in<th>Times that something was done</tr>");
    for (key, calls) in &books.calls {
        let effects = books.effects(key);
        let _ = write!(
            page,
            "<tr><td><code>{}</code><td>{calls}<td>{effects}</tr>",
            escape(key)
        );
    }
    page.push_str("</table>");
}

/// An amount in the smallest unit, written with two decimals.
pub(crate) fn money(minor: i64, currency: &str) -> String {
    let sign = if minor < 0 { "-" } else { "" };
    let minor = minor.unsigned_abs();
    format!(
        "{sign}{}.{:02} {}",
        minor / 100,
        minor % 100,
        escape(currency)
    )
}

fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            other => out.push(other),
        }
    }
    out
}

const HEAD: &str = "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>The shop</title>\
<meta name=\"viewport\" content=\"width=device-width\"><style>\
:root{color-scheme:light dark}body{font:16px/1.5 system-ui,sans-serif;margin:0 auto;max-width:64rem;padding:1rem}\
table{border-collapse:collapse;display:block;overflow-x:auto}td,th{border:1px solid #8888;padding:.25rem .5rem;text-align:left}\
.row{display:flex;flex-wrap:wrap;gap:.5rem}button{font:inherit;padding:.25rem .75rem}</style></head><body><main>\
<h1>The shop</h1><p>A make-believe shop for trying things out. No real money moves. Reload to see what changed.</p>";
