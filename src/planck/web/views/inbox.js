// Questions that wait for you, of every session, answered in any order: made for a phone and one thumb.

import {html, useEffect, useState} from '../vendor/preact.js';
import {brief, plain, seen, span, t} from '../words.js';
import {readDiff, Diff} from '../diff.js';
import {Empty, Field, Mark, Skeleton, into, useBusy} from '../parts/common.js';

export function InboxView({state, act}) {
  const {inbox, now} = state;
  useEffect(() => { act.loadSessions(''); }, []); // their names
  return html`<div class="page inbox"><h2 class="hidden">${t('nav.inbox')}</h2>
    ${!inbox.ready && inbox.connection !== 'lost' && html`<${Skeleton} />`}
    ${!inbox.ready && inbox.connection === 'lost' && html`<${Empty} words=${t('inbox.lost')} />`}
    ${inbox.ready && !inbox.items.length && html`<${Empty} words=${t('inbox.empty')}><a class="button" href="#/sessions">${t('nav.sessions')}</a></${Empty}>`}
    ${inbox.items.map((one) => html`<${Question} key=${one.id} one=${one} now=${now} act=${act} session=${state.sessions.items.find((row) => row.id === one.session_id)} />`)}</div>`;
}

function Question({one, now, act, session}) {
  const [busy, run] = useBusy();
  const [problem, setProblem] = useState(null);
  const [reason, setReason] = useState('');
  const [wide, setWide] = useState(false);
  const answer = (allow, given) => run(async () => setProblem(await act.answer(one, allow, given)));
  const left = Date.parse(one.deadline) - now;
  const isDiff = /^@@ /m.test(one.preview);
  const rule = wide && one.wider ? one.wider : one.rule;
  const chosen = wide && one.wider ? {rule: one.wider} : {};
  return html`<article class="question" aria-label=${t('inbox.of', {agent: seen(one.agent)})}>
    <header><${Mark} is="▲" /><h3 class="grow">${t('inbox.asks', {agent: brief(one.agent, 60)})}</h3><a href=${`#/s/${one.session_id}/team`}><bdi>${brief(session?.name || one.session_id, 20)}</bdi></a></header>
    ${!one.text.startsWith(one.tool) && html`<p class="strong code">${seen(one.tool)}</p>`}
    <pre class="question-text" tabindex="0" aria-label=${t('inbox.call')}>${seen(one.text)}</pre>
    ${isDiff && html`<${Diff} rows=${readDiff(plain(one.preview).replace(/^[^]*?(?=^(?:---|@@) )/m, ''))} />`}
    ${!isDiff && one.preview && html`<details><summary>${t('inbox.preview')}</summary><pre class="output" tabindex="0">${plain(one.preview)}</pre></details>`}
    <dl class="facts"><dt>${t('inbox.adds')}</dt><dd>${seen(one.adds) || t('inbox.nothing')}</dd><dt>${t('inbox.why')}</dt><dd>${seen(one.reason)}</dd>
      ${left > 0 && html`<dt>${t('inbox.expires')}</dt><dd class="num">${t('inbox.in', {span: span(left)})}</dd>`}</dl>
    ${problem && html`<p class="error" role="alert">${problem.kind === 'writer_conflict' ? t('inbox.late') : seen(problem.message)}</p>`}
    <div class="answers"><button class="big" disabled=${busy} onClick=${() => answer(false, reason ? {reason} : {})}>${t('deny')}</button>
      <button class="big primary" disabled=${busy} onClick=${() => answer(true, {scope: 'once'})}>${t('allowOnce')}</button></div>
    <details class="more-answers"><summary>${t('inbox.more')}</summary>
      ${one.rule ? html`<p>${t('inbox.rule')} <code>${seen(rule)}</code></p>
        ${one.wider && html`<label class="check"><input type="checkbox" checked=${wide} onChange=${() => setWide(!wide)} /> ${t('inbox.wider')} <code>${seen(one.wider)}</code></label>`}
        <div class="answers"><button class="big" disabled=${busy} onClick=${() => answer(true, {scope: 'session', ...chosen})}>${t('allowSession')}</button>
        <button class="big" disabled=${busy} onClick=${() => answer(true, {scope: 'rule', ...chosen})}>${t('allowAlways')}</button></div>
        ${one.place && html`<p class="muted">${t('inbox.place', {place: seen(one.place)})}</p>`}` : html`<p class="muted">${t('inbox.noRule')}</p>`}
      <${Field} label=${t('inbox.reason')}><textarea rows="2" value=${reason} maxlength="10000" onInput=${into(setReason)}></textarea></${Field}>
      <button class="big" disabled=${busy || !reason.trim()} onClick=${() => answer(false, {reason})}>${t('denyReason')}</button></details></article>`;
}
