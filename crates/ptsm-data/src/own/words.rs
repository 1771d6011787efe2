//! A setting that is a word or a list of words.

use std::fmt;

use serde::Deserialize;
use serde::de::{self, Deserializer, SeqAccess, Visitor};

/// A word or a list of them; numbers are words too.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Words {
    One(String),
    Many(Vec<String>),
}

impl Words {
    /// All of them.
    pub(super) fn list(self) -> Vec<String> {
        match self {
            Words::One(word) => vec![word],
            Words::Many(words) => words,
        }
    }
}

impl<'de> Deserialize<'de> for Words {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Words, D::Error> {
        struct WordsVisitor;

        impl<'de> Visitor<'de> for WordsVisitor {
            type Value = Words;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text or a list of texts")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Words, E> {
                Ok(Words::One(text.to_string()))
            }

            fn visit_i64<E: de::Error>(self, number: i64) -> Result<Words, E> {
                Ok(Words::One(number.to_string()))
            }

            fn visit_f64<E: de::Error>(self, number: f64) -> Result<Words, E> {
                Ok(Words::One(number.to_string()))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Words, A::Error> {
                let mut words = vec![];
                while let Some(word) = list.next_element::<Words>()? {
                    match word {
                        Words::One(word) => words.push(word),
                        Words::Many(_) => return Err(de::Error::custom("a list in a list is no text")),
                    }
                }
                Ok(Words::Many(words))
            }
        }

        from.deserialize_any(WordsVisitor)
    }
}
