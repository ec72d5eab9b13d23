// The team: who works, who waits for whom, who asks you, what it costs, what changed.

import {html, useEffect, useMemo, useRef, useState} from '../vendor/preact.js';
import {brief, cost, exact, known, percent, seen, short, t, time} from '../words.js';
import {AgentState, Answer, Badge, Choice, Close, Elapsed, Empty, Facts, Key, Mark, Name, Pending, Who, useBusy} from '../parts/common.js';
import {Lanes} from '../parts/lanes.js';
import {buildBlocks} from '../parts/blocks.js';
import {explainWait, isBusy} from '../parts/status.js';
import {Thread} from './conversation.js';

// `sessionStore` is what store.js makes of a log; without `act` nothing can be changed, as in an exported file.
export function TeamView({sessionStore, now, act, models, base, tick, words, facts}) {
	const [chosen, setChosen] = useState('');
	const {replay} = sessionStore;
	const blocks = useMemo(() => (replay ? buildBlocks(replay.events) : sessionStore.blocks), [replay, sessionStore.blocks]);
	const shown = useMemo(() => (replay ? {...sessionStore, live: new Map(), first: 0, offline: true} : sessionStore), [replay, sessionStore]);
	if (sessionStore.status !== 'ready') return html`<${Pending} of=${sessionStore} retry=${() => act.reopen()} />`;
	const {board, events} = replay || sessionStore;
	const moving = !replay && !sessionStore.offline && board.agents.some(isBusy);
	const clock = moving ? now : Date.parse(board.updated) || 0;
	const row = board.agents.find((one) => one.id === chosen);
	const plan = board.agents[0]?.plan || [];
	const scrubber = html`<${Scrubber} head=${sessionStore.board.seq} at=${board.seq} ts=${board.updated} live=${!replay} show=${(seq) => sessionStore.show(seq)} />`;
	if (!board.agents.length) return html`<section class="team-main" aria-label=${t('team.label')}><${Empty} words=${t('team.empty')} />${scrubber}</section>`;
	return html`<div class="team">
		<section class="team-main" aria-label=${t('team.label')}>
			<${Why} board=${board} act=${act} />
			${replay && html`<p class="box" role="status">${t('replay.shown', {seq: board.seq})}</p>`}
			<${Lanes} board=${board} events=${events} tick=${tick} now=${clock} until=${moving ? Math.floor(now / 5000) * 5000 : 0} selected=${chosen} select=${(id) => setChosen(id === chosen ? '' : id)} />
			<div class="team-strip">
				${plan.length > 0 && html`<section class="strip-plan" aria-label=${t('plan')}><h2>${t('plan')}</h2><${Plan} steps=${plan} /></section>`}
				<${Counts} board=${board} base=${base} />
			</div>
			<${Thread} sessionStore=${shown} board=${board} facts=${facts} words=${words} only=${chosen} act=${null} blocks=${blocks} />
			${scrubber}
		</section>
		${row && html`<${AgentCard} key=${row.id} board=${board} row=${row} now=${clock} act=${replay ? null : act} models=${models} base=${base} close=${() => setChosen('')} />`}
	</div>`;
}

// Whose questions need you; where nobody asks, who is blocked by whom.
function Why({board, board: {questions}, act}) {
	const n = questions.length;
	const ids = n ? [...new Set(questions.map((one) => one.agent_id))].filter(Boolean) : explainWait(board);
	if (!n && !ids.length) return null;
	return html`<div class=${`why${n ? ' asks' : ''}`} role="status"><span class="strong">${n ? t('inbox.count', {n}) : t('why')}${ids.length > 0 && ':'}</span>
		<span class="why-chain">${ids.map((id, at) => html`<span class="row" key=${at}>${at > 0 && !n && html`<span class="muted" aria-hidden="true">→</span><span class="hidden">${t('why.on')}</span>`}
			<${Badge} board=${board} id=${id} /><span><${Name} board=${board} id=${id} length=${20} />${n > 0 && at < ids.length - 1 && ','}</span></span>`)}
			${n === 1 && html`<span class="code muted clip">${seen(questions[0].tool)}</span>`}</span>
		${n > 0 && act && html`<${Answer} />`}</div>`;
}

function Counts({board: {counts, files}, base}) {
	const cells = [['mail', counts.messages], ['calls', counts.calls], ['failed', counts.failed_calls], ['files', files.length], ['errors', counts.errors], ['denials', counts.denials]];
	return html`<ul class="counts">${cells.filter(([key, n]) => n || ['mail', 'calls', 'files'].includes(key)).map(([key, n]) => html`<li key=${key} class=${key === 'errors' || key === 'failed' ? 'error' : ''}>
		<a href=${base && `${base}/${key === 'files' ? 'changes' : 'conversation'}`}><span class="num strong">${exact(n)}</span> ${t(`count.${key}`, {n})}</a></li>`)}</ul>`;
}

const CLASSES = {input_tokens: 'card.fresh', cache_read_tokens: 'card.read', cache_write_tokens: 'card.written', output_tokens: 'card.output'};

// One agent: what it does, what it has used, and what can be done with it.
function AgentCard({board, row, now, act, models = [], close, base}) {
	const [busy, run] = useBusy();
	const {usage} = row;
	const share = row.window ? row.context / row.window : 0;
	const question = board.questions.find((one) => one.agent_id === row.id);
	const over = row.status === 'ended';
	const number = (value) => [short(value), {class: 'num', title: exact(value)}];
	const used = Object.keys(CLASSES).filter((name) => usage[name]);
	const facts = [
		[t('card.role'), brief(row.type, 24), {title: seen(row.type)}],
		[t('setup.model'), brief(row.model, 22), {title: seen(row.model), class: 'code'}],
		[t('by.turn'), row.turn ? `${exact(row.turn)} · ${t('conv.steps', {n: row.steps})}` : t('card.noTurn'), {class: 'num'}],
		[t('card.window'), html`<progress max="1" value=${Math.min(1, share)} aria-label=${t('card.window')}></progress> ${percent(share)}`, {class: 'num', title: t('card.used', {used: row.context, all: row.window})}],
		[t('card.tokens'), ...number(used.reduce((sum, name) => sum + usage[name], 0))],
		...used.map((name) => [html`<span class="part">${t(CLASSES[name])}</span>`, ...number(usage[name])]),
		[t('card.cost'), cost(row), {class: 'num'}],
		row.unread.length > 0 && [t('card.unread'), exact(row.unread.length), {class: 'num'}],
	];
	const list = (title, rows) => rows.length > 0 && html`<h3>${title}</h3><ul class="plain">${rows}</ul>`;
	return html`<aside class="card" aria-label=${seen(row.name)}>
		<header class="row"><h2 class="grow row"><${Who} board=${board} id=${row.id} length=${19} /></h2><${Close} act=${close} /></header>
		<p><${AgentState} board=${board} row=${row} now=${now} /></p>
		${question && html`<p class="box asks"><span class="code clip">${brief(question.text, 160)}</span>${act && html`<${Answer} />`}</p>`}
		${row.error && html`<p class="box error"><strong class="code">${seen(row.error.kind)}</strong> ${brief(row.error.message, 240)}</p>`}
		${over && row.reason && html`<p class="muted">${brief(row.reason, 200)}</p>`}
		<${Facts} rows=${facts} />
		${list(t('card.waits'), row.waits.map((wait) => html`<li key=${wait.message_id} class="row"><${Who} board=${board} id=${wait.on} /><${Elapsed} since=${wait.since} now=${now} /></li>`))}
		${list(t('card.calls'), row.calls.slice(0, 6).map((call) => html`<li key=${call.id} class="code clip" title=${seen(call.subject)}>${brief(call.name, 20)} <span class="muted">${brief(call.subject, 60)}</span></li>`))}
		${row.plan.length > 0 && html`<h3>${t('plan')}</h3><${Plan} steps=${row.plan} />`}
		${act && html`<div class="card-acts">
			<a class="button" href=${`${base}/conversation?agent=${row.id}`}>${t('nav.conversation')}</a>
			<a class="button" href=${`${base}/changes?agent=${encodeURIComponent(row.name)}`}>${t('nav.changes')}</a>
			${isBusy(row) && html`<button disabled=${busy || row.stopping} onClick=${() => run(() => act.interrupt(row.id))}>${t('stop')}</button>`}
			${!over && html`<${Choice} label=${t('card.model')} hidden none=${t('card.model')} of=${models.map((one) => one.id)} disabled=${busy} value="" set=${(model) => model && run(() => act.changeModel(row.id, model))} />`}</div>`}
	</aside>`;
}

const STEP_MARKS = {completed: '✓', in_progress: '▸', pending: '○'};

const Plan = ({steps}) => html`<ol class="plan">${steps.map((step, at) => html`<li key=${at} class=${`step ${Object.hasOwn(STEP_MARKS, step.status) ? step.status : ''}`}>
	<${Mark} is=${STEP_MARKS[step.status] || '·'} /><span><span class="hidden">${known('step', step.status)}: </span>${seen(step.text)}</span></li>`)}</ol>`;

const PLAY_MS = 120;

// Any moment of the log: the fold up to it, from the checkpoint before.
function Scrubber({head, at, ts, show, live}) {
	const [playing, setPlaying] = useState(false);
	const [wanted, setWanted] = useState(null);
	const place = useRef(at);
	place.current = at;
	useEffect(() => {
		if (!playing) return undefined;
		const timer = setInterval(() => {
			if (place.current >= head) setPlaying(false);
			else show(place.current + 1);
		}, PLAY_MS);
		return () => clearInterval(timer);
	}, [playing, head]);
	useEffect(() => setWanted(null), [at]);
	const shown = wanted ?? at;
	const where = t('replay.at', {seq: shown, head});
	const go = (seq) => {
		setPlaying(false);
		setWanted(Math.min(Math.max(seq, 1), head));
		show(seq);
	};
	const play = () => {
		if (!playing && at >= head) show(1);
		setPlaying(!playing);
	};
	return html`<div class="scrubber" role="group" aria-label=${t('replay.label')}>
		<${Key} word="replay.back" mark="◀" disabled=${at <= 1} onClick=${() => go(at - 1)} />
		<${Key} word=${playing ? 'replay.pause' : 'replay.play'} mark=${playing ? '❚❚' : '▶'} disabled=${head < 2} aria-pressed=${playing} onClick=${play} />
		<${Key} word="replay.on" mark="▶▏" disabled=${at >= head} onClick=${() => go(at + 1)} />
		<input type="range" min="1" max=${Math.max(1, head)} value=${shown} aria-label=${t('replay.place')} aria-valuetext=${where} onInput=${(event) => go(Number(event.target.value))} />
		<span class="num scrub-at" title=${where}>${exact(shown)} / ${exact(head)} <span class="muted">${time(ts)}</span></span>
		<button class=${live ? 'live on' : 'live'} aria-pressed=${live} onClick=${() => { setPlaying(false); show(null); }}><${Mark} is=${live ? '●' : '○'} /> ${t('replay.live')}</button></div>`;
}
