//! [`numbered!`]: enums whose numbers are stored.

/// Defines an enum of one byte whose numbers are stored and never change, with `ALL` of its variants and `from_u8`.
macro_rules! numbered {
    ($(#[$about:meta])* pub enum $name:ident { $($(#[$doc:meta])* $variant:ident = $number:literal),* $(,)? }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum $name {
            $($(#[$doc])* $variant = $number),*
        }

        impl $name {
            /// All variants, in the order of their stored numbers.
            pub const ALL: [Self; [$($number),*].len()] = [$(Self::$variant),*];

            /// Returns the variant with this stored number; `None` for an unknown one.
            pub fn from_u8(number: u8) -> Option<Self> {
                match number {
                    $($number => Some(Self::$variant),)*
                    _ => None,
                }
            }
        }
    };
}

pub(crate) use numbered;
