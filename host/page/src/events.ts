// Reads a stream of server-sent events (WHATWG HTML, 9.2) piece by piece.

export interface Message {
  id: string;
  event: string;
  data: string;
}

/** The longest event that is held: what is longer is left out. */
const MOST = 1 << 20;

export class EventReader {
  private rest = '';
  private data: string[] = [];
  private event = '';
  private id = '';

  /** The last id that was sent, with an event or alone. */
  get lastId(): string {
    return this.id;
  }

  /** Takes the next piece of text and returns the events that it completes. */
  feed(piece: string): Message[] {
    const found: Message[] = [];
    this.rest += piece;
    if (this.rest.length > MOST) this.rest = '';
    for (;;) {
      const end = this.rest.search(/[\r\n]/);
      // A carriage return at the very end may be the first half of a line's end.
      if (end < 0 || (this.rest[end] === '\r' && end === this.rest.length - 1)) return found;
      const line = this.rest.slice(0, end);
      this.rest = this.rest.slice(end + (this.rest[end] === '\r' && this.rest[end + 1] === '\n' ? 2 : 1));
      this.line(line, found);
    }
  }

  private line(line: string, found: Message[]): void {
    if (line === '') {
      if (this.data.length) found.push({ id: this.id, event: this.event || 'message', data: this.data.join('\n') });
      this.data = [];
      this.event = '';
      return;
    }
    const colon = line.indexOf(':');
    if (colon === 0) return;
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '');
    if (field === 'data') this.data.push(value);
    else if (field === 'event') this.event = value;
    else if (field === 'id' && !value.includes('\0')) this.id = value;
  }
}
