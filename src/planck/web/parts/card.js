// One agent: what it does, what it has used, and what can be done with it.

import {html} from '../vendor/preact.js';
import {brief, cost, exact, known, seen, short, t} from '../words.js';
import {AgentState, Choice, Close, Elapsed, Facts, Mark, Who, useBusy} from './common.js';
import {isBusy} from './status.js';

const CLASSES = {input_tokens: 'card.fresh', cache_read_tokens: 'card.read', cache_write_tokens: 'card.written', output_tokens: 'card.output'};

export function AgentCard({board, row, now, act, models = [], close, base}) {
  const [busy, run] = useBusy();
  const {usage} = row;
  const share = row.window ? Math.round((row.context / row.window) * 100) : 0;
  const question = board.questions.find((one) => one.agent_id === row.id);
  const over = row.status === 'ended';
  const number = (value) => [short(value), {class: 'num', title: exact(value)}];
  const used = Object.keys(CLASSES).filter((name) => usage[name]);
  const facts = [
    [t('card.role'), brief(row.type, 24), {title: seen(row.type)}],
    [t('setup.model'), brief(row.model, 22), {title: seen(row.model), class: 'code'}],
    [t('changes.by.turn'), row.turn ? `${exact(row.turn)} · ${t('conv.steps', {n: row.steps})}` : t('card.noTurn'), {class: 'num'}],
    [t('card.window'), html`<progress max="100" value=${Math.min(100, share)} aria-label=${t('card.window')}></progress> ${exact(share)} %`, {class: 'num', title: t('card.windowExact', {used: row.context, all: row.window})}],
    [t('card.tokens'), ...number(used.reduce((sum, name) => sum + usage[name], 0))],
    ...used.map((name) => [html`<span class="part">${t(CLASSES[name])}</span>`, ...number(usage[name])]),
    [t('card.cost'), cost(row), {class: 'num'}],
    row.unread.length > 0 && [t('card.unread'), exact(row.unread.length), {class: 'num'}],
  ];
  const list = (title, rows) => rows.length > 0 && html`<h3>${title}</h3><ul class="plain">${rows}</ul>`;
  return html`<aside class="card" aria-label=${seen(row.name)}>
    <header class="row"><h2 class="grow row"><${Who} board=${board} id=${row.id} length=${19} /></h2><${Close} act=${close} /></header>
    <p class="card-state"><${AgentState} board=${board} row=${row} now=${now} /></p>
    ${question && html`<p class="box asks"><span class="code clip">${brief(question.text, 160)}</span>${act && html`<a class="button ask" href="#/inbox">${t('answer')}</a>`}</p>`}
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
      ${!over && html`<${Choice} label=${t('card.changeModel')} hidden none=${t('card.changeModel')} of=${models.map((one) => one.id)} disabled=${busy} value="" set=${(model) => model && run(() => act.changeModel(row.id, model))} />`}</div>`}
  </aside>`;
}

const MARKS = {completed: '✓', in_progress: '▸', pending: '○'};

export const Plan = ({steps}) => html`<ol class="plan">${steps.map((step, at) => html`<li key=${at} class=${`step ${Object.hasOwn(MARKS, step.status) ? step.status : ''}`}>
  <${Mark} is=${MARKS[step.status] || '·'} /><span><span class="hidden">${known('step', step.status)}: </span>${seen(step.text)}</span></li>`)}</ol>`;
