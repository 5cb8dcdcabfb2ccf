//! A kernel message behind a prefix of any kind, found from the message's side.
//!
//! A kernel message begins with `kernel:`, with the kernel's stamp in brackets, or with one that dmesg wrote. The first
//! of these in the line ends the prefix, whatever that is; [`super::header`] reads of it what it can. Where none stands
//! in the line, prefixes that are known by their shape are taken off, and what is left has to be of a common format.

use super::{
    Context,
    escape::{self, Backslash},
    format::Format,
    header, hosts, kernel_text,
    line::{self, Line, Message},
    priority,
    scan::Scan,
    stamp::{self, Decimals, Stamp},
};

/// Bytes of a line in which a prefix has to end.
const MAX_PREFIX: usize = 400;
/// Prefixes of one line.
const MAX_LAYERS: usize = 8;
/// Marks that may follow one another where a message begins: `<3>`, `kern  :err   :`, `kernel:`, a stamp.
const MAX_MARKS: usize = 4;

/// Reads a line by the first mark of a kernel message in it.
pub(super) fn read_marked(line: &[u8], context: &mut Context) -> Line {
    let Some(mut at) = mark(line, 0) else {
        return Line::Unknown;
    };
    loop {
        let (prefix, rest) = line.split_at_checked(at).unwrap_or((line, &[]));
        let header = header::read(prefix, &mut context.calendar);
        if header.of_program {
            return Line::Other(Format::Prefixed);
        }
        if !header.has_time && is_text(prefix) {
            return Line::Unknown;
        }
        let message = MessageStart::read(rest, context);
        // Brackets with a short number are a stamp only behind something that is understood.
        let is_understood = header.stamp.is_some() || !header.host.is_empty() || prefix.is_empty();
        if message.is_short && !message.of_kernel && !is_understood {
            match mark(line, at + 1) {
                Some(next) => at = next,
                None => return Line::Unknown,
            }
            continue;
        }
        let quoted = prefix.ends_with(b"\"");
        return Line::Message(message.finish(line, &header, quoted, context));
    }
}

/// Reads a line whose prefix is known by its shape.
pub(super) fn read_peeled(line: &[u8], context: &mut Context) -> Line {
    let mut rest = line;
    let mut host: &[u8] = b"";
    for _ in 0..MAX_LAYERS {
        if kernel_text::begins_message(rest) {
            break;
        }
        let Some((inner, of_host)) = peel(rest) else {
            break;
        };
        if !of_host.is_empty() {
            host = of_host;
        }
        rest = inner;
        match line::read(rest, context) {
            Line::Unknown => {}
            Line::Message(mut message) => {
                if message.host == hosts::NO_HOST {
                    message.host = context.hosts.number(host);
                }
                message.indent += line.len() - rest.len();
                return Line::Message(message);
            }
            other => return other,
        }
    }
    if kernel_text::begins_message(rest) {
        let text = escape::text(rest, Backslash::Escape);
        let mut message = Message::new(Format::Plain, Stamp::None, text);
        message.host = context.hosts.number(host);
        message.indent = line.len() - rest.len();
        return Line::Message(message);
    }
    match is_of_program(rest, context) {
        true => Line::Other(Format::Prefixed),
        false => Line::Unknown,
    }
}

/// Whether the line begins with a time and what can be a host or a program.
fn is_of_program(line: &[u8], context: &Context) -> bool {
    let start = line.get(..MAX_PREFIX).unwrap_or(line);
    let end = start.windows(2).position(|two| two == b": ");
    let prefix = end.and_then(|end| start.get(..=end)).unwrap_or(start);
    // What a line that is not understood holds says nothing of the other lines' times.
    let mut calendar = context.calendar.clone();
    let header = header::read(prefix, &mut calendar);
    header.stamp.is_some() && (header.of_program || !header.host.is_empty())
}

/// Takes one prefix off: what is left, and the host that the prefix names.
fn peel(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let trimmed = line.trim_ascii_start();
    if trimmed.len() < line.len() {
        return Some((trimmed, b""));
    }
    // Quoted mail, a container's output, a list, a string.
    for quote in [&b">"[..], b"| ", b"- ", b"* ", b"\"", b"'", b"`"] {
        if let Some(rest) = line.strip_prefix(quote) {
            let closed = quote.len() == 1 && rest.last() == quote.first();
            let rest = if closed { without_last(rest) } else { rest };
            return Some((rest, b""));
        }
    }
    let digits = line.iter().take_while(|byte| byte.is_ascii_digit()).count();
    if (1..=9).contains(&digits) {
        // A line's number: `123:` and `123-` of grep, `123 ` of less and cat.
        let rest = line.get(digits..)?;
        let (&after, inner) = rest.split_first()?;
        return matches!(after, b':' | b'-' | b' ' | b'\t').then_some((inner, b""));
    }
    if line.starts_with(b"[") {
        // `[pod/NAME/CONTAINER] ` of kubectl.
        let end = line.iter().position(|&byte| byte == b']')?;
        let inside = line.get(1..end)?;
        let is_name = inside.contains(&b'/') && !inside.contains(&b' ');
        return is_name.then(|| Some((line.get(end + 1..)?, &b""[..])))?;
    }
    let start = line.get(..MAX_PREFIX).unwrap_or(line);
    let end = start.iter().position(|byte| b": \t|".contains(byte))?;
    let name = line.get(..end)?;
    let inside = |byte: &u8| byte.is_ascii_alphanumeric() || b"/._-+@~=,%".contains(byte);
    if name.is_empty() || !name.iter().all(inside) {
        return None;
    }
    let rest = line.get(end..)?;
    if let Some(inner) = rest.strip_prefix(b":") {
        // grep writes no space behind the name of a file; pdsh and clush write one behind a host's.
        let of_host = inner.starts_with(b" ") && hosts::is_host(name);
        let is_path = !inner.starts_with(b" ");
        if of_host && !kernel_text::is_tag(line.get(..=end)?) {
            return Some((inner, name));
        }
        return is_path.then_some((inner, b""));
    }
    // `NAME | text` of docker compose.
    let inner = rest.trim_ascii_start().strip_prefix(b"| ")?;
    hosts::is_host(name).then_some((inner, b""))
}

fn without_last(text: &[u8]) -> &[u8] {
    text.split_last().map_or(text, |(_, rest)| rest)
}

/// Whether a prefix without a time is rather the beginning of a kernel message: a text with a user's words in it, of which
/// a mark can be one (`tmpfs: Unknown parameter 'kernel: …`, `usb 1-1: Product: kernel: …`). Tools write the name of a
/// file or a host, and perhaps a level.
fn is_text(prefix: &[u8]) -> bool {
    let words = prefix.split(u8::is_ascii_whitespace);
    let words = words.filter(|word| word.iter().any(u8::is_ascii_alphanumeric));
    let is_quote = |byte: &u8| b"'\"`".contains(byte);
    words.count() > 2 || prefix.iter().skip(1).any(is_quote)
}

/// Returns the position of the first mark of a message's beginning, from `from` on.
fn mark(line: &[u8], from: usize) -> Option<usize> {
    let start = line.get(..MAX_PREFIX).unwrap_or(line);
    let mut before = from.checked_sub(1).and_then(|at| line.get(at)).copied();
    for (at, &byte) in start.iter().enumerate().skip(from) {
        let is_edge = before.is_none_or(|before| b" \t>]|:\"'`,=(".contains(&before));
        before = Some(byte);
        if is_edge && matches!(byte, b'k' | b'[' | b'<') && is_mark(line.get(at..)?, byte) {
            return Some(at);
        }
    }
    None
}

fn is_mark(rest: &[u8], first: u8) -> bool {
    let mut scan = Scan(rest);
    match first {
        b'k' => take_program(&mut scan).is_some() || priority::decoded(&mut Scan(rest)).is_some(),
        b'<' => {
            let number = priority::bracketed(&mut scan);
            number.is_some_and(|number| number < 192)
                && (scan.0.starts_with(b"[") || scan.0.starts_with(b"kernel:"))
        }
        _ => stamp::is_bracket(scan),
    }
}

/// `kernel:`, `kernel[0]:`, and `kernel - - -` of RFC 5424.
fn take_program(scan: &mut Scan) -> Option<()> {
    scan.literal(b"kernel")?;
    if scan.maybe(b" - ") {
        scan.word();
        return stamp::structured_data(scan);
    }
    if scan.maybe(b"[") {
        scan.number()?;
        scan.literal(b"]")?;
    }
    scan.literal(b":")?;
    if scan.0.is_empty() || scan.0.starts_with(b"[") {
        return Some(());
    }
    scan.literal(b" ")
}

/// The text at a message's beginning.
#[derive(Debug)]
struct MessageStart<'a> {
    stamp: Option<Stamp>,
    /// The kernel's own stamp behind another one, microseconds since boot.
    micros: Option<u64>,
    priority: Option<(u8, u32)>,
    /// `kernel:` or a priority was there.
    of_kernel: bool,
    /// The stamp has not six decimals.
    is_short: bool,
    text: &'a [u8],
}

impl<'a> MessageStart<'a> {
    fn read(rest: &'a [u8], context: &mut Context) -> Self {
        let mut beginning = Self {
            stamp: None,
            micros: None,
            priority: None,
            of_kernel: false,
            is_short: false,
            text: rest,
        };
        for _ in 0..MAX_MARKS {
            if !beginning.take_mark(context) {
                break;
            }
        }
        beginning
    }

    fn take_mark(&mut self, context: &mut Context) -> bool {
        let mut scan = Scan(self.text);
        if self.stamp.is_none() {
            if let Some((_, stamp)) = stamp::bracket(&mut scan, &mut context.calendar) {
                self.stamp = Some(stamp);
                self.text = scan.0;
                return true;
            }
            scan = Scan(self.text);
            if let Some(stamp) = stamp::bracketed_iso(&mut scan, &mut context.calendar) {
                self.stamp = Some(stamp);
                self.text = scan.0;
                return true;
            }
            scan = Scan(self.text);
            if let Some(micros) = stamp::kernel(&mut scan, Decimals::Any) {
                self.stamp = Some(Stamp::Boot(micros));
                self.is_short = true;
                self.text = scan.0;
                return true;
            }
            scan = Scan(self.text);
        } else if self.micros.is_none() && self.stamp.and_then(|stamp| stamp.wall()).is_some() {
            // Tools that date the lines of a console leave the kernel's own stamp behind theirs.
            if let Some(micros) = stamp::kernel(&mut scan, Decimals::Six) {
                self.micros = Some(micros);
                self.text = scan.0;
                return true;
            }
            scan = Scan(self.text);
        }
        if self.priority.is_none() {
            if let Some(number) = priority::bracketed(&mut scan) {
                self.priority = Some(priority::split(number));
                self.of_kernel = true;
                self.text = scan.0;
                return true;
            }
            scan = Scan(self.text);
            if let Some(priority) = priority::decoded(&mut scan) {
                self.priority = Some(priority);
                self.of_kernel = true;
                self.text = scan.0;
                return true;
            }
            scan = Scan(self.text);
        }
        if !self.of_kernel && take_program(&mut scan).is_some() {
            self.of_kernel = true;
            self.text = scan.0;
            return true;
        }
        false
    }

    fn finish(
        self,
        line: &[u8],
        header: &header::Header,
        quoted: bool,
        context: &mut Context,
    ) -> Message {
        let text = match quoted.then(|| self.text.strip_suffix(b"\"")).flatten() {
            Some(text) => text,
            None => self.text,
        };
        let own = self.stamp.unwrap_or(Stamp::None);
        let mut message = Message::new(
            Format::Prefixed,
            header.stamp.unwrap_or(own),
            escape::text(&escape::rsyslog(text), Backslash::Escape),
        );
        match own {
            Stamp::Boot(micros) => message.set_micros(Some(micros)),
            _ => message.set_micros(self.micros),
        }
        if let Some((level, facility)) = self.priority {
            message.message.level = level;
            message.message.facility = facility;
        }
        if let Some(level) = header.level {
            message.message.level = level;
        }
        message.host = context.hosts.number(header.host);
        message.indent = line.len() - self.text.len();
        message
    }
}
