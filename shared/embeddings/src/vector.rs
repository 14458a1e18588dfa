//! Vectors and their quantised forms.

/// Most dimensions of a vector.
pub const MAX_DIMENSIONS: usize = 4096;

/// A vector of length 1, or of length 0 for a text without any known token.
#[derive(Clone, Debug, PartialEq)]
pub struct Vector(Vec<f32>);

impl Vector {
    /// `values`, scaled to length 1; [`None`] if one is not a number or infinite, or there are none or too many.
    #[must_use]
    pub fn normalised(mut values: Vec<f32>) -> Option<Self> {
        if values.is_empty() || values.len() > MAX_DIMENSIONS || !values.iter().all(|value| value.is_finite()) {
            return None;
        }
        let length = values.iter().map(|value| f64::from(*value).powi(2)).sum::<f64>().sqrt();
        if length > 0.0 {
            values.iter_mut().for_each(|value| *value = (f64::from(*value) / length) as f32);
        }
        Some(Self(values))
    }

    /// Its numbers.
    #[must_use]
    pub fn values(&self) -> &[f32] {
        &self.0
    }

    /// Whether it has length 0: it is similar to nothing.
    #[must_use]
    pub fn is_zero(&self) -> bool {
        self.0.iter().all(|value| *value == 0.0)
    }

    /// The signs of its numbers.
    #[must_use]
    pub fn code(&self) -> Code {
        let bits = self
            .0
            .chunks(8)
            .map(|values| values.iter().enumerate().fold(0, |byte, (bit, value)| byte | u8::from(*value > 0.0) << bit));
        Code(bits.collect())
    }

    /// Its numbers in a byte each.
    #[must_use]
    pub fn row(&self) -> Row {
        let most = self.0.iter().fold(0.0f32, |most, value| most.max(value.abs()));
        let scale = most / 127.0;
        let value = |value: &f32| if scale > 0.0 { (value / scale).round() as i8 } else { 0 };
        Row { scale, values: self.0.iter().map(value).collect() }
    }

    /// The cosine of the angle to a quantised vector, in bytes as [`Row::write`] writes them.
    #[must_use]
    pub fn similarity(&self, row: &[u8]) -> f32 {
        let Some((scale, values)) = row.split_first_chunk::<4>() else { return 0.0 };
        let sum: f32 = self.0.iter().zip(values).map(|(one, other)| one * f32::from(other.cast_signed())).sum();
        sum * f32::from_le_bytes(*scale)
    }
}

/// The signs of a vector's numbers: bit `i` of byte `i / 8` is whether the number is above 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Code(Vec<u8>);

impl Code {
    /// Its bytes.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// Bytes of the code of a vector of so many dimensions.
    #[must_use]
    pub const fn size(dimensions: usize) -> usize {
        dimensions.div_ceil(8)
    }

    /// The number of signs that differ from those of another code of the same size.
    #[must_use]
    pub fn distance(&self, other: &[u8]) -> u32 {
        let (one, one_rest) = self.0.as_chunks::<8>();
        let (two, two_rest) = other.as_chunks::<8>();
        let words = one.iter().zip(two).map(|(a, b)| (u64::from_le_bytes(*a) ^ u64::from_le_bytes(*b)).count_ones());
        words.sum::<u32>() + one_rest.iter().zip(two_rest).map(|(a, b)| (a ^ b).count_ones()).sum::<u32>()
    }
}

/// A vector in a byte for each number, which are multiples of `scale`.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    scale: f32,
    values: Vec<i8>,
}

impl Row {
    /// Bytes of a row of so many dimensions.
    #[must_use]
    pub const fn size(dimensions: usize) -> usize {
        dimensions + 4
    }

    /// Appends the scale as a little-endian number of four bytes, and then a byte for each number.
    pub fn write(&self, bytes: &mut Vec<u8>) {
        bytes.extend_from_slice(&self.scale.to_le_bytes());
        bytes.extend(self.values.iter().map(|value| value.cast_unsigned()));
    }
}

/// The vector that a row stands for.
#[must_use]
pub fn of_row(row: &[u8]) -> Option<Vector> {
    let (scale, values) = row.split_first_chunk::<4>()?;
    let scale = f32::from_le_bytes(*scale);
    Vector::normalised(values.iter().map(|value| f32::from(value.cast_signed()) * scale).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn cosine(one: &[f32], other: &[f32]) -> f64 {
        one.iter().zip(other).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum()
    }

    fn vectors() -> impl Strategy<Value = (Vec<f32>, Vec<f32>)> {
        (1usize..300).prop_flat_map(|size| {
            let values = || prop::collection::vec(-1.0f32..1.0, size);
            (values(), values())
        })
    }

    proptest! {
        #[test]
        fn a_row_keeps_the_angle((one, other) in vectors()) {
            let (one, other) = (Vector::normalised(one).unwrap(), Vector::normalised(other).unwrap());
            let mut row = Vec::new();
            other.row().write(&mut row);
            prop_assert_eq!(row.len(), Row::size(other.values().len()));
            let exact = cosine(one.values(), other.values());
            prop_assert!((f64::from(one.similarity(&row)) - exact).abs() < 0.01);
            prop_assert!((cosine(of_row(&row).unwrap().values(), other.values()) - f64::from(u8::from(!other.is_zero()))).abs() < 0.01);
        }

        #[test]
        fn codes_differ_where_signs_do((one, other) in vectors()) {
            let (one, other) = (Vector::normalised(one).unwrap(), Vector::normalised(other).unwrap());
            let signs = one.values().iter().zip(other.values()).filter(|(a, b)| (**a > 0.0) != (**b > 0.0)).count();
            prop_assert_eq!(one.code().distance(other.code().bytes()) as usize, signs);
            prop_assert_eq!(one.code().bytes().len(), Code::size(one.values().len()));
        }
    }

    #[test]
    fn only_numbers_are_a_vector() {
        assert!(Vector::normalised(vec![f32::NAN]).is_none());
        assert!(Vector::normalised(vec![f32::INFINITY, 1.0]).is_none());
        assert!(Vector::normalised(Vec::new()).is_none());
        assert!(Vector::normalised(vec![0.0; 3]).unwrap().is_zero());
        assert!(Vector::normalised(vec![0.0; 3]).unwrap().similarity(&[0; 7]).abs() < f32::EPSILON);
    }
}
