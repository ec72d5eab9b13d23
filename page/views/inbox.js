// Questions that wait for you, of every session, answered in any order: made for a phone and one thumb.

import {html, useEffect, useState} from '../vendor/preact.js';
import {brief, plain, seen, span, t} from '../words.js';
import {readDiff, Diff} from '../diff.js';
import {Check, Elapsed, Empty, Facts, Field, Fold, Mark, Output, Skeleton, into, submitted, useBusy} from '../parts/common.js';

export function InboxView({state: {inbox, now, sessions}, act}) {
	useEffect(() => { act.loadSessions(''); }, []); // their names
	const name = ({session_id: id}) => sessions.items.find((row) => row.id === id)?.name || id;
	return html`<div class="page inbox"><h2 class="hidden">${t('nav.inbox')}</h2>
		${inbox.ready ? !inbox.items.length && html`<${Empty} words=${t('inbox.empty')}><a class="button" href="#/sessions">${t('nav.sessions')}</a><//>`
			: inbox.connection === 'lost' ? html`<${Empty} words=${t('inbox.lost')} />` : html`<${Skeleton} />`}
		${inbox.items.map((one) => html`<${one.asks === 'form' || one.asks === 'page' ? ServerQuestion : Question} key=${one.id} one=${one} now=${now} act=${act} session=${name(one)} />`)}</div>`;
}

function Question({one, now, act, session}) {
	const [busy, run] = useBusy();
	const [problem, setProblem] = useState(null);
	const [reason, setReason] = useState('');
	const [wide, setWide] = useState(false);
	const answer = (allow, given) => run(async () => setProblem(await act.answer(one, allow, given)));
	const left = Date.parse(one.deadline) - now;
	const wider = wide && one.wider;
	const chosen = wider ? {rule: wider} : {};
	const big = (words, allow, given, more) => html`<button class="big" disabled=${busy} onClick=${() => answer(allow, given)} ...${more}>${words}</button>`;
	return html`<article class="question" aria-label=${t('inbox.of', {agent: seen(one.agent)})}>
		<header><${Mark} is="▲" /><h3 class="grow">${t('inbox.asks', {agent: brief(one.agent, 60)})}</h3><a href=${`#/s/${one.session_id}/team`}><bdi>${brief(session, 20)}</bdi></a><span class="muted"><${Elapsed} since=${one.asked} now=${now} /></span></header>
		${!one.text.startsWith(one.tool) && html`<p class="strong code">${seen(one.tool)}</p>`}
		<${Output} label=${t('inbox.call')}>${seen(one.text)}<//>
		${/^@@ /m.test(one.preview) ? html`<${Diff} rows=${readDiff(plain(one.preview).replace(/^[^]*?(?=^(?:---|@@) )/m, ''))} />`
			: one.preview && html`<${Fold} title=${t('inbox.shown')}><${Output}>${plain(one.preview)}<//><//>`}
		${one.hidden_lines > 0 && html`<p class="strong">${t('inbox.hidden', {n: one.hidden_lines})}</p>`}
		<${Facts} rows=${[[t('inbox.adds'), seen(one.adds) || t('inbox.none')], [t('inbox.why'), seen(one.reason)], left > 0 && [t('inbox.expires'), t('inbox.in', {span: span(left)}), {class: 'num'}]]} />
		${problem && html`<p class="error" role="alert">${problem.kind === 'writer_conflict' ? t('inbox.late') : seen(problem.message)}</p>`}
		<div class="answers">${big(t('deny'), false, reason ? {reason} : {})}${big(t('allowOnce'), true, {scope: 'once'}, {class: 'big primary'})}</div>
		<${Fold} class="more-answers" title=${t('inbox.more')}>
			${one.rule ? html`<p>${t('inbox.rule')} <code>${seen(wider || one.rule)}</code></p>
				${one.wider && html`<${Check} checked=${wide} set=${setWide} label=${html`${t('inbox.wider')} <code>${seen(one.wider)}</code>`} />`}
				<div class="answers">${big(t('allowSession'), true, {scope: 'session', ...chosen})}${big(t('allowAlways'), true, {scope: 'rule', ...chosen})}</div>
				${one.place && html`<p class="muted">${t('inbox.place', {place: seen(one.place)})}</p>`}` : html`<p class="muted">${t('inbox.noRule')}</p>`}
			<${Field} label=${t('inbox.reason')}><textarea rows="2" value=${reason} maxlength="10000" onInput=${into(setReason)}></textarea><//>
			${big(t('denyReason'), false, {reason}, {disabled: busy || !reason.trim()})}<//></article>`;
}

// What a server wants to know, or have done: a yes permits nothing, and Planck opens no page.
function ServerQuestion({one, now, act, session}) {
	const [busy, run] = useBusy();
	const [problem, setProblem] = useState(null);
	const answer = (allow, given) => run(async () => setProblem(await act.answer(one, allow, given)));
	const left = Date.parse(one.deadline) - now;
	return html`<article class="question" aria-label=${t('inbox.of', {agent: seen(one.agent)})}>
		<header><${Mark} is="▲" /><h3 class="grow">${t('inbox.wants', {agent: brief(one.agent, 60)})}</h3><a href=${`#/s/${one.session_id}/team`}><bdi>${brief(session, 20)}</bdi></a><span class="muted"><${Elapsed} since=${one.asked} now=${now} /></span></header>
		<${Output}>${seen(one.text)}<//>
		${one.url && html`<p class="code"><a href=${one.url} target="_blank" rel="noopener noreferrer">${seen(one.url)}</a></p>`}
		<${Facts} rows=${[[t('inbox.adds'), seen(one.adds)], [t('inbox.why'), seen(one.reason)], left > 0 && [t('inbox.expires'), t('inbox.in', {span: span(left)}), {class: 'num'}]]} />
		<form class="stack" onSubmit=${submitted((given, form) => answer(true, {content: readForm(one.fields, given, form)}))}>
			${one.fields.map((field, at) => html`<${FormField} key=${field.name} field=${field} name=${`f${at}`} />`)}
			${problem && html`<p class="error" role="alert">${problem.kind === 'writer_conflict' ? t('inbox.late') : seen(problem.message)}</p>`}
			<div class="answers"><button type="button" class="big" disabled=${busy} onClick=${() => answer(false, {})}>${t('inbox.decline')}</button><button class="big primary" disabled=${busy}>${t(one.url ? 'inbox.opened' : one.fields.length ? 'inbox.send' : 'inbox.yes')}</button></div>
		</form></article>`;
}

function FormField({field, name}) {
	const {kind, required, choices, default: given} = field;
	const label = `${seen(field.label)}${required ? ' *' : ''}`;
	const about = seen(field.about);
	if (kind === 'boolean') return html`<label class="check"><input type="checkbox" name=${name} defaultChecked=${given === true} /> ${label}${about && html` <span class="hint">${about}</span>`}</label>`;
	if (kind === 'choices') return html`<fieldset><legend>${label}</legend>${about && html`<p class="hint">${about}</p>`}
		${choices.map(({value, label: words}) => html`<label class="check" key=${value}><input type="checkbox" name=${name} value=${value} defaultChecked=${(given || []).includes(value)} /> ${seen(words)}</label>`)}</fieldset>`;
	const start = given ?? '';
	if (kind === 'choice') return html`<${Field} label=${label} hint=${about}><select name=${name} required=${required}>
		<option value="">${t('inbox.noValue')}</option>${choices.map(({value, label: words}) => html`<option key=${value} value=${value} selected=${value === start}>${seen(words)}</option>`)}</select><//>`;
	const number = kind === 'number' || kind === 'integer';
	const bounds = number ? {min: field.least, max: field.most, step: kind === 'integer' ? 1 : 'any'} : {minlength: field.least, maxlength: field.most};
	return html`<${Field} label=${label} hint=${about}><input type=${number ? 'number' : 'text'} name=${name} required=${required} defaultValue=${start} autocomplete="off" ...${bounds} /><//>`;
}

// The values by the names of the fields; what was left empty is left out.
function readForm(fields, given, form) {
	const content = fields.map(({name, kind}, at) => {
		const text = given[`f${at}`];
		if (kind === 'boolean') return [name, text !== undefined];
		if (!text) return null;
		if (kind === 'choices') return [name, new FormData(form).getAll(`f${at}`)];
		return [name, kind === 'number' || kind === 'integer' ? Number(text) : text];
	});
	return Object.fromEntries(content.filter(Boolean));
}
