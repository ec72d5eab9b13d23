// The conversation as blocks, in the order of the log: pure, so that a fresh load and a live stream give the same.

import {NOTED} from '../events.js';
import {findSubject} from '../reducer.js';
import {toText} from '../words.js';

const NOTES = new Set(NOTED);

export function buildBlocks(events) {
	const blocks = [];
	for (const event of events) addBlock(blocks, event);
	return blocks;
}

// Puts another block, made of the newest that fits, into its place; whether there was one.
function change(blocks, fits, make, depth = 400) {
	for (let at = blocks.length - 1; at >= Math.max(0, blocks.length - depth); at -= 1) {
		if (!fits(blocks[at])) continue;
		blocks[at] = {...blocks[at], ...make(blocks[at])};
		return blocks[at];
	}
	return null;
}

const toNumber = (value) => (typeof value === 'number' ? value : 0);

// Why a call was denied, for a person, and what they can change; in older logs advice to the model follows.
export const findWhy = ({decision, by, words, reason, way_out: wayOut}) => decision === 'deny' && {
	text: toText(by === 'user' ? words : reason).split('; go on without it,')[0], wayOut: toText(wayOut)};

const ofCall = (id) => (one) => one.kind === 'call' && one.id === id;

// Adds what an event says, in place; returns the text of a block that is finished by it, for those who listen.
export function addBlock(blocks, event) {
	const {seq, ts, agent_id: agent, turn, type} = event;
	const data = typeof event.data === 'object' && event.data !== null ? event.data : {};
	const push = (kind, more) => blocks.push({seq, ts, agent: agent || '', turn, kind, ...more});
	const ofTurn = (one) => one.kind === 'turn' && one.agent === agent && one.turn === turn;
	const call = (subject, args, end) => ({id: toText(data.id), name: toText(data.name), subject, args, end, asked: null});
	switch (type) {
		case 'message': {
			const text = toText(data.text);
			// A report often repeats the last words of who reports: they are shown once.
			if (data.kind === 'response') change(blocks, (one) => one.kind === 'said' && one.agent === data.from, (one) => ({repeated: one.repeated || (one.text === text && !one.thinking)}), 8);
			push(data.from !== 'user' ? 'mail' : data.origin && data.origin !== 'user' ? 'told' : 'prompt', {mail: toText(data.kind),
				from: toText(data.from), to: toText(data.to), text, runtime: data.origin === 'planck' && Boolean(data.outcome), claims: readClaims(data.claims), images: Array.isArray(data.images) ? data.images.length : 0});
			break;
		}
		case 'assistant_message': {
			const parts = Array.isArray(data.message?.parts) ? data.message.parts : [];
			const join = (kind, between) => parts.filter((part) => part?.type === kind).map((part) => toText(part.text)).join(between);
			const text = join('text', '');
			const thinking = join('thinking', '\n');
			if (text || thinking) push('said', {text, thinking});
			return text;
		}
		case 'tool_start':
			push('call', call(findSubject(toText(data.name), data.args), data.args, null));
			break;
		case 'tool_end': {
			const end = {ok: Boolean(data.ok), output: toText(data.output), exit: data.exit_code ?? null, ms: data.duration_ms || 0,
				error: data.error?.kind || '', notice: data.notice || ''};
			if (!change(blocks, ofCall(data.id), () => ({end}))) push('call', call('', null, end));
			break;
		}
		case 'permission_request':
			change(blocks, ofCall(data.call_id), () => ({asked: {decision: ''}}));
			break;
		case 'permission_decision':
			if (!change(blocks, ofCall(data.call_id), () => ({asked: {decision: toText(data.decision), scope: toText(data.scope), why: findWhy(data)}}))) push('note', {type, data});
			break;
		case 'turn_start':
			push('turn', {cost: 0, estimated: false, steps: 0, tokens: 0});
			break;
		case 'usage': {
			const {input_tokens: a = 0, output_tokens: b = 0, cache_read_tokens: c = 0, cache_write_tokens: d = 0} = data.usage || {};
			change(blocks, ofTurn, ({cost, estimated, steps, tokens}) => ({
				estimated: estimated || data.estimated === true,
				cost: cost === null || data.cost_usd === null ? null : cost + toNumber(data.cost_usd), steps: steps + 1, tokens: [a, b, c, d].map(toNumber).reduce((sum, one) => sum + one, tokens)}));
			break;
		}
		case 'turn_end':
			push('end', {status: toText(data.status), began: change(blocks, ofTurn, () => ({}), 4000)});
			break;
		case 'rewound': {
			const to = toNumber(data.to);
			for (let at = blocks.length - 1; at >= 0 && blocks[at].seq > to; at -= 1) {
				if (blocks[at].agent === agent) blocks[at] = {...blocks[at], gone: true};
			}
			const last = blocks[blocks.length - 1];
			// Every agent is rewound by itself; that is said once.
			if (last?.type !== type || last.data.to !== to) push('note', {type, data: {to}});
			break;
		}
		default:
			if (NOTES.has(type)) push('note', {type, data});
	}
	return '';
}

const VERDICTS = ['proven', 'stale', 'unsupported', 'contradicted'];
const readClaims = (claims) => (Array.isArray(claims) ? claims : []).map((one) => ({text: toText(one?.text), verdict: VERDICTS.includes(one?.verdict) ? one.verdict : 'unsupported'}));
