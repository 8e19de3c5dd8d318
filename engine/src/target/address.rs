//! Which addresses may be called (invariant I17).

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

/// What may be called beyond public addresses.
#[derive(Clone, Debug, Default)]
pub struct NetworkOptions {
    /// Loopback and private ranges that names may resolve to.
    pub allow: Vec<AddressRange>,
}

/// A range of addresses, written like `10.1.0.0/16` or `fd00::/8`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AddressRange {
    base: u128,
    is_v4: bool,
    bits: u8,
}

/// The text is not a range of addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a range of addresses is written like 10.1.0.0/16 or fd00::/8")]
pub struct RangeFormatError;

impl FromStr for AddressRange {
    type Err = RangeFormatError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (address, bits) = text.split_once('/').ok_or(RangeFormatError)?;
        let address: IpAddr = address.parse().map_err(|_| RangeFormatError)?;
        let bits: u8 = bits.parse().map_err(|_| RangeFormatError)?;
        let (base, is_v4, width) = numeric(address);
        if width < bits {
            return Err(RangeFormatError);
        }
        Ok(Self { base, is_v4, bits })
    }
}

impl AddressRange {
    /// Whether the address is in the range.
    pub fn contains(&self, address: IpAddr) -> bool {
        let (value, is_v4, width) = numeric(address);
        let shift = u32::from(width - self.bits.min(width));
        is_v4 == self.is_v4
            && value.checked_shr(shift).unwrap_or(0) == self.base.checked_shr(shift).unwrap_or(0)
    }
}

fn numeric(address: IpAddr) -> (u128, bool, u8) {
    match address {
        IpAddr::V4(v4) => (u128::from(v4.to_bits()), true, 32),
        IpAddr::V6(v6) => (v6.to_bits(), false, 128),
    }
}

/// What kind of address it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddressKind {
    /// Anybody's.
    Public,
    /// This machine or this network: only where the definition names it or a range allows it.
    Local,
    /// Never called: link-local (where clouds answer with credentials), unspecified, multicast,
    /// broadcast, reserved.
    Forbidden,
}

/// An address that must not be called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub struct AddressRefused {
    address: IpAddr,
    kind: AddressKind,
}

impl fmt::Display for AddressRefused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let address = self.address;
        match self.kind {
            AddressKind::Forbidden => write!(f, "{address} is an address that is never called"),
            AddressKind::Local | AddressKind::Public => write!(
                f,
                "{address} is an address of this machine or network; allow its range (allowRanges), or \
                 for a tool write the address itself into the tools file"
            ),
        }
    }
}

/// Whether the address may be called. `named` says that the definition itself names a local address.
pub fn check(address: IpAddr, named: bool, allow: &[AddressRange]) -> Result<(), AddressRefused> {
    let kind = kind_of(address);
    let plain = plain(address);
    let allowed = match kind {
        AddressKind::Public => true,
        AddressKind::Local => named || allow.iter().any(|range| range.contains(plain)),
        AddressKind::Forbidden => false,
    };
    if allowed {
        Ok(())
    } else {
        Err(AddressRefused { address, kind })
    }
}

/// What kind of address it is, seen through the notations that embed IPv4 in IPv6.
pub fn kind_of(address: IpAddr) -> AddressKind {
    match plain(address) {
        IpAddr::V4(v4) => kind_of_v4(v4),
        IpAddr::V6(v6) => kind_of_v6(v6),
    }
}

fn plain(address: IpAddr) -> IpAddr {
    let IpAddr::V6(v6) = address else {
        return address;
    };
    let embedded = |high: u16, low: u16| {
        IpAddr::V4(Ipv4Addr::from_bits(u32::from(high) << 16 | u32::from(low)))
    };
    match v6.segments() {
        // Mapped (::ffff:0:0/96), translated (::ffff:0:0:0/96), NAT64 (64:ff9b::/96), 6to4
        // (2002::/16).
        [0, 0, 0, 0, 0, 0xffff, high, low]
        | [0, 0, 0, 0, 0xffff, 0, high, low]
        | [0x64, 0xff9b, 0, 0, 0, 0, high, low]
        | [0x2002, high, low, ..] => embedded(high, low),
        // Compatible (::/96), but for :: and ::1.
        [0, 0, 0, 0, 0, 0, high, low] if 0 < high || 1 < low => embedded(high, low),
        _ => address,
    }
}

fn kind_of_v4(address: Ipv4Addr) -> AddressKind {
    let [a, b, ..] = address.octets();
    if address.is_unspecified()
        || address.is_link_local()
        || address.is_multicast()
        || address.is_broadcast()
        || a == 0
        || 240 <= a
    {
        AddressKind::Forbidden
    } else if address.is_loopback()
        || address.is_private()
        || (a == 100 && (64..128).contains(&b))
        || (a == 198 && (18..20).contains(&b))
        || (a == 192 && b == 0 && address.octets()[2] == 0)
    {
        AddressKind::Local
    } else {
        AddressKind::Public
    }
}

fn kind_of_v6(address: Ipv6Addr) -> AddressKind {
    if address.is_unspecified() || address.is_multicast() || address.is_unicast_link_local() {
        AddressKind::Forbidden
    } else if address.segments() == [0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254] {
        // The metadata service of a large cloud lives in a private range.
        AddressKind::Forbidden
    } else if matches!(address.segments(), [0x2001, 0, ..]) {
        // Teredo: leads to an IPv4 address that is hidden in it.
        AddressKind::Forbidden
    } else if address.is_loopback()
        || address.is_unique_local()
        // Site-local, and the NAT64 prefix for local use: whatever the network makes of them.
        || (address.segments()[0] & 0xffc0) == 0xfec0
        || matches!(address.segments(), [0x64, 0xff9b, 1, ..])
    {
        AddressKind::Local
    } else {
        AddressKind::Public
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(text: &str) -> AddressKind {
        kind_of(text.parse().expect("an address"))
    }

    #[test]
    fn i17_addresses_that_hand_out_credentials_are_never_called() {
        for text in [
            "169.254.169.254",
            "::ffff:169.254.169.254",
            "64:ff9b::a9fe:a9fe",
            "2002:a9fe:a9fe::1",
            "::169.254.169.254",
            "::ffff:0:169.254.169.254",
            "2001:0:a9fe:a9fe::1",
            "fd00:ec2::254",
            "fe80::1",
            "0.0.0.0",
            "::",
            "255.255.255.255",
            "224.0.0.1",
            "ff02::1",
        ] {
            assert_eq!(kind(text), AddressKind::Forbidden, "{text}");
        }
    }

    #[test]
    fn i17_local_addresses_need_to_be_named_or_allowed() {
        let range: AddressRange = "10.1.0.0/16".parse().expect("a range");
        for text in [
            "127.0.0.1",
            "::1",
            "10.2.3.4",
            "192.168.0.1",
            "fd12::1",
            "fec0::1",
            "64:ff9b:1::a00:1",
            "::ffff:10.2.3.4",
        ] {
            let address: IpAddr = text.parse().expect("an address");
            assert_eq!(kind_of(address), AddressKind::Local, "{text}");
            assert!(check(address, false, &[range]).is_err(), "{text}");
            assert!(check(address, true, &[]).is_ok(), "{text}");
        }
        let inside = "10.1.255.1".parse().expect("an address");
        assert!(check(inside, false, &[range]).is_ok());
        assert!(check("8.8.8.8".parse().expect("an address"), false, &[]).is_ok());
    }

    #[test]
    fn ranges_are_read_strictly() {
        for text in [
            "10.0.0.0",
            "10.0.0.0/33",
            "10.0.0/8",
            "fd00::/129",
            "x/8",
            "",
        ] {
            assert_eq!(
                text.parse::<AddressRange>(),
                Err(RangeFormatError),
                "{text}"
            );
        }
        let all: AddressRange = "0.0.0.0/0".parse().expect("a range");
        assert!(all.contains("200.1.2.3".parse().expect("an address")));
        assert!(!all.contains("::1".parse().expect("an address")));
    }
}
