//! Computes the vectors of a network of the BERT family.
//!
//! Each text is computed by itself, without padding, so its vector does not depend on the texts beside it.

use ndarray::{Array1, Array2, ArrayView1, ArrayView2, Axis, Slice};

use crate::ModelError;
use crate::architecture::{Activation, Architecture, Pooling};

/// A network.
#[derive(Debug)]
pub struct Network {
    architecture: Architecture,
    dimensions: usize,
    positions: Array2<f32>,
    norm: Norm,
    layers: Vec<Layer>,
}

#[derive(Debug)]
struct Layer {
    query: Linear,
    key: Linear,
    value: Linear,
    attended: Linear,
    attended_norm: Norm,
    inner: Linear,
    outer: Linear,
    norm: Norm,
}

#[derive(Debug)]
struct Linear {
    weights: Array2<f32>,
    bias: Array1<f32>,
}

#[derive(Debug)]
struct Norm {
    scale: Array1<f32>,
    shift: Array1<f32>,
    epsilon: f32,
}

/// Takes tensors from numbers in the order in which they are stored.
struct Reader<I>(I);

impl<I: Iterator<Item = f32>> Reader<I> {
    fn matrix(&mut self, rows: usize, columns: usize) -> Result<Array2<f32>, ModelError> {
        let numbers: Vec<f32> = self.0.by_ref().take(rows * columns).collect();
        if !numbers.iter().all(|number| number.is_finite()) {
            return Err(ModelError::damaged(NETWORK, "a number in it is infinite or none"));
        }
        Array2::from_shape_vec((rows, columns), numbers).map_err(|_| ModelError::damaged(NETWORK, "it is cut short"))
    }

    fn vector(&mut self, size: usize) -> Result<Array1<f32>, ModelError> {
        Ok(self.matrix(1, size)?.row(0).to_owned())
    }

    fn linear(&mut self, rows: usize, columns: usize) -> Result<Linear, ModelError> {
        Ok(Linear { weights: self.matrix(rows, columns)?, bias: self.vector(rows)? })
    }

    fn norm(&mut self, size: usize, epsilon: f32) -> Result<Norm, ModelError> {
        Ok(Norm { scale: self.vector(size)?, shift: self.vector(size)?, epsilon })
    }
}

const NETWORK: &str = "the network of the model";

impl Network {
    /// The network of these numbers, for vectors of so many dimensions.
    ///
    /// # Errors
    /// When there are too few numbers, or one is infinite or none.
    pub fn new(
        architecture: &Architecture,
        dimensions: usize,
        numbers: impl Iterator<Item = f32>,
    ) -> Result<Self, ModelError> {
        let Architecture { layers, intermediate, positions, epsilon, .. } = *architecture;
        let mut reader = Reader(numbers);
        let positions = reader.matrix(positions, dimensions)?;
        let norm = reader.norm(dimensions, epsilon)?;
        let layer = |_| {
            Ok(Layer {
                query: reader.linear(dimensions, dimensions)?,
                key: reader.linear(dimensions, dimensions)?,
                value: reader.linear(dimensions, dimensions)?,
                attended: reader.linear(dimensions, dimensions)?,
                attended_norm: reader.norm(dimensions, epsilon)?,
                inner: reader.linear(intermediate, dimensions)?,
                outer: reader.linear(dimensions, intermediate)?,
                norm: reader.norm(dimensions, epsilon)?,
            })
        };
        let layers = (0..layers).map(layer).collect::<Result<_, ModelError>>()?;
        Ok(Self { architecture: architecture.clone(), dimensions, positions, norm, layers })
    }

    /// The vector of a text, of whose tokens these are the rows, one after the other; [`None`] if there are none, or more than it takes.
    pub(crate) fn pooled(&self, rows: &[f32]) -> Option<Vec<f32>> {
        let tokens = rows.len() / self.dimensions.max(1);
        if tokens == 0 || tokens > self.positions.nrows() {
            return None;
        }
        let rows = ArrayView2::from_shape((tokens, self.dimensions), rows).ok()?;
        let mut state = self.norm.of(&rows + &self.positions.slice_axis(Axis(0), Slice::from(..tokens)));
        for layer in &self.layers {
            let attended = layer.attended.of(&self.attention(layer, &state));
            state = layer.attended_norm.of(attended + &state);
            let mut inner = layer.inner.of(&state);
            inner.mapv_inplace(|number| activate(self.architecture.activation, number));
            state = layer.norm.of(layer.outer.of(&inner) + &state);
        }
        match self.architecture.pooling {
            Pooling::Cls => Some(state.row(0).to_vec()),
            Pooling::Mean => state.mean_axis(Axis(0)).map(|mean| mean.to_vec()),
        }
    }

    /// Each token's mixture of the values of all, by how near their keys are to its query, in each head.
    fn attention(&self, layer: &Layer, state: &Array2<f32>) -> Array2<f32> {
        let (query, key, value) = (layer.query.of(state), layer.key.of(state), layer.value.of(state));
        let size = self.dimensions / self.architecture.heads;
        let scale = 1.0 / (size as f32).sqrt();
        let mut mixed = Array2::zeros(state.raw_dim());
        for head in 0..self.architecture.heads {
            let part = Slice::from(head * size..(head + 1) * size);
            let of = |all: &Array2<f32>| all.slice_axis(Axis(1), part).to_owned();
            let mut weights = of(&query).dot(&of(&key).t());
            weights *= scale;
            weights.rows_mut().into_iter().for_each(|mut row| {
                let most = row.fold(f32::NEG_INFINITY, |most, number| most.max(*number));
                row.mapv_inplace(|number| libm::expf(number - most));
                let sum = row.sum();
                row /= sum;
            });
            mixed.slice_axis_mut(Axis(1), part).assign(&weights.dot(&of(&value)));
        }
        mixed
    }
}

impl Linear {
    fn of(&self, state: &Array2<f32>) -> Array2<f32> {
        state.dot(&self.weights.t()) + &self.bias
    }
}

impl Norm {
    fn of(&self, mut state: Array2<f32>) -> Array2<f32> {
        for mut row in state.rows_mut() {
            let size = row.len() as f32;
            let mean = row.sum() / size;
            row -= mean;
            let variance = squares(row.view()) / size;
            row /= (variance + self.epsilon).sqrt();
        }
        state * &self.scale + &self.shift
    }
}

fn squares(row: ArrayView1<'_, f32>) -> f32 {
    row.dot(&row)
}

fn activate(activation: Activation, number: f32) -> f32 {
    /// The square root of 2/π.
    const ROOT: f32 = 0.797_884_6;
    match activation {
        Activation::Gelu => 0.5 * number * (1.0 + libm::erff(number * std::f32::consts::FRAC_1_SQRT_2)),
        Activation::GeluTanh => {
            0.5 * number * (1.0 + libm::tanhf(ROOT * (number + 0.044_715 * number * number * number)))
        }
        Activation::Relu => number.max(0.0),
    }
}
