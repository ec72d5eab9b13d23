// A stream of server-sent events that comes back: after silence, on wake, when the network is there again.

import {PREFIX} from './api.js';

const SILENCE = 40_000;
const FIRST_RETRY = 500;
const LAST_RETRY = 10_000;

export class Stream {
	// `path()` is asked at each connection, so that it can say where to go on; `on` has a function for each
	// named event, `message` for the others, and `state('live' | 'lost' | 'ended')`.
	constructor(path, {state, ...on}) {
		Object.assign(this, {path, state, on, retry: FIRST_RETRY, closed: false});
		this.wake = () => { if (document.visibilityState === 'visible' && this.isSilent()) this.open(); };
		this.back = () => this.open();
		document.addEventListener('visibilitychange', this.wake);
		addEventListener('online', this.back);
		this.watch = setInterval(() => { if (this.source && this.isSilent()) this.fail(); }, 5000);
		this.open();
	}

	isSilent() { return Date.now() - this.heard > SILENCE; }

	open() {
		if (this.closed) return;
		this.drop();
		this.heard = Date.now();
		const source = new EventSource(PREFIX + this.path());
		this.source = source;
		const listen = (name, work) => source.addEventListener(name, (event) => {
			this.heard = Date.now();
			this.retry = FIRST_RETRY;
			work(event);
		});
		listen('open', () => this.state('live'));
		listen('ping', () => {});
		listen('end', () => this.end());
		for (const [name, work] of Object.entries(this.on)) listen(name, (event) => work(JSON.parse(event.data)));
		source.onerror = () => { if (this.source === source) this.fail(source.readyState === EventSource.CLOSED); };
	}

	// `refused`: the server answered, and not with a stream. 204 is a session that was closed.
	async fail(refused = false) {
		this.drop();
		if (refused && await this.isOver()) {
			this.end();
			return;
		}
		if (this.closed) return;
		this.state('lost');
		clearTimeout(this.timer);
		this.timer = setTimeout(() => this.open(), this.retry);
		this.retry = Math.min(this.retry * 2, LAST_RETRY);
	}

	async isOver() {
		const stop = new AbortController();
		try {
			return (await fetch(PREFIX + this.path(), {headers: {accept: 'text/event-stream'}, signal: stop.signal, cache: 'no-store'})).status === 204;
		} catch {
			return false;
		} finally {
			stop.abort();
		}
	}

	drop() {
		clearTimeout(this.timer);
		this.source?.close();
		this.source = null;
	}

	end() {
		this.close();
		this.state('ended');
	}

	close() {
		this.closed = true;
		this.drop();
		clearInterval(this.watch);
		document.removeEventListener('visibilitychange', this.wake);
		removeEventListener('online', this.back);
	}
}
