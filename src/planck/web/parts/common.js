// Small parts that every screen uses.

import {Component, html, useEffect, useState} from '../vendor/preact.js';
import {brief, exact, known, moment, seen, span, t, time} from '../words.js';
import {STATES, describeAgent, hueOf, nameOf} from './status.js';

// Draws again only when what it was given is something else.
export function memo(view) {
  return class extends Component {
    shouldComponentUpdate(next) {
      const before = this.props;
      const names = Object.keys(next);
      return names.length !== Object.keys(before).length || names.some((name) => next[name] !== before[name]);
    }

    render(props) { return html`<${view} ...${props} />`; }
  };
}

export function Name({board, id, length = 28}) {
  const name = nameOf(board, id);
  return html`<bdi class="name" title=${seen(name)}>${brief(name, length)}</bdi>`;
}

export function Badge({board, id}) {
  const letter = Array.from(brief(nameOf(board, id), 40))[0] || '?';
  return html`<span class=${`badge hue-${hueOf(board, id)}`} aria-hidden="true">${letter.toUpperCase()}</span>`;
}

export const Who = (given) => html`<${Badge} ...${given} /><${Name} ...${given} />`;
export const Mark = ({is}) => html`<span class="mark" aria-hidden="true">${is}</span>`;
export const Changed = ({added, removed}) => html`<span class="num changed"><span class="ok">+${exact(added)}</span> <span class="error">−${exact(removed)}</span></span>`;
export const into = (set) => (event) => set(event.target.value);
export const submitted = (work) => (event) => {
  event.preventDefault();
  return work(Object.fromEntries(new FormData(event.target)), event.target);
};
export const options = (values, say) => values.map((one) => html`<option key=${one} value=${one}>${say(one)}</option>`);

// [whether something is under way, run it]
export function useBusy() {
  const [busy, setBusy] = useState(false);
  return [busy, async (work) => {
    setBusy(true);
    try {
      return await work();
    } finally {
      setBusy(false);
    }
  }];
}

// In the place of what is `of` a status: that it comes, or why it does not.
export const Pending = ({of, lines = 6, retry}) => html`<div class="pad">${of.status === 'loading' ? html`<${Skeleton} lines=${lines} />` : html`<${Problem} problem=${of.problem} retry=${retry} />`}</div>`;

export function Elapsed({since, now}) {
  const ms = now - Date.parse(since);
  return Number.isFinite(ms) ? html`<span class="num" title=${moment(since)}>${span(ms)}</span>` : null;
}

export function AgentState({board, row, now, timed = true}) {
  const state = describeAgent(board, row);
  const counted = timed && ['work', 'tool', 'waits', 'asks'].includes(state.kind);
  return html`<span class=${`state ${state.kind}`} title=${seen(state.word)}>
    <${Mark} is=${state.mark} /> <span class="word">${state.word}</span>
    ${counted && html` <${Elapsed} since=${state.since} now=${now} />`}
  </span>`;
}

export const SessionState = ({state}) => html`<span class=${`state s-${state || 'unknown'}`}>
  <${Mark} is=${STATES[state] || '?'} /> <span class="word">${known('session', state || 'unknown')}</span></span>`;

export const Time = ({ts}) => html`<time class="num muted" datetime=${seen(ts)} title=${moment(ts)}>${time(ts)}</time>`;

// Lines in the place of what is coming; only where it takes longer than a glance.
export function Skeleton({lines = 4}) {
  const [slow, setSlow] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setSlow(true), 200);
    return () => clearTimeout(timer);
  }, []);
  return html`<div class="skeleton" role="status"><span class="hidden">${t('loading')}</span>
    ${slow && Array.from({length: lines}, (_, at) => html`<div class=${`bar w${at % 3}`} key=${at}></div>`)}</div>`;
}

export const Empty = ({words, children}) => html`<div class="empty"><p>${words}</p>${children}</div>`;

export function Problem({problem, retry, children}) {
  const kind = problem?.kind || 'internal_error';
  const words = kind === 'network' && !problem.message ? t('error.network') : seen(problem?.message || String(problem));
  return html`<div class="problem" role="alert"><${Mark} is="✗" />
    <div><p><strong class="code">${seen(kind)}</strong> ${words}</p>
    <div class="row">${retry && html`<button onClick=${retry}>${t('retry')}</button>`}${children}</div></div></div>`;
}

export function Field({label, children, hint}) {
  return html`<label class="field"><span class="label">${label}</span>${children}${hint && html`<span class="hint">${hint}</span>`}</label>`;
}

// Text that folds: the last lines, or the first, and a button for the whole.
export function Folded({text, lines = 3, tail = true, label}) {
  const [open, setOpen] = useState(false);
  const all = text.replace(/\n+$/, '').split('\n');
  if (all.length <= lines + 1 && text.length < 2000) return html`<pre class="output" tabindex="0" aria-label=${label}>${all.join('\n')}</pre>`;
  const part = (tail ? all.slice(-lines) : all.slice(0, lines)).map((line) => (line.length > 400 ? `${line.slice(0, 400)}…` : line));
  return html`<div class="folded"><pre class="output" tabindex="0" aria-label=${label}>${(open ? all : part).join('\n')}</pre>
    <button class="link" aria-expanded=${open} onClick=${() => setOpen(!open)}>${open ? t('fold') : t('showAll', {n: all.length})}</button></div>`;
}

// One stop for the Tab key; arrows go between the buttons inside.
export function moveFocus(event, vertical = true) {
  const steps = vertical ? {ArrowDown: 1, ArrowUp: -1} : {ArrowRight: 1, ArrowLeft: -1};
  const list = [...event.currentTarget.querySelectorAll('[data-stop]')];
  const at = list.indexOf(event.target.closest('[data-stop]'));
  let next = at + (steps[event.key] || 0);
  if (event.key === 'Home') next = 0;
  else if (event.key === 'End') next = list.length - 1;
  else if (!steps[event.key]) return;
  event.preventDefault();
  const target = list[Math.min(Math.max(next, 0), list.length - 1)];
  for (const one of list) one.tabIndex = one === target ? 0 : -1;
  target?.focus();
}
