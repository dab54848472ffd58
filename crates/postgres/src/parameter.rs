//! Values of statements that know their own type, so that they can be sent without the statement being prepared first.

use std::time::SystemTime;

use tokio_postgres::types::{ToSql, Type};

/// The values of a statement.
pub(crate) type SqlValues<'a> = &'a [&'a dyn SqlParameter];

/// A value of a statement.
pub(crate) trait SqlParameter: Sync {
    fn sql_type(&self) -> Type;
    fn as_sql(&self) -> &(dyn ToSql + Sync);
}

impl<T: SqlTyped + ToSql + Sync> SqlParameter for T {
    fn sql_type(&self) -> Type {
        T::TYPE
    }

    fn as_sql(&self) -> &(dyn ToSql + Sync) {
        self
    }
}

/// What the server calls a type, and arrays of it. No statement has arrays of arrays.
pub(crate) trait SqlTyped {
    const TYPE: Type;
    const ARRAY: Type = Type::ANYARRAY;
}

macro_rules! scalars {
    ($($rust:ty: $sql:ident, $array:ident;)*) => {
        $(impl SqlTyped for $rust {
            const TYPE: Type = Type::$sql;
            const ARRAY: Type = Type::$array;
        })*
    };
}

scalars! {
    i16: INT2, INT2_ARRAY;
    i32: INT4, INT4_ARRAY;
    i64: INT8, INT8_ARRAY;
    f64: FLOAT8, FLOAT8_ARRAY;
    str: TEXT, TEXT_ARRAY;
    String: TEXT, TEXT_ARRAY;
    [u8]: BYTEA, BYTEA_ARRAY;
    Vec<u8>: BYTEA, BYTEA_ARRAY;
    SystemTime: TIMESTAMPTZ, TIMESTAMPTZ_ARRAY;
}

impl<T: SqlTyped + ?Sized> SqlTyped for &T {
    const TYPE: Type = T::TYPE;
    const ARRAY: Type = T::ARRAY;
}

impl<T: SqlTyped> SqlTyped for Option<T> {
    const TYPE: Type = T::TYPE;
    const ARRAY: Type = T::ARRAY;
}

impl<T: SqlTyped> SqlTyped for Vec<T> {
    const TYPE: Type = T::ARRAY;
}

impl<T: SqlTyped> SqlTyped for [T] {
    const TYPE: Type = T::ARRAY;
}
