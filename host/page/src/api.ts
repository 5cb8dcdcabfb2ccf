// Requests to the daemon, with the token where one was given.

export class ApiError extends Error {
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message);
  }

  /** Whether a token, or another one, could change the answer. */
  get wantsToken(): boolean {
    return this.status === 401;
  }
}

let token = '';
/** Milliseconds that the machine's clock is ahead of this browser's. */
let ahead = 0;

/** Remembers the token until the page is closed. */
export function setToken(text: string): void {
  token = text.trim();
}

export function hasToken(): boolean {
  return token !== '';
}

/** Returns the machine's time in milliseconds. The browser's clock may be off by hours. */
export function now(): number {
  return Date.now() + ahead;
}

/** Returns how far the machine's clock is ahead of the browser's, in milliseconds. */
export function clockDifference(): number {
  return ahead;
}

function learnClock(response: Response): void {
  const date = Date.parse(response.headers.get('date') ?? '');
  // The header has whole seconds: less than two are no difference.
  if (Number.isFinite(date)) ahead = Math.abs(date - Date.now()) < 2000 ? 0 : date + 500 - Date.now();
}

/** Sends a request. Paths are relative, so that a proxy may serve the page below a folder. */
export async function request(path: string, init: RequestInit = {}): Promise<Response> {
  const headers = new Headers(init.headers);
  if (token) headers.set('Authorization', `Bearer ${token}`);
  let response: Response;
  try {
    response = await fetch(path, { ...init, headers, cache: 'no-store' });
  } catch (error) {
    if (error instanceof DOMException && error.name === 'AbortError') throw error;
    throw new ApiError(0, 'gpud does not answer');
  }
  learnClock(response);
  if (response.ok) return response;
  let message = `gpud answers ${response.status}`;
  try {
    const body: unknown = await response.json();
    if (typeof body === 'object' && body !== null && 'message' in body) message = String(body.message);
  } catch {
    // The status says enough.
  }
  throw new ApiError(response.status, message);
}

export async function json<T>(path: string, init: RequestInit = {}): Promise<T> {
  const response = await request(path, { signal: AbortSignal.timeout(60_000), ...init });
  return (await response.json()) as T;
}

export async function text(path: string): Promise<string> {
  return (await request(path, { signal: AbortSignal.timeout(60_000) })).text();
}
