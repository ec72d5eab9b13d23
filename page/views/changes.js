// What was done to files, by whom; and taking some of it back, after a look at what that would do.

import {html, useEffect, useRef, useState} from '../vendor/preact.js';
import {get, post} from '../api.js';
import {brief, seen, t} from '../words.js';
import {Diff, countFiles, readDiff} from '../diff.js';
import {Badge, Changed, Empty, Fold, Pending, moveFocus, useBusy} from '../parts/common.js';

const GROUPS = {agent: 'agent', turn: 'turn', call: 'call_id'};
const keyOf = (item) => `${item.call_id}/${item.path}`;
const countPaths = (items) => t('changes.files', {n: new Set(items.map((one) => one.path)).size});
const authorOf = (agent, length) => (agent === 'user' ? t('you') : brief(agent, length));

export function ChangesView({sessionStore, act, params: {agent, call}}) {
	const [list, setList] = useState({status: 'loading', items: []});
	const [by, setBy] = useState(call ? 'call' : 'agent');
	const [at, setAt] = useState('');
	const [ticked, setTicked] = useState(null); // null: what the address names
	const [plan, setPlan] = useState(null);
	const [done, setDone] = useState(null);
	const [busy, run] = useBusy();
	const place = `/sessions/${sessionStore.id}`;
	const newest = useRef(0);
	const load = () => {
		newest.current += 1;
		const mine = newest.current;
		const set = (found) => { if (mine === newest.current) setList(found); }; // answers may come in another order
		return get(`${place}/changes`).then(({items}) => set({status: 'ready', items}), (problem) => set({status: 'error', items: [], problem}));
	};
	useEffect(() => { load(); }, [sessionStore, sessionStore.board.counts.file_changes]);
	const {items} = list;
	if (list.status !== 'ready') return html`<${Pending} of=${list} retry=${load} />`;
	if (!items.length) return html`<${Empty} words=${t('changes.empty')}><a class="button" href=${`#/s/${sessionStore.id}/conversation`}>${t('nav.conversation')}</a><//>`;

	const chosen = items.filter((item) => !item.undone && (ticked ? ticked.has(keyOf(item)) : item.call_id === call || item.agent === agent));
	const shown = items.find((item) => keyOf(item) === at) || chosen[chosen.length - 1] || items[items.length - 1];
	const groups = [...Map.groupBy(items, (item) => item[GROUPS[by]])];
	const title = (value, {path}) => (by === 'agent' ? authorOf(value, 28) : by === 'turn' ? t('changes.turn', {n: value}) : `${brief(path.split('/').pop(), 20)} · ${brief(value, 10)}`);
	const tick = (changed, on) => {
		const next = new Set(chosen.map(keyOf));
		for (const item of changed) next[on ? 'add' : 'delete'](keyOf(item));
		setTicked(next);
		setPlan(null);
	};
	const box = (of, label, first) => {
		const open = of.filter((item) => !item.undone);
		const on = open.filter((item) => chosen.includes(item)).length;
		return html`<input type="checkbox" data-stop tabindex=${first ? 0 : -1} aria-label=${label} disabled=${!open.length} checked=${on > 0 && on === open.length} indeterminate=${on > 0 && on < open.length} onChange=${({target}) => tick(open, target.checked)} />`;
	};
	const attempt = (work) => () => run(() => act.attempt(work));
	const look = attempt(async () => setPlan(await post(`${place}/undo/plan`, {selection: {files: chosen.map((item) => ({call: item.call_id, path: item.path}))}})));
	const take = attempt(async () => {
		setDone(await post(`${place}/undo`, {plan_id: plan.plan_id}));
		setPlan(null);
		setTicked(new Set());
		await load();
	});
	const File = (item) => {
		const conflict = plan?.conflicts.find((one) => one.path === item.path && chosen.includes(item));
		const note = item.undone ? t('changes.undone') : item.undoes.length ? t('changes.undo') : '';
		return html`<li class=${`change${item === shown ? ' on' : ''}`} key=${keyOf(item)}>${box([item], seen(item.path))}<button class="grow" data-stop tabindex="-1" aria-pressed=${item === shown} onClick=${() => { setAt(keyOf(item)); setPlan(null); }}>
			<span class="code grow clip" title=${seen(item.path)}>${brief(item.path, 24)}</span>${note && html`<span class="muted">${note}</span>`}<${Changed} ...${item} />${conflict && html`<span class="warn" title=${seen(conflict.reason)}>⚠</span>`}</button></li>`;
	};
	return html`<div class="changes"><section class="changes-list" aria-label=${t('nav.changes')}>
		<div class="segmented" role="group" aria-label=${t('by')}>${Object.keys(GROUPS).map((one) => html`<button key=${one} aria-pressed=${by === one} onClick=${() => setBy(one)}>${t(`by.${one}`)}</button>`)}</div>
		<div class="row"><button disabled=${busy || !chosen.length} onClick=${look}>${t('undo.look')}</button><span class="muted grow">${chosen.length ? countPaths(chosen) : t('undo.tick')}</span></div>
		<div onKeyDown=${moveFocus}>${groups.map(([value, all], index) => html`<section key=${value} aria-label=${title(value, all[0])}><h2 class="change">${box(all, title(value, all[0]), index === 0)}
			${by === 'agent' && html`<${Badge} board=${sessionStore.board} id=${sessionStore.board.agents.find((row) => row.name === value)?.id || 'user'} />`}<bdi class="grow">${title(value, all[0])}</bdi><span class="muted num">${countPaths(all)}</span></h2><ul class="plain">${all.map(File)}</ul></section>`)}</div></section>
		<section class="changes-diff" aria-label=${seen(shown.path)}>
			${done && html`<p class="box ok" role="status">${t('undo.done', {n: done.files.length})} <a class="code" href=${`#/s/${sessionStore.id}/changes?call=${done.call_id}`}>${brief(done.call_id, 12)}</a></p>`}
			${plan ? html`<${UndoPlan} plan=${plan} busy=${busy} take=${take} leave=${() => setPlan(null)} />` : html`<header class="row"><h2 class="code grow clip" title=${seen(shown.path)}>${brief(shown.path, 60)}</h2><span class="muted">${authorOf(shown.agent, 24)} · ${t('changes.turn', {n: shown.turn})} · <span class="code">${brief(shown.call_id, 12)}</span>${shown.by === 'command' && html` · ${t('changes.command')}`}</span></header>
			${shown.diff ? html`<${Diff} key=${keyOf(shown)} rows=${readDiff(shown.diff)} all=${true} />` : html`<p class="muted">${t('changes.lost')}</p>`}`}</section></div>`;
}

function UndoPlan({plan, busy, take, leave}) {
	const rows = readDiff(plan.diff);
	return html`<section class="undo" aria-label=${t('undo.plan')}><div class="row"><h3 class="grow">${t('undo.plan')}</h3><button onClick=${leave}>${t('cancel')}</button><button class="primary" disabled=${busy || !plan.diff} onClick=${take}>${t('undo.take', {n: countFiles(rows) || 1})}</button></div>
		${plan.conflicts.length > 0 && html`<ul class="plain warn">${plan.conflicts.map((one) => html`<li key=${one.path}>⚠ <span class="code">${seen(one.path)}</span> ${seen(one.reason)}</li>`)}</ul>`}
		${plan.diff ? html`<${Diff} rows=${rows} />` : html`<p class="muted">${t('undo.none')}</p>`}
		${plan.commands.length > 0 && html`<${Fold} title=${t('undo.commands', {n: plan.commands.length})}><ul class="plain">${plan.commands.map((one, at) => html`<li class="code" key=${at}>${seen(one)}</li>`)}</ul><//>`}</section>`;
}
