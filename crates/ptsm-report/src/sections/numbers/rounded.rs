//! Writes numbers with seven significant digits: more of them differ between processors, and nobody can see them on a page.
//!
//! JSON has no infinities, which an effect can be: they are written as `"inf"` and `"-inf"`. What is not a number is `null`. Both would be `null`
//! by `serde_json` itself, hence a serializer in between.

use serde::ser::{
    Serialize, SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant, SerializeTuple,
    SerializeTupleStruct, SerializeTupleVariant, Serializer,
};

/// Whatever it holds, written with rounded numbers.
pub(super) struct RoundedNumbers<'a, T: ?Sized>(pub(super) &'a T);

impl<T: Serialize + ?Sized> Serialize for RoundedNumbers<'_, T> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(Rounding(to))
    }
}

fn rounded(value: f64) -> f64 {
    format!("{value:.6e}").parse().expect("a number that was just written can be read")
}

/// Passes everything on to another serializer, numbers rounded.
struct Rounding<S>(S);

/// Methods that change nothing.
macro_rules! passed_on {
    ($($name:ident($type:ty)),+) => {
        $(fn $name(self, value: $type) -> Result<S::Ok, S::Error> { self.0.$name(value) })+
    };
}

impl<S: Serializer> Serializer for Rounding<S> {
    type Ok = S::Ok;
    type Error = S::Error;
    type SerializeSeq = Rounding<S::SerializeSeq>;
    type SerializeTuple = Rounding<S::SerializeTuple>;
    type SerializeTupleStruct = Rounding<S::SerializeTupleStruct>;
    type SerializeTupleVariant = Rounding<S::SerializeTupleVariant>;
    type SerializeMap = Rounding<S::SerializeMap>;
    type SerializeStruct = Rounding<S::SerializeStruct>;
    type SerializeStructVariant = Rounding<S::SerializeStructVariant>;

    passed_on!(serialize_bool(bool), serialize_char(char), serialize_str(&str), serialize_bytes(&[u8]));
    passed_on!(serialize_i8(i8), serialize_i16(i16), serialize_i32(i32), serialize_i64(i64));
    passed_on!(serialize_u8(u8), serialize_u16(u16), serialize_u32(u32), serialize_u64(u64));
    passed_on!(serialize_unit_struct(&'static str));

    fn serialize_f32(self, value: f32) -> Result<S::Ok, S::Error> {
        match value.is_finite() {
            // It has no more digits.
            true => self.0.serialize_f32(value),
            false => self.serialize_f64(value.into()),
        }
    }

    fn serialize_f64(self, value: f64) -> Result<S::Ok, S::Error> {
        match value {
            f64::INFINITY => self.0.serialize_str("inf"),
            f64::NEG_INFINITY => self.0.serialize_str("-inf"),
            _ if value.is_nan() => self.0.serialize_none(),
            _ => self.0.serialize_f64(rounded(value)),
        }
    }

    fn serialize_none(self) -> Result<S::Ok, S::Error> {
        self.0.serialize_none()
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<S::Ok, S::Error> {
        self.0.serialize_some(&RoundedNumbers(value))
    }

    fn serialize_unit(self) -> Result<S::Ok, S::Error> {
        self.0.serialize_unit()
    }

    fn serialize_unit_variant(
        self,
        name: &'static str,
        index: u32,
        variant: &'static str,
    ) -> Result<S::Ok, S::Error> {
        self.0.serialize_unit_variant(name, index, variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        name: &'static str,
        value: &T,
    ) -> Result<S::Ok, S::Error> {
        self.0.serialize_newtype_struct(name, &RoundedNumbers(value))
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        name: &'static str,
        index: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<S::Ok, S::Error> {
        self.0.serialize_newtype_variant(name, index, variant, &RoundedNumbers(value))
    }

    fn serialize_seq(self, length: Option<usize>) -> Result<Self::SerializeSeq, S::Error> {
        self.0.serialize_seq(length).map(Rounding)
    }

    fn serialize_tuple(self, length: usize) -> Result<Self::SerializeTuple, S::Error> {
        self.0.serialize_tuple(length).map(Rounding)
    }

    fn serialize_tuple_struct(
        self,
        name: &'static str,
        length: usize,
    ) -> Result<Self::SerializeTupleStruct, S::Error> {
        self.0.serialize_tuple_struct(name, length).map(Rounding)
    }

    fn serialize_tuple_variant(
        self,
        name: &'static str,
        index: u32,
        variant: &'static str,
        length: usize,
    ) -> Result<Self::SerializeTupleVariant, S::Error> {
        self.0.serialize_tuple_variant(name, index, variant, length).map(Rounding)
    }

    fn serialize_map(self, length: Option<usize>) -> Result<Self::SerializeMap, S::Error> {
        self.0.serialize_map(length).map(Rounding)
    }

    fn serialize_struct(self, name: &'static str, length: usize) -> Result<Self::SerializeStruct, S::Error> {
        self.0.serialize_struct(name, length).map(Rounding)
    }

    fn serialize_struct_variant(
        self,
        name: &'static str,
        index: u32,
        variant: &'static str,
        length: usize,
    ) -> Result<Self::SerializeStructVariant, S::Error> {
        self.0.serialize_struct_variant(name, index, variant, length).map(Rounding)
    }
}

/// What is made of several values without names.
macro_rules! rows {
    ($($kind:ident::$method:ident),+) => {
        $(impl<S: $kind> $kind for Rounding<S> {
            type Ok = S::Ok;
            type Error = S::Error;

            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), S::Error> {
                self.0.$method(&RoundedNumbers(value))
            }

            fn end(self) -> Result<S::Ok, S::Error> {
                self.0.end()
            }
        })+
    };
}

rows!(
    SerializeSeq::serialize_element,
    SerializeTuple::serialize_element,
    SerializeTupleStruct::serialize_field,
    SerializeTupleVariant::serialize_field
);

/// What is made of several values with names.
macro_rules! named {
    ($($kind:ident),+) => {
        $(impl<S: $kind> $kind for Rounding<S> {
            type Ok = S::Ok;
            type Error = S::Error;

            fn serialize_field<T: Serialize + ?Sized>(&mut self, key: &'static str, value: &T) -> Result<(), S::Error> {
                self.0.serialize_field(key, &RoundedNumbers(value))
            }

            fn end(self) -> Result<S::Ok, S::Error> {
                self.0.end()
            }
        })+
    };
}

named!(SerializeStruct, SerializeStructVariant);

impl<S: SerializeMap> SerializeMap for Rounding<S> {
    type Ok = S::Ok;
    type Error = S::Error;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), S::Error> {
        self.0.serialize_key(key)
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), S::Error> {
        self.0.serialize_value(&RoundedNumbers(value))
    }

    fn end(self) -> Result<S::Ok, S::Error> {
        self.0.end()
    }
}
