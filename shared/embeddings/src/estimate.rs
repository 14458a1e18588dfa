//! What codes say of similarities.

use crate::vector::Vector;

/// What a code says of the similarity to a vector: the sum of the vector's numbers, each with the code's sign.
#[derive(Debug)]
pub struct Estimate {
    /// For each byte of a code, what each of its values adds.
    tables: Vec<[f32; 256]>,
    most: f32,
}

impl Estimate {
    /// Of similarities to `vector`.
    #[must_use]
    pub fn of(vector: &Vector) -> Self {
        let table = |values: &[f32]| {
            let mut table = [0.0f32; 256];
            for (byte, sum) in (0u32..).zip(&mut table) {
                *sum = values
                    .iter()
                    .enumerate()
                    .map(|(bit, value)| if byte >> bit & 1 == 1 { *value } else { -value })
                    .sum();
            }
            table
        };
        Self {
            tables: vector.values().chunks(8).map(table).collect(),
            most: vector.values().iter().map(|value| value.abs()).sum(),
        }
    }

    /// How far a code is: from 0 to 2,000,000.
    #[must_use]
    pub fn distance(&self, code: &[u8]) -> u32 {
        let sums = self.tables.iter().zip(code).filter_map(|(table, byte)| table.get(usize::from(*byte)));
        let share = sums.sum::<f32>() / self.most.max(f32::MIN_POSITIVE);
        ((1.0 - share).max(0.0) * 1e6) as u32
    }
}
