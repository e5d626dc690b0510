//! Statements as one text: each is run, and its rows are sent as texts.

use super::{
    client::{Client, End, Stop},
    command::Command,
    failure::Failure,
    message::write,
    run::Run,
    stream::Stream,
    words::split,
};

impl Client {
    /// Runs the statements of a text, up to one that fails. They are one transaction, unless they say otherwise.
    pub fn query(&mut self, text: &str, stream: &mut Stream) -> Result<(), End> {
        // What the unnamed ones were goes with a text.
        self.statements.remove("");
        self.portals.remove("");
        let parts = split(text);
        if parts.is_empty() {
            write(&mut stream.out, b'I', |_| {});
        }
        let is_several = parts.len() > 1;
        let mut failed = false;
        for part in parts {
            let begin = text[..part.start].chars().count();
            match self.query_one(&text[part], begin, is_several, stream) {
                Ok(()) => {}
                Err(Stop::End(end)) => return Err(end),
                Err(Stop::Failed(failure)) => {
                    failure.write(&mut stream.out, false);
                    self.fail();
                    failed = true;
                    break;
                }
            }
        }
        if !failed && let Err(failure) = self.end_implicit(true) {
            failure.write(&mut stream.out, false);
        }
        Ok(())
    }

    fn query_one(
        &mut self,
        text: &str,
        begin: usize,
        is_part: bool,
        stream: &mut Stream,
    ) -> Result<(), Stop> {
        let command = Command::of(text)?;
        if let Command::Copy(copy) = &command {
            return self.copy(copy, is_part, stream);
        }
        let is_engines = matches!(command, Command::Engine | Command::RollbackTo);
        let mut prepared = match is_engines {
            true => {
                let prepared = self.session.prepare(text);
                Some(prepared.map_err(|error| Failure::of(&error, text, begin))?)
            }
            false => None,
        };
        let run = Run {
            command: &command,
            prepared: prepared.as_mut(),
            text,
            begin,
            params: Vec::new(),
            formats: &[],
            promised: None,
            is_part,
        };
        let mut running = self.start(run, stream)?;
        if running.has_rows() {
            running.shape.describe(&mut stream.out);
        }
        running.send(0, stream)?;
        self.grant_wishes(stream)?;
        running.complete(&mut stream.out);
        Ok(())
    }
}
