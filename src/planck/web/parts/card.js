// One agent: what it does, what it has used, and what can be done with it.

import {html} from '../vendor/preact.js';
import {brief, cost, exact, known, seen, short, t} from '../words.js';
import {AgentState, Badge, Elapsed, Mark, Name, Who, options, useBusy} from './common.js';
import {isBusy} from './status.js';

const sum = (usage) => usage.input_tokens + usage.output_tokens + usage.cache_read_tokens + usage.cache_write_tokens;

export function AgentCard({board, row, now, act, models, close, base}) {
  const [busy, run] = useBusy();
  const share = row.window ? Math.round((row.context / row.window) * 100) : 0;
  const question = board.questions.find((one) => one.agent_id === row.id);
  const over = row.status === 'ended';
  return html`<aside class="card" aria-label=${seen(row.name)}>
    <header class="row"><${Badge} board=${board} id=${row.id} /><h2 class="grow"><${Name} board=${board} id=${row.id} length=${19} /></h2>
      ${close && html`<button class="icon" onClick=${close} aria-label=${t('close')}>×</button>`}</header>
    <p class="card-state"><${AgentState} board=${board} row=${row} now=${now} /></p>
    ${question && html`<p class="asks-box"><span class="code clip">${brief(question.text, 160)}</span>
      ${act && html`<a class="button ask" href="#/inbox">${t('answer')}</a>`}</p>`}
    ${row.error && html`<p class="error-box"><strong class="code">${seen(row.error.kind)}</strong> ${brief(row.error.message, 240)}</p>`}
    ${over && row.reason && html`<p class="muted">${brief(row.reason, 200)}</p>`}
    <dl class="facts">
      <dt>${t('card.role')}</dt><dd title=${seen(row.type)}>${brief(row.type, 24)}</dd>
      <dt>${t('setup.model')}</dt><dd class="code" title=${seen(row.model)}>${brief(row.model, 22)}</dd>
      <dt>${t('changes.by.turn')}</dt><dd class="num">${row.turn ? `${exact(row.turn)} · ${t('conv.steps', {n: row.steps})}` : t('card.noTurn')}</dd>
      <dt>${t('card.window')}</dt><dd class="num" title=${t('card.windowExact', {used: row.context, all: row.window})}>
        <progress max="100" value=${Math.min(100, share)} aria-label=${t('card.window')}></progress> ${exact(share)} %</dd>
      <dt>${t('card.tokens')}</dt><dd class="num" title=${exact(sum(row.usage))}>${short(sum(row.usage))}</dd>
      <dt>${t('card.cost')}</dt><dd class="num">${cost(row)}</dd>
      ${row.unread.length > 0 && html`<dt>${t('card.unread')}</dt><dd class="num">${exact(row.unread.length)}</dd>`}
    </dl>
    ${row.waits.length > 0 && html`<h3>${t('card.waits')}</h3><ul class="plain">${row.waits.map((wait) => html`<li key=${wait.message_id} class="row">
      <${Who} board=${board} id=${wait.on} /><${Elapsed} since=${wait.since} now=${now} /></li>`)}</ul>`}
    ${row.calls.length > 0 && html`<h3>${t('card.calls')}</h3><ul class="plain">${row.calls.slice(0, 6).map((call) => html`<li key=${call.id} class="code clip" title=${seen(call.subject)}>
      ${brief(call.name, 20)} <span class="muted">${brief(call.subject, 60)}</span></li>`)}</ul>`}
    ${row.plan.length > 0 && html`<h3>${t('plan')}</h3><${Plan} steps=${row.plan} />`}
    ${act && html`<div class="card-acts">
      <a class="button" href=${`${base}/conversation?agent=${row.id}`}>${t('nav.conversation')}</a>
      <a class="button" href=${`${base}/changes?agent=${encodeURIComponent(row.name)}`}>${t('nav.changes')}</a>
      ${isBusy(row) && html`<button disabled=${busy || row.stopping} onClick=${() => run(() => act.interrupt(row.id))}>${t('stop')}</button>`}
      ${!over && html`<label class="inline"><span class="hidden">${t('card.changeModel')}</span>
        <select disabled=${busy} value="" onChange=${({target}) => { const chosen = target.value; target.value = ''; if (chosen) run(() => act.changeModel(row.id, chosen)); }}>
        <option value="">${t('card.changeModel')}</option>${options((models || []).map((one) => one.id), (id) => brief(id, 40))}</select></label>`}
    </div>`}
  </aside>`;
}

const MARKS = {completed: '✓', in_progress: '▸', pending: '○'};

export const Plan = ({steps}) => html`<ol class="plan">${steps.map((step, at) => html`<li key=${at} class=${`step ${Object.hasOwn(MARKS, step.status) ? step.status : ''}`}>
  <${Mark} is=${MARKS[step.status] || '·'} /><span><span class="hidden">${known('step', step.status)}: </span>${seen(step.text)}</span></li>`)}</ol>`;
