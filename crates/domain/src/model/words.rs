//! Enums whose variants are words: on the wire, in messages and in the database.

/// Defines enums whose variants are words in `snake_case`, unless an attribute of the variant names another one.
///
/// `text.parse()` reads a word, `as_str` and `Display` write it, and `VARIANTS` lists the variants.
macro_rules! words {
    ($($(#[$meta:meta])* pub enum $name:ident { $($variants:tt)* })*) => {$(
        $(#[$meta])*
        #[derive(
            Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize,
            strum::Display, strum::EnumString, strum::IntoStaticStr, strum::VariantArray,
        )]
        #[serde(rename_all = "snake_case")]
        #[strum(serialize_all = "snake_case")]
        pub enum $name { $($variants)* }

        impl $name {
            /// The variant's word.
            pub fn as_str(self) -> &'static str {
                self.into()
            }
        }
    )*};
}
pub(crate) use words;
