//! What sums, means, variances and regressions are computed from, so that parts can be put together.
//!
//! Means and squares about them follow Chan, Golub and LeVeque (Updating Formulae and a Pairwise Algorithm for Computing Sample Variances,
//! 1979).

/// How many numbers they are.
pub(super) const PARTS: usize = 8;

/// Of pairs of numbers, in the order of SQL: `regr_slope(y, x)`.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Moments {
    count: f64,
    sum_y: f64,
    sum_x: f64,
    mean_y: f64,
    mean_x: f64,
    squares_y: f64,
    squares_x: f64,
    products: f64,
}

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Figure {
    Sum,
    Mean,
    Variance { is_sample: bool, is_root: bool },
    Covariance { is_sample: bool },
    Correlation,
    Slope,
    Intercept,
    Determination,
    MeanX,
    MeanY,
    SquaresX,
    SquaresY,
    Products,
}

impl Figure {
    /// The figure of an aggregate, with the name of it that lasts.
    pub(super) fn named(name: &str, columns: usize) -> Option<(&'static str, Self)> {
        use Figure as F;
        let variance = |is_sample, is_root| F::Variance { is_sample, is_root };
        let of_one = [
            ("sum", F::Sum),
            ("avg", F::Mean),
            ("var", variance(true, false)),
            ("var_samp", variance(true, false)),
            ("var_pop", variance(false, false)),
            ("stddev", variance(true, true)),
            ("stddev_samp", variance(true, true)),
            ("stddev_pop", variance(false, true)),
        ];
        let of_two = [
            ("covar_samp", F::Covariance { is_sample: true }),
            ("covar_pop", F::Covariance { is_sample: false }),
            ("corr", F::Correlation),
            ("regr_slope", F::Slope),
            ("regr_intercept", F::Intercept),
            ("regr_r2", F::Determination),
            ("regr_avgx", F::MeanX),
            ("regr_avgy", F::MeanY),
            ("regr_sxx", F::SquaresX),
            ("regr_syy", F::SquaresY),
            ("regr_sxy", F::Products),
        ];
        let known: &[(&'static str, F)] = match columns {
            1 => &of_one,
            2 => &of_two,
            _ => &[],
        };
        known.iter().find(|(known, _)| *known == name).copied()
    }
}

impl Moments {
    pub(super) fn of(y: f64, x: f64) -> Self {
        // Nothing is known of distances to infinity and to NaN.
        let distance = |value: f64| if value.is_finite() { 0.0 } else { f64::NAN };
        let (squares_y, squares_x) = (distance(y), distance(x));
        let products = squares_y * squares_x;
        Self { count: 1.0, sum_y: y, sum_x: x, mean_y: y, mean_x: x, squares_y, squares_x, products }
    }

    /// As numbers that [`Moments::from_parts`] takes.
    pub(super) fn parts(&self) -> [f64; PARTS] {
        let (sums, means) = ((self.sum_y, self.sum_x), (self.mean_y, self.mean_x));
        let squares = (self.squares_y, self.squares_x);
        [self.count, sums.0, sums.1, means.0, means.1, squares.0, squares.1, self.products]
    }

    pub(super) fn from_parts(parts: [f64; PARTS]) -> Self {
        let [count, sum_y, sum_x, mean_y, mean_x, squares_y, squares_x, products] = parts;
        Self { count, sum_y, sum_x, mean_y, mean_x, squares_y, squares_x, products }
    }

    /// Those of both; the numbers of `other` come after.
    pub(super) fn and(&self, other: &Self) -> Self {
        if self.count == 0.0 {
            return *other;
        }
        if other.count == 0.0 {
            return *self;
        }
        let count = self.count + other.count;
        let (dy, dx) = (other.mean_y - self.mean_y, other.mean_x - self.mean_x);
        let weight = self.count * other.count / count;
        Self {
            count,
            sum_y: self.sum_y + other.sum_y,
            sum_x: self.sum_x + other.sum_x,
            mean_y: self.mean_y + dy * other.count / count,
            mean_x: self.mean_x + dx * other.count / count,
            squares_y: self.squares_y + other.squares_y + dy * dy * weight,
            squares_x: self.squares_x + other.squares_x + dx * dx * weight,
            products: self.products + other.products + dy * dx * weight,
        }
    }

    /// One of the figures; NULL where there are too few numbers, or no line goes through them.
    pub(super) fn figure(&self, figure: Figure) -> Option<f64> {
        if self.count == 0.0 {
            return None;
        }
        let divisor = |is_sample: bool| {
            let divisor = if is_sample { self.count - 1.0 } else { self.count };
            (divisor > 0.0).then_some(divisor)
        };
        let (squares_x, squares_y) = (self.squares_x, self.squares_y);
        let slope = || (squares_x != 0.0).then(|| self.products / squares_x);
        match figure {
            Figure::Sum => Some(self.sum_y),
            Figure::Mean => Some(self.sum_y / self.count),
            Figure::Variance { is_sample, is_root } => {
                let variance = squares_y / divisor(is_sample)?;
                Some(if is_root { variance.sqrt() } else { variance })
            }
            Figure::Covariance { is_sample } => Some(self.products / divisor(is_sample)?),
            Figure::Correlation => (squares_x != 0.0 && squares_y != 0.0)
                .then(|| self.products / (squares_x.sqrt() * squares_y.sqrt())),
            Figure::Slope => slope(),
            Figure::Intercept => Some(self.mean_y - slope()? * self.mean_x),
            Figure::Determination if squares_x == 0.0 => None,
            Figure::Determination if squares_y == 0.0 => Some(1.0),
            Figure::Determination => Some(self.products * self.products / (squares_x * squares_y)),
            Figure::MeanX => Some(self.sum_x / self.count),
            Figure::MeanY => Some(self.sum_y / self.count),
            Figure::SquaresX => Some(squares_x),
            Figure::SquaresY => Some(squares_y),
            Figure::Products => Some(self.products),
        }
    }
}
