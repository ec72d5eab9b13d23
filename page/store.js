// What the page knows: one state, drawn at most once an animation frame; and the log of the session at hand.

import {clock, get, readEvents, trim} from './api.js';
import {addBlock, buildBlocks} from './parts/blocks.js';
import {emptyBoard, foldEvents, reduce} from './reducer.js';
import {Stream} from './stream.js';

export class Store {
	constructor(state, draw) {
		this.state = state;
		this.draw = draw;
		this.queued = false;
	}

	set(changes) {
		Object.assign(this.state, changes);
		this.touch();
	}

	touch() {
		if (this.queued) return;
		this.queued = true;
		requestAnimationFrame(() => {
			this.queued = false;
			this.draw(this.state);
		});
	}
}

const PART = 500;
const LANES_MS = 250;
const TAIL = 65_536;
const HIDDEN_MS = 60_000;

const speech = ({text = '', thinking = '', output = {}}) => ({text, thinking, output: new Map(Object.entries(output)), note: null});

// A session: its board, the newest part of its log, and what is being said. Every PART events there is a
// checkpoint; any earlier moment is the fold from the one before it.
export class SessionStore {
	constructor(id, touch) {
		Object.assign(this, {
			id, touch, status: 'loading', problem: null, connection: 'connecting', lostSince: 0, board: emptyBoard(),
			events: [], first: 0, blocks: [], facts: 0, lanes: 0, words: 0, live: new Map(), replay: null, older: false,
			checkpoints: new Map([[0, emptyBoard()]]), pages: new Map(), finished: '', offline: false,
		});
	}

	// Offline: everything is there already.
	static of(events, session) {
		const sessionStore = new SessionStore(session.id || '', () => {});
		Object.assign(sessionStore, {offline: true, status: 'ready', first: 1, events: events.map(trim)});
		sessionStore.board = foldEvents(sessionStore.events);
		sessionStore.rebuild();
		return sessionStore;
	}

	async open() {
		try {
			const board = await get(`/sessions/${this.id}/board`);
			const from = Math.max(0, Math.floor((board.seq - 1) / PART) - 1) * PART;
			const events = board.seq ? await readEvents(this.id, {after: from, limit: 4 * PART}) : [];
			if (this.closed) return;
			this.first = from + 1;
			this.events = events;
			this.board = foldEvents(events.filter((event) => event.seq > board.seq), board);
			this.rebuild();
			this.status = 'ready';
			this.follow();
		} catch (problem) {
			Object.assign(this, {status: 'error', problem});
		}
		this.touch();
	}

	follow() {
		this.hide = () => {
			clearTimeout(this.hiding);
			// A tab that nobody looks at gives its connection back: a browser has six of them for one server.
			if (document.visibilityState === 'hidden') this.hiding = setTimeout(() => this.pause(), HIDDEN_MS);
			else if (!this.stream) this.connect();
		};
		document.addEventListener('visibilitychange', this.hide);
		this.connect();
	}

	pause() {
		this.stream?.close();
		this.stream = null;
	}

	connect() {
		if (this.closed) return;
		this.stream = new Stream(() => `/sessions/${this.id}/events?after=${this.board.seq}`, {
			message: (event) => this.hear(event),
			live: (said) => this.join(said),
			reset: () => this.onreset(),
			state: (state) => {
				if (state === 'lost' && this.connection !== 'lost') this.lostSince = clock.now();
				this.connection = state;
				this.touch();
			},
		});
	}

	// A session that was closed is opened again by what it is told.
	wake() {
		if (this.connection === 'ended') this.connect();
	}

	hear(event) {
		if (event.seq === null) this.hearDelta(event);
		else if (event.seq > this.board.seq) this.hearFact(trim(event));
	}

	hearFact(event) {
		this.board = reduce(this.board, event);
		if (event.seq % PART === 0) this.checkpoints.set(event.seq, this.board);
		this.events.push(event);
		const said = addBlock(this.blocks, event);
		if (said) this.finished = said;
		this.facts += 1;
		const {agent_id: agent, type, data} = event;
		const live = this.live.get(agent);
		if (live) {
			if (type === 'assistant_message' || type === 'turn_end') Object.assign(live, {text: '', thinking: '', note: null});
			if (type === 'tool_end') live.output.delete(data.id);
			if (type === 'turn_end' || type === 'agent_ended') this.live.delete(agent);
		}
		this.drawLanes();
		this.touch();
	}

	drawLanes() {
		if (this.waiting) return;
		const draw = () => {
			this.waiting = 0;
			this.drawn = Date.now();
			this.lanes += 1;
			this.touch();
		};
		const left = (this.drawn || 0) + LANES_MS - Date.now();
		if (left <= 0) draw();
		else this.waiting = setTimeout(draw, left);
	}

	hearDelta({agent_id: agent, type, data}) {
		if (!this.live.has(agent)) this.live.set(agent, speech({}));
		const live = this.live.get(agent);
		const add = (before, more) => (before + more).slice(-TAIL);
		if (type === 'text_delta') live.text = add(live.text, data.text);
		else if (type === 'thinking_delta') live.thinking = add(live.thinking, data.text);
		else if (type === 'tool_progress') live.output.set(data.id, add(live.output.get(data.id) || '', data.text));
		else if (type === 'compacting') live.note = {state: type};
		else if (type === 'status' && data.component === 'model') {
			if (data.state === 'discarded') Object.assign(live, {text: '', thinking: ''});
			live.note = data.state === 'discarded' || data.detail ? data : null;
		} else return;
		this.words += 1;
		this.touch();
	}

	join(said) {
		this.live = new Map(Object.entries(said).map(([agent, one]) => [agent, speech(one)]));
		this.words += 1;
		this.touch();
	}

	rebuild() {
		this.blocks = buildBlocks(this.events);
		this.facts += 1;
		this.lanes += 1;
	}

	// Reads what is before the oldest known event, at least down to `seq`.
	async loadOlder(seq = this.first - PART) {
		if (this.older || this.first <= 1 || this.offline) return;
		this.older = true;
		this.touch();
		try {
			const from = Math.max(0, Math.floor((Math.max(1, seq) - 1) / PART) * PART);
			const found = [];
			let at = from;
			while (at < this.first - 1) {
				const page = await readEvents(this.id, {after: at, before: Math.min(this.first, at + 5001), limit: 5000});
				if (!page.length) break;
				found.push(...page);
				at = page[page.length - 1].seq;
			}
			this.events = [...found, ...this.events];
			this.first = from + 1;
			this.rebuild();
		} finally {
			this.older = false;
			this.touch();
		}
	}

	// The board and the events around an earlier moment; null: now.
	async show(seq) {
		const wanted = seq === null || seq >= this.board.seq ? null : Math.max(1, seq);
		this.asked = wanted;
		let replay = null;
		if (wanted !== null) {
			const from = Math.floor((wanted - 1) / PART) * PART;
			const [base, events] = await Promise.all([this.findCheckpoint(from), this.findPage(from)]);
			if (this.asked !== wanted || this.closed) return;
			const until = events.filter((event) => event.seq <= wanted);
			replay = {seq: wanted, board: foldEvents(until, base), events: [...(this.pages.get(from - PART) || []), ...until]};
		}
		this.replay = replay;
		this.lanes += 1;
		this.touch();
	}

	async findCheckpoint(from) {
		if (!this.checkpoints.has(from)) {
			let at = from;
			while (at > 0 && !this.checkpoints.has(at)) at -= PART;
			const known = this.first - 1 <= at && this.events.length;
			this.checkpoints.set(from, known ? foldEvents(this.find(at, from), this.checkpoints.get(at)) : await get(`/sessions/${this.id}/board?at=${from}`));
		}
		return this.checkpoints.get(from);
	}

	find(after, until) { return this.events.filter((event) => event.seq > after && event.seq <= until); }

	async findPage(from) {
		if (this.first - 1 <= from) return this.find(from, from + PART);
		if (!this.pages.has(from)) this.pages.set(from, await readEvents(this.id, {after: from, before: from + PART + 1, limit: PART}));
		return this.pages.get(from);
	}

	close() {
		this.closed = true;
		this.pause();
		clearTimeout(this.waiting);
		clearTimeout(this.hiding);
		if (this.hide) document.removeEventListener('visibilitychange', this.hide);
	}
}
