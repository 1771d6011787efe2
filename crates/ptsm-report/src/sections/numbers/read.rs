//! Reads what [`super::rounded`] writes: a number may be `null`, `"inf"` or `"-inf"`.

use serde::de::value::{MapAccessDeserializer, MapDeserializer, SeqDeserializer};
use serde::de::{Deserializer, IntoDeserializer, Visitor};
use serde::forward_to_deserialize_any;
use serde_json::{Error, Value};

/// A value that was read.
pub(super) struct JsonReader(pub(super) Value);

impl<'de> IntoDeserializer<'de, Error> for JsonReader {
    type Deserializer = JsonReader;

    fn into_deserializer(self) -> JsonReader {
        self
    }
}

fn entries(
    all: serde_json::Map<String, Value>,
) -> MapDeserializer<'static, impl Iterator<Item = (String, JsonReader)>, Error> {
    MapDeserializer::new(all.into_iter().map(|(key, value)| (key, JsonReader(value))))
}

impl<'de> Deserializer<'de> for JsonReader {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.0 {
            Value::Array(all) => {
                let mut rest = SeqDeserializer::new(all.into_iter().map(JsonReader));
                let made = visitor.visit_seq(&mut rest)?;
                rest.end()?;
                Ok(made)
            }
            Value::Object(all) => visitor.visit_map(entries(all)),
            plain => plain.deserialize_any(visitor),
        }
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match &self.0 {
            Value::Null => visitor.visit_f64(f64::NAN),
            Value::String(text) if text == "inf" => visitor.visit_f64(f64::INFINITY),
            Value::String(text) if text == "-inf" => visitor.visit_f64(f64::NEG_INFINITY),
            _ => self.deserialize_any(visitor),
        }
    }

    fn deserialize_f32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_f64(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.0 {
            Value::Null => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        match self.0 {
            Value::Object(all) => {
                MapAccessDeserializer::new(entries(all)).deserialize_enum(name, variants, visitor)
            }
            plain => plain.deserialize_enum(name, variants, visitor),
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 char str string bytes byte_buf unit unit_struct seq tuple tuple_struct map struct
        identifier ignored_any
    }
}
