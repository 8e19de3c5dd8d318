//! The reading half of [`EventLog`](crate::EventLog) for a log around another one.

/// Writes, inside an `impl EventLog`, every method that only reads, each as the log inside answers
/// it: `forward_reads!(self => self.inner);`. With `, except get` all but
/// [`get`](crate::EventLog::get), with `, except subscribe` all but
/// [`subscribe`](crate::EventLog::subscribe), for a log that answers that one by itself.
#[macro_export]
macro_rules! forward_reads {
    ($self:ident => $inner:expr) => {
        $crate::forward_reads!($self => $inner, except get);
        $crate::forward_reads!($self => $inner, only get);
    };
    ($self:ident => $inner:expr, except subscribe) => {
        $crate::forward_reads!($self => $inner, except get and subscribe);
        $crate::forward_reads!($self => $inner, only get);
    };
    ($self:ident => $inner:expr, except get) => {
        $crate::forward_reads!($self => $inner, except get and subscribe);

        fn subscribe(&$self, after: $crate::Position) -> $crate::Subscription {
            $inner.subscribe(after)
        }
    };
    ($self:ident => $inner:expr, only get) => {
        fn get(
            &$self,
            index: u8,
            key: &[u8],
        ) -> ::std::result::Result<::std::option::Option<::std::vec::Vec<u8>>, $crate::ReadError> {
            $inner.get(index, key)
        }
    };
    ($self:ident => $inner:expr, except get and subscribe) => {
        fn read_stream(
            &$self,
            stream: &$crate::StreamId,
            after: $crate::Version,
            limit: usize,
        ) -> ::std::result::Result<::std::vec::Vec<$crate::Record>, $crate::ReadError> {
            $inner.read_stream(stream, after, limit)
        }

        fn stream_version(
            &$self,
            stream: &$crate::StreamId,
        ) -> ::std::result::Result<$crate::Version, $crate::ReadError> {
            $inner.stream_version(stream)
        }

        fn read_all(
            &$self,
            after: $crate::Position,
            limit: usize,
        ) -> ::std::result::Result<::std::vec::Vec<$crate::Record>, $crate::ReadError> {
            $inner.read_all(after, limit)
        }

        fn scan(
            &$self,
            index: u8,
            range: $crate::ScanRange<'_>,
            limit: usize,
            direction: $crate::Direction,
        ) -> ::std::result::Result<$crate::Entries, $crate::ReadError> {
            $inner.scan(index, range, limit, direction)
        }

        fn claim(
            &$self,
            key: &[u8],
        ) -> ::std::result::Result<::std::option::Option<::std::vec::Vec<u8>>, $crate::ReadError> {
            $inner.claim(key)
        }

        fn claims(
            &$self,
            above: ::std::option::Option<&[u8]>,
            limit: usize,
        ) -> ::std::result::Result<$crate::Entries, $crate::ReadError> {
            $inner.claims(above, limit)
        }

        fn origin(&$self) -> $crate::Origin {
            $inner.origin()
        }

        fn stats(&$self) -> ::std::result::Result<$crate::Stats, $crate::ReadError> {
            $inner.stats()
        }
    };
}
