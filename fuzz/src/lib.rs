//! The readers of `tests/fuzz`, one function each.

#[path = "../../tests/fuzz/readers/mod.rs"]
mod readers;

macro_rules! readers {
    ($($name:ident)*) => {$(
        /// Feeds the reader of this name.
        pub fn $name(data: &[u8]) {
            readers::$name(data);
        }
    )*};
}

readers! {
    address
    answer
    api
    cursor
    export_file
    headers
    hidden
    json
    page
    record
    recording
    rule
    schema
    skill_file
    stored
    template
    timetable
    tools_file
    webhook
}
