// The team over time: a row for each agent, bars for what it does, arrows for what is said between them.

import {html, useEffect, useLayoutEffect, useMemo, useRef, useState} from '../vendor/preact.js';
import {brief, known, moment, seen, span, t, time} from '../words.js';
import {AgentState, Badge, Name, moveFocus} from './common.js';
import {describeAgent, hueOf, isBusy, nameOf} from './status.js';
import {ARROWS, countOlder, makeScale, traceLanes} from './trace.js';

const AXIS = 24;
const PAST = 72;
const EDGE = 14;
const WHOLE = {from: 0, to: 1};
const KINDS = ['work', 'tool', 'waits', 'asks'];
const TICK_SIZES = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400, 43_200, 86_400].map((s) => s * 1000);

// Those who work first, where there are many; else in the order of their start.
function orderRows(board) {
	if (board.agents.length <= 8) return board.agents;
	const rank = (row) => (board.questions.some((one) => one.agent_id === row.id) ? 0 : isBusy(row) ? 1 : row.status === 'ended' ? 3 : 2);
	return board.agents.map((row, at) => [rank(row), at, row]).sort((a, b) => a[0] - b[0] || a[1] - b[1]).map((one) => one[2]);
}

export function Lanes({board, events, tick, now, until, selected, select}) {
	const rows = orderRows(board);
	const dense = rows.length > 10 && innerWidth > 900;
	const height = dense ? 32 : 44;
	const box = useRef(null);
	const [width, setWidth] = useState(720);
	const [view, setView] = useState(WHOLE);
	const [told, setTold] = useState('');
	useLayoutEffect(() => {
		const measure = () => box.current && setWidth(Math.max(160, box.current.clientWidth));
		measure();
		const watch = new ResizeObserver(measure);
		watch.observe(box.current);
		return () => watch.disconnect();
	}, []);
	const order = rows.map((row) => row.id).join();
	const drawing = useMemo(() => draw({board, events, rows, height, width, view, until, selected}), [tick, order, width, view, until, height, selected]);
	useEffect(() => setView(WHOLE), [board.id]);

	const zoom = (event) => {
		const {from, to} = view;
		const size = to - from;
		const change = {
			ArrowLeft: [-size / 4, -size / 4], ArrowRight: [size / 4, size / 4], '+': [size / 4, 0], '=': [size / 4, 0],
			'-': [-size / 2, 0], 0: [-1, 1],
		}[event.key];
		if (!change || event.ctrlKey || event.metaKey) return;
		event.preventDefault();
		const wanted = Math.min(1, Math.max(0.02, size + change[1] - change[0]));
		const right = Math.min(1, Math.max(wanted, to + change[1]));
		setView({from: Math.max(0, right - wanted), to: right});
	};
	const point = (event) => {
		const {left, top} = event.currentTarget.getBoundingClientRect();
		setTold(drawing.tell(event.clientX - left, event.clientY - top - AXIS));
	};
	return html`<div class=${`lanes${dense ? ' dense' : ''}`}>
		<div class="lanes-scroll">
			<div class="lanes-names" role="group" aria-label=${t('team.agents')} onKeyDown=${moveFocus}>
				<div class="axis" aria-hidden="true"></div>
				${rows.map((row, at) => html`<button key=${row.id} data-stop class=${`lane-name${selected === row.id ? ' on' : ''}${row.status === 'ended' ? ' over' : ''}`}
					aria-pressed=${selected === row.id} tabindex=${selected === row.id || (!selected && at === 0) ? 0 : -1} onClick=${() => select(row.id)}>
					<${Badge} board=${board} id=${row.id} /><span class="lane-words"><${Name} board=${board} id=${row.id} length=${dense ? 15 : 19} />
					<${AgentState} board=${board} row=${row} now=${now} /></span></button>`)}
			</div>
			<div class="lanes-box" ref=${box} tabindex="0" role="group" aria-label=${t('lanes.label')} onKeyDown=${zoom}
				onPointerMove=${point} onPointerLeave=${() => setTold('')}>${drawing.svg}</div>
		</div>
		<div class="lanes-foot muted"><span class="clip" aria-hidden="true">${told || t('lanes.hint')}</span>
			<span class="legend" aria-hidden="true">
				${KINDS.map((kind) => html`<span class=${`key ${kind}`} key=${kind}></span>${t(`lanes.${kind}`)} `)}
				${['ask', 'task', 'response'].map((kind) => html`<svg class=${`arrow ${kind}`} width="24" height="8" key=${kind}><path d="M0 4H23" /></svg>${t(`mail.${kind}`)} `)}
			</span></div>
		<${Words} board=${board} rows=${rows} now=${now} arrows=${drawing.arrows} />
	</div>`;
}

// The same in words, for those who do not see the drawing.
function Words({board, rows, now, arrows}) {
	const table = (title, heads, body) => html`<table><caption>${title}</caption><thead><tr>${heads.map((head) => html`<th scope="col" key=${head}>${head}</th>`)}</tr></thead>
		<tbody>${body.map((cells, at) => html`<tr key=${at}>${cells.map((cell) => html`<td>${seen(cell)}</td>`)}</tr>`)}</tbody></table>`;
	return html`<div class="hidden">${table(t('lanes.table'), [t('by.agent'), t('state'), t('since')], rows.map((row) => {
		const state = describeAgent(board, row);
		return [row.name, state.word, span(now - Date.parse(state.since))];
	}))}${table(t('lanes.mail'), [t('time'), t('from'), t('to'), t('kind')], arrows.slice(-20).map((one) => [time(one.at), nameOf(board, one.from), nameOf(board, one.to), known('mail', one.kind)]))}</div>`;
}

function draw({board, events, rows, height, width, view, until, selected}) {
	const {lanes, arrows: all, start, end} = traceLanes(events);
	const arrows = all.slice(-ARROWS);
	const cut = all.length > ARROWS ? arrows[0].at : start;
	const older = cut > start || events[0]?.seq > 1 ? countOlder(events, cut) : null;
	const past = older ? PAST : 0;
	const last = Math.max(until || 0, end, cut + 1);
	const scale = makeScale(events, cut, last);
	const sessionStore = width - past - EDGE * 2;
	const x = (at) => past + EDGE + ((scale.place(at) - view.from) / (view.to - view.from)) * sessionStore;
	const y = new Map(rows.map((row, at) => [row.id, at * height]));
	const middle = (id) => y.get(id) + height / 2;
	const clip = (value) => Math.min(Math.max(value, past), width);
	const bars = [];
	const spots = [];
	const tall = height >= 40 ? 18 : 14;

	rows.forEach((row) => {
		const lane = lanes.get(row.id);
		if (!lane) return;
		const open = [lane.open, ...lane.overs].filter(Boolean).map((one) => ({...one, to: last, open: true}));
		const paths = {work: '', tool: '', waits: '', asks: '', deadline: '', cross: ''};
		for (const bar of [...lane.bars, ...open]) {
			if (bar.to < cut) continue;
			const left = clip(x(Math.max(bar.from, cut)));
			const right = clip(x(bar.to));
			if (right <= past || left >= width) continue;
			const wide = Math.max(right - left, 1.5);
			const top = AXIS + middle(row.id) - tall / 2;
			paths[bar.kind] += `M${left.toFixed(1)} ${top}h${wide.toFixed(1)}v${tall}h-${wide.toFixed(1)}z`;
			if (bar.until && bar.open && bar.until <= last) paths.deadline += `M${clip(x(bar.until)).toFixed(1)} ${top - 3}v${tall + 6}`;
			spots.push({left, right: left + wide, row, bar});
		}
		let free = -9;
		for (const at of lane.marks) {
			const place = x(at);
			if (at < cut || place <= past || place < free) continue;
			paths.cross += `M${(place - 3).toFixed(1)} ${AXIS + middle(row.id) - 3}l6 6m0-6l-6 6`;
			free = place + 7;
		}
		bars.push(html`<g class=${`lane hue-${hueOf(board, row.id)}`} key=${row.id}>
			${Object.entries(paths).map(([kind, path]) => path && html`${(kind === 'waits' || kind === 'asks') && html`<path class="paper" d=${path} />`}<path class=${kind} d=${path} fill=${kind === 'waits' ? 'url(#hatch)' : undefined} />`)}
			${older?.rows.get(row.id)?.map((count, at) => count && html`<rect class="density" key=${at} x=${at * (PAST - 8) / older.buckets} width=${(PAST - 8) / older.buckets - 0.5}
				y=${AXIS + middle(row.id) + tall / 2 - Math.max(2, (count / older.most) * tall)} height=${Math.max(2, (count / older.most) * tall)} />`)}
		</g>`);
	});

	const drawn = arrows.filter((one) => x(one.at) >= past && x(one.at) <= width).map((one) => {
		const user = one.from === 'user';
		if (!y.has(one.to) || (!user && !y.has(one.from))) return null;
		const at = x(one.at);
		const to = AXIS + middle(one.to);
		const from = user ? to - height / 2 - 2 : AXIS + middle(one.from);
		const down = to > from ? 1 : -1;
		const stop = to - down * (tall / 2);
		const begin = user ? from : from + down * (tall / 2);
		return html`<g class=${`arrow ${user ? 'prompt' : one.kind}${selected && selected !== one.from && selected !== one.to ? ' dim' : ''}`} key=${one.seq}><path d=${`M${at.toFixed(1)} ${begin}V${stop - down * 5}`} />
			<path class="head" d=${`M${(at - 3.5).toFixed(1)} ${stop - down * 6}h7l-3.5 ${down * 6}z`} /></g>`;
	});

	const ticks = makeTicks(scale, view, x, past, width);
	const total = AXIS + rows.length * height;
	const svg = html`<svg class="lanes-svg" width=${width} height=${total} viewBox=${`0 0 ${width} ${total}`} aria-hidden="true">
		<defs><pattern id="hatch" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><path class="hatch" d="M0 0V6" /></pattern></defs>
		${rows.map((row, at) => html`<path class="rule" key=${row.id} d=${`M0 ${AXIS + at * height + 0.5}H${width}`} />`)}
		${ticks.map((one) => html`<g key=${one.at}><path class="tick" d=${`M${one.x.toFixed(1)} ${AXIS - 4}V${total}`} /><text x=${one.x + 4} y="15">${one.word}</text></g>`)}
		${older && html`<path class="past" d=${`M${PAST - 4}.5 ${AXIS}V${total}`} /><text x="2" y="15">${t('lanes.older')}</text>`}
		${bars}${drawn}
	</svg>`;

	const tell = (px, py) => {
		const row = rows[Math.floor(py / height)];
		if (!row || py < 0) return '';
		const hits = spots.filter((one) => one.row === row && px >= one.left - 2 && px <= one.right + 2);
		const hit = hits[hits.length - 1];
		const at = moment(new Date(scale.moment(view.from + ((px - past - EDGE) / sessionStore) * (view.to - view.from))).toISOString());
		if (!hit) return `${brief(row.name, 40)} · ${at}`;
		const {kind, word, from, to} = hit.bar;
		const what = kind === 'waits' ? t('state.waits', {name: brief(nameOf(board, word), 40)}) : kind === 'work' ? t('state.thinking') : `${kind === 'asks' ? `${t('state.asks')} ` : ''}${brief(word, 40)}`;
		return `${brief(row.name, 40)} · ${what} · ${span(to - from)} · ${at}`;
	};
	return {svg, arrows, tell};
}

function makeTicks(scale, view, x, past, width) {
	const from = scale.moment(view.from), to = scale.moment(view.to);
	const size = TICK_SIZES.find((one) => (to - from) / one <= 8);
	const found = [];
	if (!(to > from) || !size) return found;
	for (let at = Math.ceil(from / size) * size, free = past - 1; at <= to; at += size) {
		const place = x(at);
		if (place <= free || place > width - 60) continue;
		const date = new Date(at);
		found.push({at, x: place, word: to - from < 300_000 ? `${time(date)}:${String(date.getSeconds()).padStart(2, '0')}` : time(date)});
		free = place + 84;
	}
	return found;
}
