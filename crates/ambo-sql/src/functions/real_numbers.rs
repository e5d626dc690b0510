//! Functions of doubles that the planner does not have.

use datafusion::common::{Result, exec_err};

use super::plain::{
    Form, Given,
    Kind::{Bool, Double, Whole},
    Made, Named, plain,
};

pub(super) static ALL: [Named; 9] = [
    plain!(["even"], [Double] => Double, |of| Ok(even(of[0].double()).into())),
    plain!(["fdiv"], [Double, Double] => Double, |of| Ok((of[0].double() / of[1].double()).floor().into())),
    plain!(["fmod"], [Double, Double] => Double, |of| Ok(remainder(of[0].double(), of[1].double()).into())),
    plain!(["gamma"], [Double] => Double, gamma),
    plain!(["lgamma"], [Double] => Double, lgamma),
    plain!(["signbit"], [Double] => Bool, |of| Ok(of[0].double().is_sign_negative().into())),
    plain!(["erf"], [Double] => Double, |of| Ok(libm::erf(of[0].double()).into())),
    plain!(["erfc"], [Double] => Double, |of| Ok(libm::erfc(of[0].double()).into())),
    plain!(["width_bucket"], [Double, Double, Double, Whole] => Whole, width_bucket),
];

/// In which of so many equal parts of a range a number is; 0 before them, one more than there are behind.
fn width_bucket(of: &[Given<'_>]) -> Result<Made> {
    let [number, low, high] = [0, 1, 2].map(|at| of[at].double());
    let count = of[3].whole();
    if count < 1 || count >= i64::from(i32::MAX) {
        return exec_err!("width_bucket: {count} is not the number of parts of a range");
    }
    if number.is_nan() || !low.is_finite() || !high.is_finite() || low == high {
        return exec_err!(
            "width_bucket: {low} and {high} are not the ends of a range that {number} can be in"
        );
    }
    // A range may go down.
    let share = (number - low) / (high - low);
    Ok(match share {
        share if share < 0.0 => 0,
        share if share >= 1.0 => count + 1,
        share => (share * count as f64) as i64 + 1,
    }
    .into())
}

/// The next even number, away from 0.
fn even(number: f64) -> f64 {
    let up = number.abs().ceil();
    let even = if up % 2.0 == 0.0 { up } else { up + 1.0 };
    if number < 0.0 { -even } else { even }
}

/// What is left of a division whose quotient is rounded down.
fn remainder(number: f64, by: f64) -> f64 {
    number - (number / by).floor() * by
}

fn gamma(of: &[Given<'_>]) -> Result<Made> {
    match of[0].double() {
        0.0 => exec_err!("gamma: 0 has none"),
        number => Ok(libm::tgamma(number).into()),
    }
}

fn lgamma(of: &[Given<'_>]) -> Result<Made> {
    match of[0].double() {
        0.0 => exec_err!("lgamma: 0 has none"),
        number => Ok(libm::lgamma(number).into()),
    }
}
