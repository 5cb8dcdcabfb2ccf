// Views and their addresses. All are fragments, so that a link can be shared and the daemon serves one document.

export interface Route {
  view: 'overview' | 'timeline' | 'metrics' | 'plugins' | 'checks' | 'check' | 'gpu' | 'trouble';
  /** Name of the component, UUID of the GPU, or id of the trouble. */
  key: string;
  query: URLSearchParams;
}

const VIEWS: Route['view'][] = ['overview', 'timeline', 'metrics', 'plugins', 'checks', 'check', 'gpu', 'trouble'];

/** Reads the fragment of an address. An unknown one is the overview. */
export function parse(hash: string): Route {
  const text = hash.replace(/^#\/?/, '');
  const cut = text.indexOf('?');
  const path = cut < 0 ? text : text.slice(0, cut);
  const query = new URLSearchParams(cut < 0 ? '' : text.slice(cut + 1));
  const slash = path.indexOf('/');
  const name = slash < 0 ? path : path.slice(0, slash);
  const view = VIEWS.find((known) => known === name) ?? 'overview';
  let key = slash < 0 ? '' : path.slice(slash + 1);
  try {
    key = decodeURIComponent(key);
  } catch {
    // It is used as it was written.
  }
  return { view, key, query };
}

/** Returns the fragment of a view. */
export function address(view: Route['view'], key = '', query: Record<string, string> = {}): string {
  const given = Object.entries(query).filter(([, value]) => value !== '');
  const tail = given.length ? `?${new URLSearchParams(given).toString()}` : '';
  if (view === 'overview') return `#/${tail}`;
  return `#/${view}${key ? `/${encodeURIComponent(key)}` : ''}${tail}`;
}
