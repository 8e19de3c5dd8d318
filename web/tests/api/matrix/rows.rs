//! The table: who gets which answer.

/// Nobody; the service that asked, the owner of its key, another service, an agent; the roles.
pub(super) const WHO: [&str; 9] = [
    "", "service", "owner", "stranger", "agent", "approver", "auditor", "operator", "admin",
];

/// The answer that each of them gets, in the order of `WHO`. `{id}` is an action of the service.
pub(super) const ROWS: &[(&str, &str, [u16; 9])] = &[
    (
        "GET",
        "/v1/actions",
        [401, 200, 200, 200, 200, 200, 200, 200, 200],
    ),
    (
        "POST",
        "/v1/actions",
        [401, 201, 201, 201, 201, 201, 201, 201, 201],
    ),
    (
        "GET",
        "/v1/actions/{id}",
        [401, 200, 200, 404, 404, 200, 200, 200, 200],
    ),
    (
        "GET",
        "/v1/actions/{id}/events",
        [401, 200, 200, 404, 404, 200, 200, 200, 200],
    ),
    (
        "GET",
        "/v1/actions/{id}/receipt",
        [401, 409, 409, 404, 404, 409, 409, 409, 409],
    ),
    (
        "POST",
        "/v1/actions/{id}/votes",
        [401, 403, 403, 404, 404, 200, 403, 403, 403],
    ),
    (
        "POST",
        "/v1/actions/{id}/withdraw",
        [401, 409, 409, 404, 404, 409, 409, 409, 409],
    ),
    (
        "POST",
        "/v1/actions/{id}/cancel",
        [401, 200, 200, 404, 404, 403, 403, 403, 200],
    ),
    (
        "POST",
        "/v1/actions/{id}/settle",
        [401, 403, 403, 404, 404, 403, 403, 409, 403],
    ),
    // The service may work on everything, and there is nothing to do; nobody has what is not given.
    (
        "POST",
        "/v1/work/claim",
        [401, 204, 403, 403, 403, 403, 403, 403, 403],
    ),
    (
        "POST",
        "/v1/work/{attempt}/heartbeat",
        [401, 404, 403, 404, 404, 403, 403, 403, 403],
    ),
    (
        "POST",
        "/v1/work/{attempt}/complete",
        [401, 404, 403, 404, 404, 403, 403, 403, 403],
    ),
    (
        "GET",
        "/v1/runs",
        [401, 200, 200, 200, 200, 200, 200, 200, 200],
    ),
    (
        "POST",
        "/v1/runs",
        [401, 201, 201, 403, 403, 403, 403, 403, 403],
    ),
    (
        "GET",
        "/v1/runs/{id}",
        [401, 200, 200, 404, 404, 200, 200, 200, 200],
    ),
    (
        "GET",
        "/v1/runs/{id}/receipt",
        [401, 200, 200, 404, 404, 200, 200, 200, 200],
    ),
    (
        "GET",
        "/v1/runs/{id}/events",
        [401, 200, 200, 404, 404, 200, 200, 200, 200],
    ),
    // Whoever may send one learns that this run, which is of a skill file, takes none.
    (
        "POST",
        "/v1/runs/{id}/events",
        [401, 422, 422, 404, 404, 403, 403, 422, 403],
    ),
    (
        "POST",
        "/v1/runs/{id}/cancel",
        [401, 200, 200, 404, 404, 403, 403, 200, 200],
    ),
    (
        "POST",
        "/v1/runs/{id}/resume",
        [401, 200, 200, 404, 404, 403, 403, 200, 403],
    ),
    (
        "GET",
        "/v1/schedules",
        [401, 200, 200, 200, 200, 200, 200, 200, 200],
    ),
    (
        "POST",
        "/v1/schedules",
        [401, 201, 201, 403, 403, 403, 403, 403, 403],
    ),
    (
        "GET",
        "/v1/schedules/{id}",
        [401, 200, 200, 404, 404, 200, 200, 200, 200],
    ),
    (
        "DELETE",
        "/v1/schedules/{id}",
        [401, 204, 204, 404, 404, 403, 403, 204, 204],
    ),
    (
        "POST",
        "/v1/schedules/{id}/pause",
        [401, 200, 200, 404, 404, 403, 403, 200, 200],
    ),
    (
        "POST",
        "/v1/schedules/{id}/resume",
        [401, 200, 200, 404, 404, 403, 403, 200, 200],
    ),
    (
        "POST",
        "/v1/schedules/{id}/run",
        [401, 200, 200, 404, 404, 403, 403, 200, 200],
    ),
    (
        "GET",
        "/v1/events",
        [401, 403, 403, 403, 403, 200, 200, 200, 200],
    ),
    (
        "GET",
        "/v1/events/stream",
        [401, 200, 200, 200, 200, 200, 200, 200, 200],
    ),
    (
        "GET",
        "/v1/pause",
        [401, 200, 200, 200, 200, 200, 200, 200, 200],
    ),
    (
        "POST",
        "/v1/pause",
        [401, 403, 403, 403, 403, 403, 403, 200, 200],
    ),
    (
        "POST",
        "/v1/resume",
        [401, 403, 403, 403, 403, 403, 403, 200, 200],
    ),
    (
        "GET",
        "/v1/attention",
        [401, 403, 403, 403, 403, 403, 200, 200, 200],
    ),
    (
        "GET",
        "/v1/tools",
        [401, 200, 200, 200, 200, 200, 200, 200, 200],
    ),
    (
        "POST",
        "/v1/sessions",
        [422, 422, 422, 422, 422, 422, 422, 422, 422],
    ),
    (
        "DELETE",
        "/v1/sessions",
        [401, 403, 204, 403, 403, 204, 204, 204, 204],
    ),
    (
        "GET",
        "/v1/people",
        [401, 403, 403, 403, 403, 403, 403, 403, 200],
    ),
    (
        "POST",
        "/v1/people",
        [401, 403, 403, 403, 403, 403, 403, 403, 201],
    ),
    (
        "GET",
        "/v1/people/{id}",
        [401, 403, 403, 403, 403, 403, 403, 403, 200],
    ),
    (
        "PATCH",
        "/v1/people/{id}",
        [401, 403, 403, 403, 403, 403, 403, 403, 200],
    ),
    (
        "PUT",
        "/v1/people/{id}/password",
        [401, 403, 403, 403, 403, 403, 403, 403, 204],
    ),
    (
        "GET",
        "/v1/keys",
        [401, 403, 403, 403, 403, 403, 403, 403, 200],
    ),
    (
        "POST",
        "/v1/keys",
        [401, 403, 403, 403, 403, 403, 403, 403, 201],
    ),
    (
        "GET",
        "/v1/webhook-endpoints",
        [401, 200, 200, 200, 200, 200, 200, 200, 200],
    ),
    (
        "POST",
        "/v1/webhook-endpoints",
        [401, 201, 403, 403, 403, 403, 403, 403, 201],
    ),
    (
        "GET",
        "/v1/webhook-endpoints/{id}",
        [401, 200, 404, 404, 404, 404, 200, 200, 200],
    ),
    (
        "PATCH",
        "/v1/webhook-endpoints/{id}",
        [401, 200, 404, 404, 404, 404, 403, 403, 200],
    ),
    (
        "POST",
        "/v1/webhook-endpoints/{id}/rotate",
        [401, 200, 404, 404, 404, 404, 403, 403, 200],
    ),
    (
        "POST",
        "/v1/webhook-endpoints/{id}/enable",
        [401, 200, 404, 404, 404, 404, 403, 403, 200],
    ),
    (
        "POST",
        "/v1/webhook-endpoints/{id}/disable",
        [401, 200, 404, 404, 404, 404, 403, 403, 200],
    ),
    (
        "POST",
        "/v1/webhook-endpoints/{id}/test",
        [401, 200, 404, 404, 404, 404, 403, 403, 200],
    ),
    (
        "DELETE",
        "/v1/webhook-endpoints/{id}",
        [401, 204, 404, 404, 404, 404, 403, 403, 204],
    ),
    (
        "GET",
        "/v1/webhook-deliveries",
        [401, 200, 404, 404, 404, 404, 200, 200, 200],
    ),
    (
        "GET",
        "/v1/webhook-deliveries/{id}",
        [401, 200, 404, 404, 404, 404, 200, 200, 200],
    ),
    (
        "POST",
        "/v1/webhook-deliveries/{id}/redeliver",
        [401, 200, 404, 404, 404, 404, 403, 403, 200],
    ),
    ("GET", "/livez", [200; 9]),
    ("GET", "/readyz", [200; 9]),
    // There is no recorder in this world: whoever may read the figures finds none.
    (
        "GET",
        "/metrics",
        [401, 403, 403, 403, 403, 403, 404, 404, 404],
    ),
    ("GET", "/openapi.json", [200; 9]),
    ("GET", "/docs", [200; 9]),
    ("GET", "/docs/problems", [200; 9]),
    ("GET", "/docs/style.css", [200; 9]),
    // The last, since the stranger's key does not work after it.
    (
        "POST",
        "/v1/keys/{id}/revoke",
        [401, 403, 403, 403, 403, 403, 403, 403, 200],
    ),
];
