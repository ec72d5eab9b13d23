// The sessions of this place: find one, search what was said, start another.

import {html, useEffect, useState} from '../vendor/preact.js';
import {PREFIX, get, query} from '../api.js';
import {about, ago, brief, known, moment, seen, t} from '../words.js';
import {Choice, Empty, Field, MODES, Pending, Problem, SessionState, into, submitted, useBusy} from '../parts/common.js';

export function SessionsView({state, act}) {
	const {sessions, now, notices} = state;
	const [words, setWords] = useState('');
	const [hits, setHits] = useState(null);
	const [starting, setStarting] = useState(false);
	useEffect(() => {
		let over = false;
		const timer = setTimeout(async () => {
			act.loadSessions(words);
			const found = words.trim().length < 2 ? null : await get(`/search${query({q: words.trim(), limit: 30})}`).then(({items}) => items, () => []);
			if (!over) setHits(found);
		}, words ? 200 : 0);
		return () => {
			over = true;
			clearTimeout(timer);
		};
	}, [words]);
	const {items} = sessions;
	const nothing = sessions.status === 'ready' && !items.length;
	return html`<div class="page">
		${notices.map((one, at) => html`<p class="box" key=${at}>${seen(one)}</p>`)}
		<div class="row"><input id="find" type="search" class="grow" value=${words} placeholder=${t('sessions.find')} aria-label=${t('sessions.find')} onInput=${into(setWords)} />
			<button class="primary" aria-expanded=${starting} onClick=${() => setStarting(!starting)}>${t('sessions.new')}</button></div>
		${(starting || (nothing && !words)) && html`<${Start} state=${state} act=${act} />`}
		${sessions.status !== 'ready' && html`<${Pending} of=${sessions} retry=${() => act.loadSessions(words)} />`}
		${nothing && (words ? html`<${Empty} words=${t('sessions.none')} />` : !starting && html`<p class="muted center">${t('sessions.empty')}</p>`)}
		${items.length > 0 && html`<ul class="list" aria-label=${t('nav.sessions')}>${branch(items).map(([one, depth, parent]) => html`<${Row} key=${one.id} one=${one} depth=${depth} parent=${parent} now=${now} act=${act} />`)}</ul>`}
		${sessions.next && html`<button onClick=${() => act.moreSessions(words)}>${t('more')}</button>`}
		${hits && html`<section aria-label=${t('search.label')}><h2>${t('search.label')}</h2>
			${hits.length === 0 ? html`<p class="muted">${t('conv.none')}</p>` : html`<ul class="list hits">${hits.map((hit) => html`<li key=${`${hit.session_id}/${hit.seq}`}>
				<a href=${`#/s/${hit.session_id}/conversation/${hit.seq}`}><span class="small"><bdi>${brief(hit.session_name, 28)}</bdi> · <bdi>${brief(hit.agent, 20)}</bdi> <span class="muted num">${ago(hit.ts, now)}</span></span>
				<span>${brief(hit.excerpt, 240)}</span></a></li>`)}</ul>`}</section>`}
	</div>`;
}

// The tree of forks as [row, depth, parent]: each below what it was forked from, a tree where its newest would stand.
export function branch(items) {
	const found = new Map(items.map((one) => [one.id, one]));
	const below = Map.groupBy(items, (one) => one.parent);
	const rows = new Map();
	const list = (one, depth) => {
		if (rows.has(one.id)) return;
		rows.set(one.id, [one, depth, found.get(one.parent)]);
		for (const fork of below.get(one.id) || []) list(fork, depth + 1);
	};
	for (const one of items) {
		let root = one;
		for (let left = items.length; left > 0 && found.has(root.parent); left -= 1) root = found.get(root.parent);
		list(root, 0);
	}
	return [...rows.values()];
}

function Row({one, depth, parent, now, act}) {
	const [more, setMore] = useState(false);
	return html`<li class=${`session-row fork-${Math.min(depth, 4)}`}><a class="session-main" href=${`#/s/${one.id}/team`}>
		<span class="row"><bdi class="strong grow" title=${seen(one.name)}>${brief(one.name, 36)}</bdi> <${SessionState} state=${one.state} /></span>
		<span class="clip">${brief(one.first_prompt, 160) || html`<span class="muted">${t('sessions.blank')}</span>`}</span>
		<span class="session-facts muted">${one.parent && html`<span>↳ ${t('sessions.fork', {name: brief(parent?.name || one.parent, 28), seq: one.forked_at})}</span>`}${one.team && html`<span>${brief(one.team.split('/').pop(), 24)}</span>`}<span class="code">${brief(one.model, 28)}</span>
			<span class="num">${one.cost_usd === null ? t('cost.none') : about(one.estimated, one.cost_usd)}</span><time class="num" datetime=${seen(one.updated)} title=${moment(one.updated)}>${ago(one.updated, now)}</time>
			${one.holder && html`<span title=${t('sessions.where', {host: seen(one.holder.host), pid: one.holder.pid})}>${t('sessions.held')}</span>`}</span></a>
		<button class="icon" aria-expanded=${more} aria-label=${t('sessions.acts', {name: seen(one.name)})} onClick=${() => setMore(!more)}>⋯</button>
		${more && html`<${Acts} one=${one} act=${act} done=${() => setMore(false)} />`}</li>`;
}

function Acts({one, act, done}) {
	const [sure, setSure] = useState(false);
	const then = (work) => async (given) => { await work(given); done(); };
	return html`<div class="row-acts"><form class="row" onSubmit=${submitted(then(({name}) => act.rename(one.id, name)))}>
		<input name="name" class="grow" aria-label=${t('sessions.rename')} defaultValue=${one.name} maxlength="100" /><button>${t('sessions.rename')}</button></form>
		<div class="row"><button onClick=${() => act.fork(one.id)}>${t('fork')}</button>
		${one.parent && html`<a class="button" href=${`#/s/${one.parent}/conversation/${one.forked_at}`}>${t('sessions.origin')}</a>`}
		${['md', 'html', 'ndjson'].map((format) => html`<a class="button" key=${format} download href=${`${PREFIX}/sessions/${one.id}/export?format=${format}`}>${t('export', {format})}</a>`)}
		${sure ? html`<button class="danger" onClick=${then(() => act.deleteSession(one.id))}>${t('sessions.sure')}</button>` : html`<button onClick=${() => setSure(true)}>${t('sessions.delete')}</button>`}</div></div>`;
}

function Start({state: {models, teams}, act}) {
	const [busy, run] = useBusy();
	const [problem, setProblem] = useState(null);
	useEffect(() => act.loadPlace(), []);
	const submit = (given) => run(async () => setProblem(await act.start(given)));
	if (models.status === 'ready' && !models.items.some((one) => one.has_key || one.source !== 'catalog')) {
		return html`<${Empty} words=${t('start.none')}><a class="button primary" href="#/settings">${t('setup.first')}</a><//>`;
	}
	const choice = (name, label, of, say) => html`<${Choice} name=${name} label=${label} none=${t('start.default')} of=${of} say=${say} />`;
	return html`<form class="start" onSubmit=${submitted(submit)} aria-label=${t('sessions.new')}>
		<${Field} label=${t('start.prompt')}><textarea name="prompt" rows="3" required placeholder=${t('start.example')}></textarea><//>
		<div class="options">${choice('team', t('nav.team'), teams.items.filter((one) => !one.problem).map((one) => one.alias), (alias) => brief(teams.items.find((one) => one.alias === alias).name || alias, 40))}
			${choice('model', t('setup.model'), models.items.map((one) => one.id))}${choice('mode', t('mode.label'), MODES, (mode) => known('mode', mode))}
			<${Field} label=${t('start.budget')}><input name="max_budget_usd" type="number" min="0.01" step="0.01" inputmode="decimal" placeholder=${t('start.free')} /><//></div>
		${problem && html`<${Problem} problem=${problem} />`}
		<div class="row end"><button class="primary" disabled=${busy}>${t(busy ? 'start.busy' : 'start.go')}</button></div></form>`;
}
