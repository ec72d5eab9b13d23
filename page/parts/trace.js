// Who did what when, as bars and arrows: pure, from events.

import {toText} from '../words.js';

export const ARROWS = 150;
const CALM = 20_000; // a gap longer than this, in ms, is drawn shorter than it was
const BUCKETS = 24;
const MIDDLE = new Set(['assistant_message', 'tool_start', 'tool_end', 'turn_end', 'wait', 'permission_request', 'file_changed', 'usage']);

class Lane {
	constructor() {
		Object.assign(this, {bars: [], open: null, calls: new Map(), overs: [], marks: [], at: 0});
	}

	begin(kind, at, word = '') {
		this.finish(at);
		this.open = {kind, from: at, to: at, word};
	}

	finish(at) {
		if (!this.open) return;
		this.open.to = at;
		if (at > this.open.from) this.bars.push(this.open);
		this.open = null;
	}

	// A wait or a question lies over what is done meanwhile.
	cover(kind, at, {call_id: call, deadline}, word) {
		this.overs.push({kind, from: at, to: at, call, word: toText(word), until: Date.parse(toText(deadline)) || 0});
	}

	uncover(test, at) {
		this.bars.push(...this.overs.filter(test).map((over) => ({...over, to: at})));
		this.overs = this.overs.filter((over) => !test(over));
	}

	close(at) {
		this.uncover(() => true, at);
		this.finish(at);
		this.calls.clear();
	}
}

export function traceLanes(events) {
	const lanes = new Map();
	const arrows = [];
	const start = events.length ? Date.parse(events[0].ts) : 0;
	let at = start;
	const cut = events.length > 0 && events[0].seq > 1;
	const laneOf = (id) => {
		if (!lanes.has(id)) lanes.set(id, new Lane());
		return lanes.get(id);
	};
	for (const event of events) {
		at = Math.max(at, Date.parse(event.ts) || at);
		const {agent_id: agent, type, data} = event;
		if (type === 'message' && (data.from !== 'user' || !data.origin || data.origin === 'user')) {
			arrows.push({seq: event.seq, at, from: toText(data.from), to: toText(data.to), kind: toText(data.kind)});
			if (data.from !== 'user') laneOf(toText(data.from));
		}
		if (type === 'session_resumed') for (const lane of lanes.values()) lane.close(lane.at || at);
		if (!agent) continue;
		const lane = laneOf(agent);
		// A window of the log may begin in the middle of a turn.
		if (cut && !lane.at && MIDDLE.has(type)) lane.begin('work', start);
		if (Object.hasOwn(FOLLOW, type)) FOLLOW[type](lane, at, data);
		lane.at = at;
	}
	return {lanes, arrows, start, end: at};
}

// What an event changes in its agent's lane.
const FOLLOW = {
	turn_start(lane, at) {
		lane.close(at);
		lane.begin('work', at);
	},
	turn_end(lane, at, {status}) {
		lane.close(at);
		if (status !== 'completed') lane.marks.push(at);
	},
	agent_ended(lane, at) { lane.close(at); },
	tool_start(lane, at, {id, name}) {
		lane.calls.set(id, name);
		if (lane.open?.kind !== 'tool') lane.begin('tool', at, toText(name));
	},
	tool_end(lane, at, {id, ok}) {
		lane.uncover((over) => over.call === id, at);
		lane.calls.delete(id);
		if (!ok) lane.marks.push(at);
		if (!lane.calls.size) lane.begin('work', at);
		else if (lane.open) lane.open.word = toText([...lane.calls.values()].pop());
	},
	wait(lane, at, data) { lane.cover('waits', at, data, data.on); },
	permission_request(lane, at, data) { lane.cover('asks', at, data, data.tool); },
	permission_decision(lane, at, {call_id: call}) { lane.uncover((over) => over.kind === 'asks' && over.call === call, at); },
};

// Time to place: time in which something happens is as long as it was, quiet time is shortened.
export function makeScale(events, from, until) {
	const stops = [from];
	for (const event of events) {
		const at = Date.parse(event.ts);
		if (at > stops[stops.length - 1] && at < until) stops.push(at);
	}
	if (until > stops[stops.length - 1]) stops.push(until);
	const places = [0];
	for (let index = 1; index < stops.length; index += 1) {
		const gap = stops[index] - stops[index - 1];
		places.push(places[index - 1] + (gap <= CALM ? gap : CALM * (1 + Math.log2(gap / CALM) / 2)));
	}
	const size = places[places.length - 1] || 1;
	const find = (list, value) => {
		let low = 0, high = list.length - 1;
		while (low < high - 1) {
			const middle = (low + high) >> 1;
			if (list[middle] <= value) low = middle;
			else high = middle;
		}
		return low;
	};
	const along = (a, b, value) => {
		if (a.length < 2) return 0;
		const clipped = Math.min(Math.max(value, a[0]), a[a.length - 1]);
		const index = find(a, clipped);
		const share = (clipped - a[index]) / (a[index + 1] - a[index] || 1);
		return b[index] + share * (b[index + 1] - b[index]);
	};
	return {place: (at) => along(stops, places, at) / size, moment: (share) => along(places, stops, share * size)};
}

// How much happened before the arrows begin: for each agent, counts in as many buckets.
export function countOlder(events, before) {
	const older = events.filter((event) => Date.parse(event.ts) < before && event.agent_id);
	if (!older.length) return null;
	const first = older[0].seq, last = older[older.length - 1].seq + 1;
	const rows = new Map();
	let most = 1;
	for (const event of older) {
		const bucket = Math.floor(((event.seq - first) / (last - first)) * BUCKETS);
		if (!rows.has(event.agent_id)) rows.set(event.agent_id, new Array(BUCKETS).fill(0));
		const row = rows.get(event.agent_id);
		row[bucket] += 1;
		most = Math.max(most, row[bucket]);
	}
	return {rows, most, buckets: BUCKETS};
}
