// Small parts that every screen uses.

import {html, useEffect, useState} from '../vendor/preact.js';
import {brief, exact, known, moment, seen, span, t, time} from '../words.js';
import {STATES, describeAgent, hueOf, nameOf} from './status.js';

export const MODES = ['read-only', 'plan', 'ask', 'workspace', 'full'];

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
export const Time = ({ts}) => html`<time class="num muted" datetime=${seen(ts)} title=${moment(ts)}>${time(ts)}</time>`;
export const Key = ({word, mark, ...given}) => html`<button class="icon" aria-label=${t(word)} ...${given}>${mark}</button>`;
export const Close = ({act}) => html`<${Key} word="close" mark="×" onClick=${act} />`;
export const Answer = () => html`<a class="button ask" href="#/inbox">${t('answer')}</a>`;
export const Empty = ({words, children}) => html`<div class="empty"><p>${words}</p>${children}</div>`;
export const Fold = ({title, children, ...given}) => html`<details ...${given}><summary>${title}</summary>${children}</details>`;
export const Output = ({children, label}) => html`<pre class="output" tabindex="0" aria-label=${label}>${children}</pre>`;

// [[what, how it is, what its cell is given]]
export const Facts = ({rows, children}) => html`<dl class="facts">${rows.filter(Boolean).map(([what, is, given], at) => html`<dt key=${at}>${what}</dt><dd ...${given}>${is}</dd>`)}${children}</dl>`;

export const into = (set) => (event) => set(event.target.value);
export const submitted = (work) => (event) => {
	event.preventDefault();
	return work(Object.fromEntries(new FormData(event.target)), event.target);
};

export const Field = ({label, children, hint}) => html`<label class="field"><span class="label">${label}</span>${children}${hint && html`<span class="hint">${hint}</span>`}</label>`;
export const Check = ({label, set, ...given}) => html`<label class="check"><input type="checkbox" onChange=${(event) => set(event.target.checked)} ...${given} /> ${label}</label>`;

// One of `of`, each said by `say`; `none` stands for none of them. A label that is not shown is a `hidden` one.
export function Choice({label, hidden, of, say = (one) => brief(one, 48), none, set, ...given}) {
	const list = html`<select title=${hidden && label} onChange=${set && into(set)} ...${given}>${none && html`<option value="">${none}</option>`}
		${of.map((one) => html`<option key=${one} value=${one}>${say(one)}</option>`)}</select>`;
	return hidden ? html`<label class="choice"><span class="hidden">${label}</span>${list}</label>` : html`<${Field} label=${label}>${list}<//>`;
}

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

export function Elapsed({since, now}) {
	const ms = now - Date.parse(since);
	return Number.isFinite(ms) ? html`<span class="num" title=${moment(since)}>${span(ms)}</span>` : null;
}

export function AgentState({board, row, now}) {
	const state = describeAgent(board, row);
	const counted = ['work', 'tool', 'waits', 'asks'].includes(state.kind);
	return html`<span class=${`state ${state.kind}`} title=${seen(state.word)}><${Mark} is=${state.mark} /> <span class="word">${state.word}</span>${counted && html` <${Elapsed} since=${state.since} now=${now} />`}</span>`;
}

export const SessionState = ({state}) => html`<span class=${`state s-${state || 'unknown'}`}><${Mark} is=${STATES[state] || '?'} /> <span class="word">${known('session', state || 'unknown')}</span></span>`;

// Lines in the place of what is coming; only where it takes longer than a glance.
export function Skeleton() {
	const [slow, setSlow] = useState(false);
	useEffect(() => {
		const timer = setTimeout(() => setSlow(true), 200);
		return () => clearTimeout(timer);
	}, []);
	return html`<div class="skeleton" role="status"><span class="hidden">${t('loading')}</span>${slow && [0, 1, 2, 3].map((at) => html`<div class="bar" key=${at}></div>`)}</div>`;
}

export function Problem({problem, retry}) {
	const kind = problem?.kind || 'internal_error';
	const words = kind === 'network' && !problem.message ? t('error.away') : seen(problem?.message || String(problem));
	return html`<div class="problem" role="alert"><${Mark} is="✗" /><div><p><strong class="code">${seen(kind)}</strong> ${words}</p>${retry && html`<button onClick=${retry}>${t('retry')}</button>`}</div></div>`;
}

// In the place of what is `of` a status: that it comes, or why it does not.
export const Pending = ({of, retry}) => html`<div class="pad">${of.status === 'loading' ? html`<${Skeleton} />` : html`<${Problem} problem=${of.problem} retry=${retry} />`}</div>`;

// Output that folds: the last lines, or the first, and a button for the whole.
export function Folded({text, lines = 3, tail = true, label}) {
	const [open, setOpen] = useState(false);
	const all = text.replace(/\n+$/, '').split('\n');
	const short = all.length <= lines + 1 && text.length < 2000;
	const part = (tail ? all.slice(-lines) : all.slice(0, lines)).map((line) => (line.length > 400 ? `${line.slice(0, 400)}…` : line));
	return html`<div><${Output} label=${label}>${(open || short ? all : part).join('\n')}<//>
		${!short && html`<button class="link" aria-expanded=${open} onClick=${() => setOpen(!open)}>${open ? t('fold') : t('showAll', {n: all.length})}</button>`}</div>`;
}

// One stop for the Tab key; arrows go between what is marked with `data-stop` inside.
export function moveFocus(event) {
	const list = [...event.currentTarget.querySelectorAll('[data-stop]:not(:disabled)')];
	const at = list.indexOf(event.target.closest('[data-stop]'));
	const next = {ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: list.length - 1}[event.key];
	if (next === undefined) return;
	event.preventDefault();
	const target = list[Math.min(Math.max(next, 0), list.length - 1)];
	for (const one of list) one.tabIndex = one === target ? 0 : -1;
	target?.focus();
}
