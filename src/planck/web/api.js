// Requests to the server. A failure is an `ApiError` with the kind and the words of the server's envelope.

export const PREFIX = '/api/v1';

export class ApiError extends Error {
  constructor(status, kind, message, details = {}) {
    super(message);
    Object.assign(this, {status, kind, details});
  }
}

// How far the server's clock is ahead of ours, in ms; small differences are only the clock's coarseness.
export const clock = {ahead: 0, now() { return Date.now() + this.ahead; }};

function setClock(response) {
  const there = Date.parse(response.headers.get('date') || '');
  const ahead = there + 500 - Date.now();
  if (there && Math.abs(ahead) > 3000) clock.ahead = ahead;
}

export async function request(method, path, body, options = {}) {
  const headers = {accept: options.accept || 'application/json'};
  if (method !== 'GET') headers['content-type'] = 'application/json';
  if (options.key) headers['idempotency-key'] = options.key;
  let response;
  try {
    response = await fetch(PREFIX + path, {
      method, headers, signal: options.signal, credentials: 'same-origin', cache: 'no-store',
      body: method === 'GET' ? undefined : JSON.stringify(body || {}),
    });
  } catch (problem) {
    if (problem.name === 'AbortError') throw problem;
    throw new ApiError(0, 'network', '');
  }
  setClock(response);
  if (!response.ok) throw await readFailure(response);
  return response;
}

async function readFailure(response) {
  try {
    const {error} = await response.json();
    return new ApiError(response.status, String(error.kind), String(error.message), error.details || {});
  } catch {
    return new ApiError(response.status, 'internal_error', String(response.status));
  }
}

const json = async (...given) => {
  const response = await request(...given);
  return response.status === 204 ? null : response.json();
};
export const get = (path, options) => json('GET', path, null, options);
export const post = (path, body, options) => json('POST', path, body, options);
export const patch = (path, body) => json('PATCH', path, body);
export const remove = (path) => json('DELETE', path);

export const query = (given) => {
  const used = Object.entries(given).filter(([, value]) => value !== undefined && value !== null && value !== '');
  return used.length ? `?${new URLSearchParams(used)}` : '';
};

// What is never shown is not kept: whole files and whole histories would be most of the memory.
export function trim(event) {
  const {data} = event;
  if (event.type === 'file_changed') delete data.before;
  else if (event.type === 'compacted' || event.type === 'rewound') delete data.messages;
  return event;
}

export async function readEvents(id, asked) {
  const response = await request('GET', `/sessions/${id}/events${query(asked)}`, null, {accept: 'application/x-ndjson'});
  const lines = (await response.text()).split('\n');
  return lines.filter(Boolean).map((line) => trim(JSON.parse(line)));
}

export function newKey() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}
