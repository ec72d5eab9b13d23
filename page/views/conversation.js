// What was said and done, in order; the newest part of it is drawn, older parts when they are scrolled to.

import {Component, html, useEffect, useLayoutEffect, useMemo, useRef, useState} from '../vendor/preact.js';
import {diffTexts, countRows, Diff} from '../diff.js';
import {Markdown} from '../markdown.js';
import {about, brief, exact, known, plain, seen, short, t, took} from '../words.js';
import {Answer, Badge, Changed, Choice, Empty, Fold, Folded, Mark, Name, Output, Pending, Time, Who, into, submitted, useBusy} from '../parts/common.js';
import {findWhy} from '../parts/blocks.js';
import {Proof} from '../parts/proof.js';
import {isBusy, nameOf} from '../parts/status.js';
import {COMMANDS, SHOWN_OF} from '../tools.js';

const DRAWN = 100;
const STEP = 80;
const MOST = 320;
const NEAR = 60;
const SUBJECT_SHOWN = 64;
const NEWEST = {from: null, to: null};

// A status of the model: our word for its state, else the detail that came with it.
const noteOf = ({state, detail}) => {
	const word = known('live', state);
	return word === state ? seen(detail || state) : word;
};

const shownOf = (tool) => Object.hasOwn(SHOWN_OF, tool) && SHOWN_OF[tool];

export function ConversationView({sessionStore, act, seq = null, agent = '', words, facts}) {
	const [only, setOnly] = useState(agent);
	const [find, setFind] = useState('');
	const [to, setTo] = useState(agent);
	useEffect(() => { if (agent) { setOnly(agent); setTo(agent); } }, [agent]);
	if (sessionStore.status !== 'ready') return html`<${Pending} of=${sessionStore} retry=${() => act.reopen()} />`;
	const {board} = sessionStore;
	const there = board.agents.filter((row) => row.status !== 'ended');
	const chip = (id, label) => html`<button class="chip" key=${id} aria-pressed=${only === id} onClick=${() => setOnly(only === id ? '' : id)}>${label}</button>`;
	return html`<div class="conversation">
		<div class="filters"><div class="chips" role="group" aria-label=${t('conv.filter')}>${chip('', t('conv.all'))}
			${board.agents.filter((row) => there.includes(row) || only === row.id).map((row) => chip(row.id, html`<${Who} board=${board} id=${row.id} length=${18} />`))}</div>
			<input id="find" type="search" value=${find} placeholder=${t('conv.find')} aria-label=${t('conv.find')} onInput=${into(setFind)} /></div>
		<${Thread} sessionStore=${sessionStore} board=${board} facts=${facts} words=${words} only=${only} find=${find} seq=${seq} act=${act} />
		${act && html`<${Composer} busy=${there.some(isBusy)} agents=${there} to=${to} choose=${setTo} send=${(text, options) => act.prompt(text, options)} />`}
	</div>`;
}

// Enter steers while a team works; with Ctrl it waits for its turn.
function Composer({busy, agents, to, choose, send}) {
	const [text, setText] = useState('');
	const [sending, run] = useBusy();
	const box = useRef(null);
	const idle = sending || !text.trim();
	const steers = busy && !to;
	const submit = async (queue) => {
		if (idle) return;
		const problem = await run(() => send(text, {...(to && {agent: to}), ...(steers && !queue && {steer: true})}));
		if (!problem) {
			setText('');
			if (box.current) box.current.style.height = '';
		}
		box.current?.focus();
	};
	const press = (event) => {
		if (event.key === 'Escape') event.currentTarget.blur();
		if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
		event.preventDefault();
		submit(event.ctrlKey || event.metaKey);
	};
	const type = ({target}) => {
		setText(target.value);
		target.style.height = 'auto';
		target.style.height = `${Math.min(target.scrollHeight + 2, 200)}px`;
	};
	return html`<form class="composer" onSubmit=${submitted(() => submit(false))}>
		<textarea id="composer" ref=${box} rows="1" value=${text} onInput=${type} onKeyDown=${press} aria-label=${t('say.label')} title=${t('say.hint')} placeholder=${t(busy ? 'say.busy' : 'say.idle')}></textarea>
		<${Choice} label=${t('say.to')} hidden none=${t('say.team')} of=${agents.map((row) => row.id)} say=${(id) => brief(agents.find((row) => row.id === id).name, 24)} value=${to} set=${choose} />
		${steers && html`<button type="button" disabled=${idle} onClick=${() => submit(true)}>${t('say.queue')}</button>`}
		<button class="primary" disabled=${idle}>${t(steers ? 'say.steer' : 'say.send')}</button></form>`;
}

function isShown(block, only, find, lead) {
	const {kind} = block;
	if (kind === 'turn') return false;
	if (kind === 'end' && block.status === 'completed' && (block.agent !== lead || find || only)) return false;
	if (only && block.agent !== only && block.from !== only && block.to !== only) return false;
	if (!find) return !block.repeated && !(kind === 'call' && shownOf(block.name) === 'message' && block.end?.ok);
	return [block.text, block.name, block.subject, block.end?.output].join('\n').toLowerCase().includes(find);
}

export function Thread({sessionStore, board, facts, words, only = '', find = '', seq = null, act, blocks = sessionStore.blocks}) {
	const needle = find.trim().toLowerCase();
	const lead = board.agents[0]?.id;
	const shown = useMemo(() => blocks.filter((block) => isShown(block, only, needle, lead)), [facts, only, needle, blocks]);
	const [range, setRange] = useState({...NEWEST}); // of `shown`; null: up to its newest
	const box = useRef(null);
	const stuck = useRef(true);
	const kept = useRef(null);
	const anchored = useRef(0);
	// So much up to there; where that is the newest, it goes on with what comes.
	const around = (to) => ({from: Math.max(0, Math.min(to, shown.length) - DRAWN - STEP), to: to >= shown.length ? null : to});
	if (anchored.current) { // the list has grown at its beginning: what was drawn is further down now
		const at = shown.findIndex((block) => block.seq === anchored.current);
		anchored.current = 0;
		Object.assign(range, around(at + 1));
	}
	const end = range.to === null ? shown.length : Math.min(range.to, shown.length);
	const from = Math.max(0, range.from === null ? end - DRAWN : Math.min(range.from, end));
	const target = useRef(null);

	const asked = shown.reduce((last, block) => (block.kind === 'prompt' ? block.seq : last), 0);
	// Who has just said something wants to see what comes of it.
	useEffect(() => { if (target.current === null) { setRange({...NEWEST}); stuck.current = true; } }, [only, needle, sessionStore, asked]);
	useEffect(() => {
		if (seq === null) return;
		target.current = seq;
		stuck.current = false;
		if (seq < sessionStore.first) sessionStore.loadOlder(seq);
	}, [seq, sessionStore]);
	useLayoutEffect(() => {
		const {current} = box;
		const find = (seq) => current.querySelector(`[data-seq="${seq}"]`);
		if (target.current !== null && target.current >= sessionStore.first) {
			const at = shown.findIndex((block) => block.seq >= target.current);
			const found = find(shown[at]?.seq);
			if (found) {
				target.current = null;
				current.scrollTop += found.getBoundingClientRect().top - current.getBoundingClientRect().top - current.clientHeight / 3;
				found.classList.add('found');
				found.querySelector('a,button,[tabindex]')?.focus({preventScroll: true});
			} else if (at >= 0) setRange({from: Math.max(0, at - STEP), to: at + STEP});
			else target.current = null;
			return;
		}
		if (kept.current) {
			const anchor = find(kept.current.seq);
			if (anchor) current.scrollTop += anchor.getBoundingClientRect().top - kept.current.top;
			kept.current = null;
		} else if (stuck.current && range.to === null) current.scrollTop = current.scrollHeight;
	});

	// What is at the top of the box stays where it is, whatever is drawn above it.
	const hold = () => {
		const edge = box.current.getBoundingClientRect().top;
		const anchor = [...box.current.querySelectorAll('[data-seq]')].find((one) => one.getBoundingClientRect().bottom > edge);
		kept.current = anchor ? {seq: anchor.dataset.seq, top: anchor.getBoundingClientRect().top} : null;
	};
	const scroll = () => {
		const {current} = box;
		const bottom = current.scrollHeight - current.scrollTop - current.clientHeight;
		stuck.current = bottom < NEAR && range.to === null;
		if (current.scrollTop < 200) {
			if (from > 0) {
				hold();
				const next = Math.max(0, from - STEP);
				setRange({from: next, to: end - next > MOST ? next + MOST : range.to});
			} else if (sessionStore.first > 1 && !sessionStore.older && !sessionStore.offline) {
				const before = shown[end - 1]?.seq;
				sessionStore.loadOlder().then(() => {
					hold();
					anchored.current = before;
				});
			}
		} else if (bottom < 200 && range.to !== null) {
			hold();
			setRange(around(end + STEP));
		}
	};
	const live = range.to === null && !needle ? [...sessionStore.live].filter(([id, one]) => (!only || only === id) && (one.text || one.thinking || one.note)) : [];
	const toEnd = () => {
		stuck.current = true;
		setRange({...NEWEST});
		box.current.scrollTop = box.current.scrollHeight;
	};
	return html`<div class="thread-box"><div class="thread" ref=${box} onScroll=${scroll} tabindex="0" role="log" aria-live="off" aria-label=${t('nav.conversation')}>
		${(sessionStore.older || (from === 0 && sessionStore.first <= 1)) && html`<p class="muted center">${t(sessionStore.older ? 'conv.older' : 'conv.begin')}</p>`}
		${shown.slice(from, end).map((block) => html`<${Block} key=${block.seq} block=${block} board=${board} size=${board.agents.length} act=${act} sessionStore=${sessionStore} live=${(block.kind === 'call' && !block.end && sessionStore.live.get(block.agent)?.output.get(block.id)) || ''} />`)}
		${!live.length && !shown.some((block) => block.kind !== 'note') && html`<${Empty} words=${t(needle || only ? 'conv.none' : 'conv.empty')}>
			${!act && !sessionStore.offline && !needle && !only && html`<a class="button" href=${`#/s/${sessionStore.id}/conversation`}>${t('nav.conversation')}</a>`}<//>`}
		${live.map(([id, one]) => html`<${Speech} key=${id} board=${board} id=${id} kind="said live">${one.note && html`<p class="muted">${noteOf(one.note)}</p>`}
			${one.thinking && !one.text && html`<p class="thinking">${seen(one.thinking.slice(-400))}</p>`}${one.text && html`<${Markdown} text=${one.text} />`}<//>`)}
		${range.to === null && !needle && !only && html`<${Proof} sessionStore=${sessionStore} board=${board} asked=${asked} />`}
	</div>${range.to !== null && html`<button class="to-end" onClick=${toEnd}>${t('conv.toEnd')}</button>`}</div>`;
}

// Drawn again only when the block itself is another one: names and hues of agents do not change.
class Block extends Component {
	shouldComponentUpdate(next) { return ['block', 'live', 'size', 'act'].some((name) => next[name] !== this.props[name]); }

	render(given) {
		const View = {prompt: Prompt, told: Told, mail: Mail, said: Said, call: Call, end: End, note: Note}[given.block.kind];
		return html`<${View} ...${given} />`;
	}
}

const Entry = ({block, kind, children}) => html`<article class=${`block ${kind}${block.gone ? ' gone' : ''}`} data-seq=${block.seq}>${children}</article>`;

// What somebody says: who, when, and the words.
const Speech = ({block = {}, board, id, kind, head, acts, children}) => html`<${Entry} block=${block} kind=${kind}><${Badge} board=${board} id=${id} /><div class="block-body">
	<header class="block-head"><${Name} board=${board} id=${id} />${head}${block.ts && html`<${Time} ts=${block.ts} />`}${acts}</header>${children}</div><//>`;

const Aside = ({block, mark = '·', bad, children}) => html`<${Entry} block=${block} kind=${bad ? 'note bad' : 'note'}><${Mark} is=${mark} /><span>${children} <${Time} ts=${block.ts} /></span><//>`;

function Prompt({block, board, act, sessionStore}) {
	const [editing, setEditing] = useState(false);
	const [text, setText] = useState(block.text);
	const other = board.agents[0]?.id !== block.to;
	const goOn = async (words) => { if (!await act.goOnFrom(block.seq, words)) setEditing(false); };
	const acts = act && !block.gone && html`<span class="block-acts"><button class="link" onClick=${() => act.fork(sessionStore.id, block.seq)}>${t('fork')}</button>
		${!other && html`<button class="link" aria-expanded=${editing} onClick=${() => setEditing(!editing)}>${t('conv.edit')}</button>`}</span>`;
	return html`<${Speech} block=${block} board=${board} id="user" kind="prompt" acts=${acts} head=${other && html`<span class="muted" aria-hidden="true">→</span><${Name} board=${board} id=${block.to} />`}>
		${editing ? html`<form class="edit" onSubmit=${submitted(() => goOn(text))}><textarea rows="4" aria-label=${t('conv.edit')} value=${text} onInput=${into(setText)}></textarea><p class="muted">${t('conv.forget')}</p>
			<div class="row end"><button type="button" onClick=${() => setEditing(false)}>${t('cancel')}</button><button type="button" onClick=${() => goOn('')}>${t('conv.rewind')}</button><button class="primary" disabled=${!text.trim()}>${t('conv.goOn')}</button></div></form>`
			: html`<div class="prose pre">${seen(block.text)}</div>`}${block.images > 0 && html`<p class="muted">${t('conv.images', {n: block.images})}</p>`}<//>`;
}

// What the runtime, or a hook, said in the user's place.
const Told = ({block, board}) => html`<${Aside} block=${block}>${t('note.told', {name: brief(nameOf(board, block.to), 30)})} ${brief(block.text, 400)}<//>`;

function Mail({block, board}) {
	const words = html`<${Markdown} text=${block.text} />`;
	return html`<${Speech} block=${block} board=${board} id=${block.from} kind="mail" head=${html`<span class=${`mail-kind ${block.mail}`}>${known('mail', block.mail)} <span aria-hidden="true">→</span></span><${Who} board=${board} id=${block.to} />`}>
		${block.runtime && html`<p class="muted">${t('mail.runtime')}</p>`}
		${block.text.length > 600 ? html`<${Fold} title=${brief(block.text, 200)}>${words}<//>` : words}
		${block.claims.map(({verdict, text}) => html`<p key=${text} class=${verdict === 'proven' ? 'muted' : 'error'}>${t(`proof.${verdict}`, {name: brief(nameOf(board, block.from), 24), text: brief(text, 120)})}</p>`)}<//>`;
}

const Said = ({block, board}) => html`<${Speech} block=${block} board=${board} id=${block.agent} kind="said">
	${block.thinking && html`<${Fold} title=${t('conv.thinking')}><div class="thinking pre">${seen(block.thinking)}</div><//>`}${block.text && html`<${Markdown} text=${block.text} />`}<//>`;

function findDiff({name, args}) {
	if (shownOf(name) !== 'diff') return null;
	const {old_string: before, new_string: after, content} = Object(args);
	if (typeof content === 'string') return diffTexts('', content);
	return typeof before === 'string' && typeof after === 'string' ? diffTexts(before, after) : null;
}

function Call({block, board, act, live}) {
	const {end, asked, name, subject} = block;
	const rows = useMemo(() => findDiff(block), [block.args]);
	const [kind, mark, word] = !end ? ['', '●', t('call.runs')] : end.ok ? ['ok', '✓', t('step.completed')] : ['error', '✗', t('state.failed')];
	const denied = sayDenied(asked?.why);
	// What the model reads of a denial is not for the person who can do something about it.
	const output = denied && end ? '' : plain(end ? end.output : live);
	const shown = shownOf(name);
	const quiet = end?.ok && (rows || shown === 'message' || shown === 'whole'); // the words stand in a message, the plan on the board
	const facts = [end?.ms >= 100 && took(end.ms), Boolean(end?.exit) && t('call.exit', {code: end.exit}), end?.error,
		denied || asked?.decision && `${known('decision', asked.decision)}${asked.scope ? ` (${known('scope', asked.scope)})` : ''}`].filter(Boolean);
	const label = t('call.output');
	return html`<${Entry} block=${block} kind=${end && !end.ok ? 'call bad' : 'call'}><div class="block-body">
		<header class="call-head"><span class=${`mark ${kind}`}><span aria-hidden="true">${mark}</span><span class="hidden">${word}</span></span>
			<${Name} board=${board} id=${block.agent} length=${18} /> <span class="code strong">${brief(name, 40)}</span> <span class="code" title=${seen(subject)}>${brief(subject, SUBJECT_SHOWN)}</span>
			${rows && html`<${Changed} ...${countRows(rows)} />`}${facts.map((one) => html`<span class="muted num" key=${one}>${seen(one)}</span>`)}
			${asked && !asked.decision && !end && html`<span class="state asks"><${Mark} is="▲" /> ${t('state.asks')}</span>${act && html`<${Answer} />`}`}</header>
		${rows && html`<${Fold} title=${t('diff')}><${Diff} rows=${rows} /><//>`}
		${COMMANDS.includes(name) && subject.length > SUBJECT_SHOWN && html`<${Fold} title=${t('call.command')}><${Output}>${seen(block.args?.command)}<//><//>`}
		${output && !quiet && (end?.ok && (shown === 'count' || shown === 'nothing') ? html`<${Fold} title=${label}><${Folded} text=${output} lines=${12} tail=${false} label=${label} /><//>` : html`<${Folded} text=${output} label=${label} />`)}
		${end?.notice && html`<p class="muted">${seen(end.notice)}</p>`}</div><//>`;
}

export function sayDenied(why) {
	if (!why) return '';
	const said = [known('decision', 'deny'), why.text].filter(Boolean).join(': ');
	return why.wayOut ? `${said.replace(/\.$/, '')}. ${why.wayOut}` : said;
}

function End({block, board}) {
	const {began, status} = block;
	const bad = status !== 'completed';
	const parts = [bad && `✗ ${brief(nameOf(board, block.agent), 24)}`, known('turn', status)];
	if (began) parts.push(t('conv.steps', {n: began.steps}), t('tokens', {n: short(began.tokens)}), began.cost !== null && about(began.estimated, began.cost), took(Date.parse(block.ts) - Date.parse(began.ts)));
	return html`<${Entry} block=${block} kind=${bad ? 'turn-end bad' : 'turn-end'}><span class="num">${parts.filter(Boolean).join(' · ')}</span><//>`;
}

function Note({block, board}) {
	const {data, type} = block;
	const text = (value, length = 300) => (typeof value === 'string' ? brief(value, length) : '');
	const name = brief(nameOf(board, block.agent), 30);
	const model = (found) => text(found?.id || found?.model);
	const plainly = () => t(`note.${type}`, Object.fromEntries([['name', name], ...Object.entries(data).map(([key, value]) => [key, text(value) || value])]));
	const words = ({
		session_resumed: () => t('note.resumed'),
		agent_started: () => t('note.started', {name: text(data.agent?.name, 30), model: model(data.agent?.model)}),
		agent_ended: () => t('note.ended', {name, reason: text(data.reason)}),
		compacted: () => t('note.compacted', {name, before: short(data.tokens_before || 0), after: short(data.tokens_after || 0)}),
		forked: () => t('note.forked', {seq: exact(data.at || 0)}),
		rewound: () => t('note.rewound', {seq: exact(data.to || 0)}),
		mode_changed: () => t('note.mode', {mode: known('mode', text(data.mode))}),
		model_changed: () => t('note.model', {name, model: model(data.model)}),
		renamed: () => t('note.renamed', {name: text(data.name)}),
		error: () => `${text(data.kind)}: ${text(data.message)}`,
		control: () => t(data.action === 'halt' ? 'note.halted' : data.action === 'destroy' ? 'note.destroyed' : 'note.interrupted', {name: brief(nameOf(board, data.target), 30)}),
		permission_decision: () => `${text(data.tool)}: ${sayDenied(findWhy(data)) || known('decision', text(data.decision))}`,
		checked: () => t(data.ok ? 'proof.passed' : data.refused ? 'proof.refused' : data.exit_code ? 'proof.failed' : 'proof.open', {command: text(data.command, 120), code: data.exit_code}),
		landing_proposed: () => t('note.landing', {name, count: exact((data.paths || []).length)}),
		landing_finished: () => t('note.landed', {name, count: exact(data.paths || 0)}),
		landing_refused: () => t('note.refused', {name, why: [text(data.why), ...(data.conflicts || []).slice(0, 5).map(one => text(one.path))].join(', ')}),
		landing_skipped: () => t('note.skipped', {path: text(data.path)}),
	}[type] || plainly)();
	return html`<${Aside} block=${block} bad=${type === 'error' || (type === 'checked' && !data.ok)} mark=${type === 'error' ? '✗' : '·'}>${words}<//>`;
}
