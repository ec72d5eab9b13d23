// Questions that wait for you, of every session, answered in any order: made for a phone and one thumb.

import {html, useEffect, useState} from '../vendor/preact.js';
import {brief, plain, seen, span, t} from '../words.js';
import {readDiff, Diff} from '../diff.js';
import {Check, Elapsed, Empty, Facts, Field, Fold, Mark, Output, Skeleton, into, useBusy} from '../parts/common.js';

export function InboxView({state: {inbox, now, sessions}, act}) {
	useEffect(() => { act.loadSessions(''); }, []); // their names
	const name = ({session_id: id}) => sessions.items.find((row) => row.id === id)?.name || id;
	return html`<div class="page inbox"><h2 class="hidden">${t('nav.inbox')}</h2>
		${inbox.ready ? !inbox.items.length && html`<${Empty} words=${t('inbox.empty')}><a class="button" href="#/sessions">${t('nav.sessions')}</a><//>`
			: inbox.connection === 'lost' ? html`<${Empty} words=${t('inbox.lost')} />` : html`<${Skeleton} />`}
		${inbox.items.map((one) => html`<${Question} key=${one.id} one=${one} now=${now} act=${act} session=${name(one)} />`)}</div>`;
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
