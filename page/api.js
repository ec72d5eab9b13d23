// Requests to the server. A failure is an `ApiError` with the kind and the words of the server's envelope.

import {UNSHOWN} from './events.js';

export const PREFIX = '/api/v1';

class ApiError extends Error {
	constructor(status, kind, message) {
		super(message);
		Object.assign(this, {status, kind});
	}
}

// How far the server's clock is ahead of ours, in ms; small differences are only the clock's coarseness.
export const clock = {ahead: 0, now() { return Date.now() + this.ahead; }};

function setClock(response) {
	const there = Date.parse(response.headers.get('date') || '');
	const ahead = there + 500 - Date.now();
	if (there && Math.abs(ahead) > 3000) clock.ahead = ahead;
}

export function newKey() {
	const bytes = crypto.getRandomValues(new Uint8Array(16));
	return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

async function request(method, path, body, accept = 'application/json') {
	const asked = {method, headers: {accept}, cache: 'no-store'};
	if (method !== 'GET') {
		Object.assign(asked.headers, {'content-type': 'application/json', ...(method === 'POST' && {'idempotency-key': newKey()})});
		asked.body = JSON.stringify(body || {});
	}
	const response = await fetch(PREFIX + path, asked).catch(() => { throw new ApiError(0, 'network', ''); });
	setClock(response);
	if (response.ok) return response;
	const error = (await response.json().catch(() => null))?.error || {};
	throw new ApiError(response.status, String(error.kind || 'internal_error'), String(error.message || response.status));
}

const json = async (...given) => {
	const response = await request(...given);
	return response.status === 204 ? null : response.json();
};
export const get = (path) => json('GET', path);
export const post = (path, body) => json('POST', path, body);
export const patch = (path, body) => json('PATCH', path, body);
export const remove = (path) => json('DELETE', path);

export const query = (given) => `?${new URLSearchParams(Object.entries(given).filter(([, value]) => value))}`;

// What is never shown is not kept: whole files and whole histories would be most of the memory.
export function trim(event) {
	for (const name of Object.hasOwn(UNSHOWN, event.type) ? UNSHOWN[event.type] : []) delete event.data[name];
	return event;
}

export async function readEvents(id, asked) {
	const response = await request('GET', `/sessions/${id}/events${query(asked)}`, null, 'application/x-ndjson');
	return (await response.text()).split('\n').filter(Boolean).map((line) => trim(JSON.parse(line)));
}
