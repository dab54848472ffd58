//! Values of statements and rows, as the server's types want them.

use std::error::Error as StdError;
use std::fmt::Write as _;

use bonded_state::database::SqlValue;
use bytes::{BufMut as _, BytesMut};
use tokio_postgres::types::{Format, FromSql, IsNull, ToSql, Type, to_sql_checked};
use tokio_postgres::{Error, Row};

/// A value, for a parameter of whatever type.
#[derive(Debug)]
pub(crate) struct Bound<'a>(pub(crate) &'a SqlValue);

impl ToSql for Bound<'_> {
    fn to_sql(
        &self,
        ty: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn StdError + Sync + Send>> {
        match self.0 {
            SqlValue::Null => Ok(IsNull::Yes),
            SqlValue::Integer(number) if *ty == Type::INT8 => number.to_sql(ty, out),
            SqlValue::Integer(number) if *ty == Type::INT4 => {
                i32::try_from(*number)?.to_sql(ty, out)
            }
            SqlValue::Integer(number) if *ty == Type::INT2 => {
                i16::try_from(*number)?.to_sql(ty, out)
            }
            SqlValue::Integer(number) if *ty == Type::BOOL => (*number != 0).to_sql(ty, out),
            SqlValue::Real(number) if *ty == Type::FLOAT8 => number.to_sql(ty, out),
            SqlValue::Text(text) if <&str as ToSql>::accepts(ty) => text.as_str().to_sql(ty, out),
            SqlValue::Bytes(bytes) if *ty == Type::BYTEA => bytes.as_slice().to_sql(ty, out),
            SqlValue::Integer(_) | SqlValue::Real(_) | SqlValue::Text(_) | SqlValue::Bytes(_) => {
                Err(format!("no {ty} can be made of this value").into())
            }
        }
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

/// A value as the server reads it from a text, for a parameter whose type is not known here.
#[derive(Debug)]
pub(crate) struct InWords<'a>(pub(crate) &'a SqlValue);

impl ToSql for InWords<'_> {
    fn to_sql(
        &self,
        _: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn StdError + Sync + Send>> {
        match self.0 {
            SqlValue::Null => return Ok(IsNull::Yes),
            SqlValue::Integer(number) => write!(out, "{number}")?,
            SqlValue::Real(number) => match number.is_infinite() {
                true if *number > 0.0 => out.put_slice(b"Infinity"),
                true => out.put_slice(b"-Infinity"),
                false => write!(out, "{number}")?,
            },
            SqlValue::Text(text) => out.put_slice(text.as_bytes()),
            SqlValue::Bytes(bytes) => {
                out.put_slice(b"\\x");
                for byte in bytes {
                    let digit = |half: u8| b"0123456789abcdef"[usize::from(half)];
                    out.put_slice(&[digit(byte >> 4), digit(byte & 15)]);
                }
            }
        }
        Ok(IsNull::No)
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    fn encode_format(&self, _: &Type) -> Format {
        Format::Text
    }

    to_sql_checked!();
}

/// A column of whatever type.
struct Column(SqlValue);

impl<'a> FromSql<'a> for Column {
    fn from_sql(ty: &Type, raw: &'a [u8]) -> Result<Self, Box<dyn StdError + Sync + Send>> {
        let value = match *ty {
            Type::BOOL => SqlValue::Integer(bool::from_sql(ty, raw)?.into()),
            Type::INT2 => SqlValue::Integer(i16::from_sql(ty, raw)?.into()),
            Type::INT4 => SqlValue::Integer(i32::from_sql(ty, raw)?.into()),
            Type::INT8 => SqlValue::Integer(i64::from_sql(ty, raw)?),
            Type::FLOAT8 => SqlValue::Real(f64::from_sql(ty, raw)?),
            Type::BYTEA => SqlValue::Bytes(raw.to_vec()),
            _ if <&str as FromSql<'_>>::accepts(ty) => {
                SqlValue::Text(<&str as FromSql<'_>>::from_sql(ty, raw)?.to_owned())
            }
            _ => return Err(format!("a column of type {ty} is not read").into()),
        };
        Ok(Self(value))
    }

    fn from_sql_null(_: &Type) -> Result<Self, Box<dyn StdError + Sync + Send>> {
        Ok(Self(SqlValue::Null))
    }

    fn accepts(_: &Type) -> bool {
        true
    }
}

/// All columns of a row.
pub(crate) fn read(row: &Row) -> Result<Vec<SqlValue>, Error> {
    let column = |index| row.try_get::<_, Column>(index).map(|column| column.0);
    (0..row.len()).map(column).collect()
}
