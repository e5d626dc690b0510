//! placeholder
pub mod flights;
pub mod writer;
#[derive(clap::Args, Clone, Debug)]
pub struct DemoArguments {
    pub dir: std::path::PathBuf,
}
pub fn run(
    _: &DemoArguments,
    _: &crate::engine::Tuning,
    _: &mut crate::output::Output,
) -> crate::failure::Result<()> {
    Ok(())
}
