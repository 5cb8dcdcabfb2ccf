// Remembers what was read, in a bounded number.

export class Cache<T> {
  private readonly held = new Map<string, Promise<T>>();

  constructor(private readonly most: number) {}

  /** Returns what is known of a key, or reads it. What could not be read is read again the next time. */
  get(key: string, read: () => Promise<T>): Promise<T> {
    const known = this.held.get(key);
    if (known) return known;
    const reading = read();
    this.held.set(key, reading);
    const oldest = this.held.keys().next();
    if (this.held.size > this.most && !oldest.done) this.held.delete(oldest.value);
    reading.catch(() => {
      if (this.held.get(key) === reading) this.held.delete(key);
    });
    return reading;
  }
}
