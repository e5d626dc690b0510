#[derive(clap::Args, Clone, Debug)]
pub struct WriterArguments {
    pub dir: std::path::PathBuf,
}
pub fn run(_: &WriterArguments) -> crate::failure::Result<()> {
    Ok(())
}
