//! Webhook endpoints, from the façade to real receivers on loopback.

mod deliveries;
mod failures;
mod house;
mod owners;
mod receiver;
mod restarts;
mod secrets;
