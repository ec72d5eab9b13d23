// Who does what now: the same fold as records/board.py, over the same logs (tests/logs), with the same result.
// `reduce` is pure. What it does not know, and what has another shape than the one we write, changes nothing.

import {ASK, PLAN, SUBJECT, SUBJECTS, SUBJECT_OF} from './tools.js';

const TEXT = 500;
const STEPS = 50;
const FILES = 100;
const COUNTS = ['messages', 'turns', 'calls', 'failed_calls', 'questions', 'denials', 'file_changes', 'compactions', 'errors', 'resumes'];
const TOKENS = ['input_tokens', 'output_tokens', 'cache_read_tokens', 'cache_write_tokens', 'reasoning_tokens'];

const each = (names, value) => Object.fromEntries(names.map((name) => [name, value(name)]));
const zero = () => 0;

export function emptyBoard() {
	return {
		seq: 0, id: '', name: '', workspace: '', version: '', started: '', updated: '', parent: '', forked_at: 0,
		mode: '', state: 'done', halted: false, agents: [], questions: [], owed: [], budget: null, files: [],
		usage: each(TOKENS, zero), cost_usd: 0, unpriced: 0, counts: each(COUNTS, zero), error: null,
	};
}

export function reduce(board, event) {
	if (event.seq === null || event.seq === undefined) return board;
	const next = {...board, seq: event.seq, updated: event.ts};
	const known = Object.hasOwn(FOLDS, event.type) && FOLDS[event.type];
	const data = known && read(known[0], event.data);
	if (!data) return next;
	known[1](next, event, data, findAgent(next, event.agent_id));
	next.state = findState(next);
	return next;
}

export function foldEvents(events, board = emptyBoard()) {
	for (const event of events) board = reduce(board, event);
	return board;
}

// Shapes: what is read of an event's data, as [is it that, what stands for one that is absent]. Without the
// second it has to be there; one that is something else makes the whole event unreadable, as in records/partial_views.py.
const isText = (value) => typeof value === 'string';
const isMap = (value) => typeof value === 'object' && value !== null && !Array.isArray(value);
const orNull = (test) => [(value) => value === null || test(value), null];
const must = [isText];
const text = [isText, ''];
const whole = [Number.isInteger, 0];
const maybeText = orNull(isText);
const maybeNumber = orNull(Number.isFinite);
const flag = [(value) => typeof value === 'boolean', false];
const texts = [(value) => Array.isArray(value) && value.every(isText), []];
const any = [() => true, null];

// Null: it has another shape. A field may be a shape of its own, `needed` or absent with all that is in it.
function read(shape, value) {
	if (!isMap(value)) return null;
	const found = {};
	for (const name in shape) {
		const field = shape[name];
		if (field === true) continue;
		const there = Object.hasOwn(value, name);
		if (!Array.isArray(field)) {
			found[name] = there || !field.needed ? read(field, there ? value[name] : {}) : null;
			if (!found[name]) return null;
		} else if (there ? !field[0](value[name]) : field.length < 2) return null;
		else found[name] = there ? value[name] : field[1];
	}
	return found;
}

const tokens = each(TOKENS, () => whole);
const model = {provider: text, model: text, id: text, context_window: [Number.isInteger, 128000]};
const session = {id: text, name: text, workspace: text, version: text, options: {mode: text}};
const changed = {name: text, mode: text};
const label = (found) => found.id || `${found.provider}/${found.model}`;

const cut = (value, length) => (value.length <= length ? value : Array.from(value).slice(0, length).join(''));
const addUsage = (a, b) => each(TOKENS, (name) => a[name] + b[name]);
const findAgent = (board, id) => board.agents.find((row) => row.id === id);

function changeRow(board, id, changes) {
	const at = board.agents.findIndex((row) => row.id === id && row.status !== 'ended');
	if (at < 0) return;
	board.agents = board.agents.slice();
	board.agents[at] = {...board.agents[at], ...changes};
}

const keep = (board, name, test) => { board[name] = board[name].filter(test); };

function count(board, name, more = 1) {
	board.counts = {...board.counts, [name]: board.counts[name] + more};
}

function findState(board) {
	if (board.questions.length) return 'waiting';
	let last = '', unread = false;
	for (const row of board.agents) {
		if (row.status === 'ended') continue;
		if (row.status !== 'idle' || (row.unread.length && !board.halted)) return 'running';
		last = last || row.last_turn || 'none';
		unread = unread || row.unread.length > 0;
	}
	if (last === 'failed' || last === 'capped') return 'failed';
	return unread || last === 'interrupted' || last === 'timed_out' ? 'interrupted' : 'done';
}

function dropWaitsOn(board, test) {
	board.agents = board.agents.map((row) => (row.waits.some(test) ? {...row, waits: row.waits.filter((wait) => !test(wait))} : row));
}

function forgetProcess(board) {
	dropWaitsOn(board, () => true);
	board.questions = [];
	keep(board, 'owed', (letter) => letter.kind !== 'ask');
}

function closeLetters(board, ids) {
	for (const id of ids) {
		const letter = board.owed.find((one) => one.id === id);
		if (!letter) continue;
		const row = findAgent(board, letter.from);
		keep(board, 'owed', (one) => one !== letter);
		if (row) changeRow(board, row.id, {waits: row.waits.filter((wait) => wait.message_id !== id)});
	}
}

function dropWaits(board, id) {
	const asked = new Set(findAgent(board, id)?.waits.map((wait) => wait.message_id));
	changeRow(board, id, {waits: []});
	keep(board, 'questions', (question) => question.agent_id !== id);
	keep(board, 'owed', (letter) => !asked.has(letter.id));
}

function stopTurn(board, id, since, last_turn) {
	changeRow(board, id, {status: 'idle', since, last_turn, opened_by: '', calls: [], stopping: false});
}

function inWords(value) { // as Python says it
	if (isText(value)) return value;
	if (value === null) return 'None';
	if (typeof value === 'boolean') return value ? 'True' : 'False';
	return typeof value === 'number' ? String(value) : JSON.stringify(value);
}

export function findSubject(tool, args) {
	if (!isMap(args)) return '';
	const own = Object.hasOwn(SUBJECT_OF, tool) ? [SUBJECT_OF[tool]] : [];
	const key = [...own, ...SUBJECTS].find((name) => Object.hasOwn(args, name) && isText(args[name]));
	return key ? cut(args[key], SUBJECT) : '';
}

function readPlan(args) {
	if (!isMap(args) || !Array.isArray(args.steps)) return [];
	const part = (step, name) => (Object.hasOwn(step, name) ? inWords(step[name]) : '');
	return args.steps.slice(0, STEPS).filter(isMap).map((step) => ({text: cut(part(step, 'text'), SUBJECT), status: part(step, 'status')}));
}

function changeSession(board, event, data) {
	board.mode = data.mode || board.mode;
	board.name = data.name || board.name;
}

const FOLDS = {
	session_started: [session, (board, event, {options, ...data}) => Object.assign(board, data, {started: event.ts, mode: options.mode})],
	session_resumed: [session, (board, event, data) => {
		count(board, 'resumes');
		forgetProcess(board);
		board.version = data.version || board.version;
		board.mode = data.options.mode || board.mode;
		board.halted = false;
	}],
	renamed: [changed, changeSession],
	mode_changed: [changed, changeSession],
	forked: [{session_id: text, at: whole}, (board, event, data) => {
		forgetProcess(board);
		for (const row of board.agents.filter((one) => one.status !== 'idle' && one.status !== 'ended')) stopTurn(board, row.id, event.ts, 'interrupted');
		board.parent = data.session_id;
		board.forked_at = data.at;
		board.halted = true;
	}],
	agent_started: [{agent: {needed: true, id: must, type: text, name: text, role: text, model, delegator_id: text}}, (board, event, {agent: {id, type, name, role, model: its, delegator_id}}) => {
		keep(board, 'agents', (one) => one.id !== id);
		board.agents.push({
			id, type, name, role, delegator_id, model: label(its), status: 'idle', since: event.ts, stopping: false, turn: 0, steps: 0,
			opened_by: '', last_turn: '', ended: '', reason: '', unread: [], calls: [], waits: [], plan: [],
			usage: each(TOKENS, zero), cost_usd: 0, unpriced: 0, context: 0, window: its.context_window, error: null,
		});
	}],
	agent_ended: [{status: text, reason: text}, (board, event, data) => {
		const id = event.agent_id;
		changeRow(board, id, {
			status: 'ended', since: event.ts, ended: data.status, reason: cut(data.reason, TEXT), stopping: false,
			opened_by: '', unread: [], calls: [], waits: [],
		});
		dropWaitsOn(board, (wait) => wait.on === id);
		keep(board, 'questions', (question) => question.agent_id !== id);
		keep(board, 'owed', (letter) => letter.to !== id);
	}],
	message: [{id: must, kind: text, from: text, to: text, correlation_id: maybeText, outcome: text}, (board, event, {id, kind, from, to, correlation_id: answered, outcome}) => {
		const letter = {id, kind, from, to, since: event.ts};
		count(board, 'messages');
		const row = findAgent(board, to);
		if (row) changeRow(board, row.id, {unread: [...row.unread, letter]});
		if ((kind === 'ask' || kind === 'task') && from !== 'user') board.owed = [...board.owed, letter];
		else if (kind === 'response' && answered && outcome !== 'in progress') closeLetters(board, [answered]);
	}],
	delivery: [{ids: texts, state: text}, (board, event, data, row) => {
		if (row) changeRow(board, row.id, {unread: row.unread.filter((letter) => !data.ids.includes(letter.id))});
		if (data.state !== 'delivered') closeLetters(board, data.ids);
	}],
	wait: [{on: must, message_id: must, deadline: text, call_id: maybeText}, (board, event, data, row) => {
		if (!row || row.opened_by === '' || row.stopping) return;
		changeRow(board, row.id, {waits: [...row.waits, {...data, call_id: data.call_id || '', since: event.ts}]});
	}],
	control: [{action: must, target: text}, (board, event, data) => {
		const halt = data.action === 'halt';
		for (const row of board.agents.filter((one) => halt || one.id === data.target)) {
			if (data.action === 'destroy') changeRow(board, row.id, {ended: 'destroyed'});
			if (row.opened_by) {
				changeRow(board, row.id, {stopping: true});
				dropWaits(board, row.id);
			}
		}
		board.halted = board.halted || halt;
	}],
	turn_start: [{message_id: text}, (board, event, data) => {
		dropWaits(board, event.agent_id || '');
		count(board, 'turns');
		board.halted = false;
		changeRow(board, event.agent_id, {
			status: 'streaming', since: event.ts, turn: event.turn, steps: 0, opened_by: data.message_id, calls: [],
			error: null, stopping: false,
		});
	}],
	turn_end: [{status: text}, (board, event, data, row) => {
		if (!row) return;
		dropWaits(board, row.id);
		closeLetters(board, board.owed.filter((one) => one.id === row.opened_by && one.kind === 'ask').map((one) => one.id));
		stopTurn(board, row.id, event.ts, data.status);
	}],
	assistant_message: [{message: {needed: true, usage: tokens}}, (board, event, {message: {usage}}, row) => {
		if (!row) return;
		const used = usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens + usage.output_tokens;
		changeRow(board, row.id, {steps: row.steps + 1, context: used || row.context, since: event.ts});
	}],
	tool_start: [{id: must, name: text, args: any}, (board, event, {id, name, args}, row) => {
		if (!row) return;
		const call = {id, name, subject: findSubject(name, args), since: event.ts, plan: name === PLAN ? readPlan(args) : []};
		changeRow(board, row.id, {status: 'executing_tools', since: event.ts, calls: [...row.calls, call]});
	}],
	tool_end: [{id: must, name: text, ok: flag}, (board, event, data, row) => {
		count(board, 'calls');
		if (!data.ok) count(board, 'failed_calls');
		keep(board, 'questions', (one) => !data.id || one.call_id !== data.id);
		const call = row?.calls.find((one) => one.id === data.id);
		if (!call) return;
		const calls = row.calls.filter((one) => one.id !== data.id);
		const asking = calls.some((one) => one.name === ASK);
		const over = row.waits.filter((wait) => wait.call_id === data.id || (!wait.call_id && !asking)).map((wait) => wait.message_id);
		changeRow(board, row.id, {
			status: calls.length ? 'executing_tools' : 'streaming', since: event.ts, calls,
			waits: row.waits.filter((wait) => !over.includes(wait.message_id)),
			plan: call.name === PLAN && data.ok ? call.plan : row.plan,
		});
		keep(board, 'owed', (letter) => !over.includes(letter.id));
	}],
	usage: [{usage: tokens, cost_usd: maybeNumber, estimated: any}, (board, event, data, row) => {
		const spent = (of) => ({
			usage: addUsage(of.usage, data.usage), cost_usd: of.cost_usd + (data.cost_usd || 0), unpriced: of.unpriced + (data.cost_usd === null ? 1 : 0),
			...(data.estimated && {estimated: (of.estimated || 0) + 1}),
		});
		if (row) changeRow(board, row.id, spent(row));
		Object.assign(board, spent(board));
	}],
	budget: [{limit_usd: maybeNumber, spent_usd: maybeNumber}, (board, event, data) => {
		if (data.limit_usd !== null) board.budget = data;
	}],
	permission_request: [{id: must, call_id: text, tool: text, text, adds: text, reason: text, digest: text, deadline: text}, (board, event, data, row) => {
		count(board, 'questions');
		if (row?.stopping) return;
		const short = each(['text', 'adds', 'reason'], (name) => cut(data[name], TEXT));
		board.questions = [...board.questions, {...data, ...short, seq: event.seq || 0, agent_id: event.agent_id || '', since: event.ts}];
	}],
	permission_decision: [{call_id: text, decision: text, request_id: text}, (board, event, data) => {
		if (data.decision === 'deny') count(board, 'denials');
		keep(board, 'questions', (one) => one.id !== data.request_id && !(data.call_id && one.call_id === data.call_id));
	}],
	file_changed: [{path: must, call_id: text, after_sha256: text}, (board, event, {after_sha256: after, ...data}) => {
		const before = board.files.find((file) => file.path === data.path);
		const file = {...data, agent_id: event.agent_id || '', changes: (before?.changes || 0) + 1, removed: after === '', since: event.ts};
		board.files = [...board.files.filter((one) => one !== before), file].slice(-FILES);
		count(board, 'file_changes');
	}],
	compacted: [{tokens_after: whole, window: whole}, (board, event, data, row) => {
		count(board, 'compactions');
		if (row) changeRow(board, row.id, {context: data.tokens_after, window: data.window || row.window});
	}],
	rewound: [{}, (board, event) => changeRow(board, event.agent_id, {context: 0})],
	model_changed: [{model: {needed: true, ...model}}, (board, event, data) => {
		changeRow(board, event.agent_id, {model: label(data.model), window: data.model.context_window});
	}],
	error: [{kind: text, message: text}, (board, event, data) => {
		const problem = {agent_id: event.agent_id || '', kind: data.kind, message: cut(data.message, TEXT), since: event.ts};
		count(board, 'errors');
		changeRow(board, event.agent_id, {error: problem});
		board.error = problem;
	}],
};
