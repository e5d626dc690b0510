//! Taking what a target needs from the front of its bytes.

/// Bytes that are used up from the front; zeros when there are no more.
pub struct Input<'a>(pub &'a [u8]);

impl<'a> Input<'a> {
    /// The next byte.
    pub fn byte(&mut self) -> u8 {
        self.number(1) as u8
    }

    /// The next number, of up to 8 bytes.
    pub fn number(&mut self, bytes: usize) -> u64 {
        self.take(bytes).iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
    }

    /// One of `all`.
    pub fn pick<T: Copy>(&mut self, all: &[T]) -> T {
        all[usize::from(self.byte()) % all.len()]
    }

    /// Up to `len` bytes.
    pub fn take(&mut self, len: usize) -> &'a [u8] {
        let (taken, rest) = self.0.split_at(len.min(self.0.len()));
        self.0 = rest;
        taken
    }

    /// Up to as many bytes as the next byte says.
    pub fn string(&mut self) -> &'a [u8] {
        let len = self.byte().into();
        self.take(len)
    }

    /// Overwrites parts of `bytes`: up to seven, of up to seven bytes each. Places are counted from the front, from the end,
    /// or over the whole.
    pub fn damage(&mut self, bytes: &mut [u8]) {
        for _ in 0..self.byte() % 8 {
            let how = self.byte();
            let place = self.number(2) as usize;
            let place = match how >> 3 & 3 {
                0 => place % 64,
                1 => bytes.len().saturating_sub(1 + place % 64),
                _ => place,
            };
            let patch = self.take(usize::from(how % 8));
            if bytes.is_empty() {
                return;
            }
            for (offset, byte) in patch.iter().enumerate() {
                let at = (place + offset) % bytes.len();
                bytes[at] = *byte;
            }
        }
    }
}
