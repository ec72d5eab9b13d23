// The bar above every screen: which session, how it stands, what waits for you, what it costs, and a way to stop it.

import {html, useEffect, useRef} from '../vendor/preact.js';
import {about, brief, cost, exact, known, money, seen, span, t} from '../words.js';
import {Choice, Close, Facts, MODES, SessionState} from './common.js';

const ICONS = {sessions: 'M2 4h12M2 8h12M2 12h8', inbox: 'M2 9l2-6h8l2 6v4H2zM2 9h4l1 2h2l1-2h4', settings: 'M2 5h6M12 5h2M2 11h2M8 11h6M10 3v4M6 9v4'};
const Icon = ({size, path}) => html`<svg width=${size} height=${size} viewBox=${`0 0 ${size} ${size}`} aria-hidden="true"><path d=${path} /></svg>`;
const current = (yes) => (yes ? 'page' : undefined);

export function Topbar({state, act}) {
	const {sessionStore, route, inbox} = state;
	const board = sessionStore?.status === 'ready' && sessionStore.board;
	return html`<header class="topbar">
		<a class="brand" href="#/sessions" aria-label=${t('nav.sessions')}><${Icon} size=${20} path="M3 5h9M6 10h11M3 15h6" /></a>
		${board && html`<div class="where"><h1 class="clip" title=${seen(board.name)}><bdi>${brief(board.name || sessionStore.id, 32)}</bdi></h1><${SessionState} state=${board.state} /></div>`}
		${sessionStore ? html`<nav class="tabs" aria-label=${t('nav.session')}>${['team', 'conversation', 'changes'].map((tab) => html`<a key=${tab} href=${`#/s/${sessionStore.id}/${tab}`} aria-current=${current(route.tab === tab)}>${t(`nav.${tab}`)}</a>`)}</nav>`
			: html`<h1 class="clip">${t(`nav.${route.screen}`)}</h1>`}
		<span class="grow"></span>
		${board && html`<${Choice} label=${t('mode.label')} hidden of=${[...new Set([board.mode, ...MODES])].filter(Boolean)} say=${(mode) => known('mode', mode)} value=${board.mode} set=${(mode) => act.changeMode(mode)} />
			<${Budget} board=${board} />`}
		${(board.state === 'running' || board.state === 'waiting') && html`<button class="stop" onClick=${() => act.interrupt('')}>${t('stop')}</button>`}
		<nav class="global" aria-label=${t('nav.label')}>${Object.entries(ICONS).map(([name, path]) => {
			const n = name === 'inbox' && inbox.items.length;
			return html`<a key=${name} class=${n ? 'has-mail' : ''} href=${`#/${name}`} aria-current=${current(route.screen === name)}><${Icon} size=${16} path=${path} />
				<span class="label">${t(`nav.${name}`)}</span>${n > 0 && html`<span class="pill num" aria-label=${t('inbox.count', {n})}>${exact(n)}</span>`}</a>`;
		})}</nav></header>`;
}

function Budget({board}) {
	const {limit_usd: limit, spent_usd: spent = 0} = board.budget || {};
	if (!limit) return html`<span class="budget num" title=${board.unpriced ? t('cost.unpriced', {n: board.unpriced}) : t('cost.whole')}>${cost(board)}</span>`;
	const used = about(board.estimated, spent || 0);
	const words = t('budget', {spent: used, limit: money(limit)});
	return html`<span class=${`budget num${spent >= 0.8 * limit ? ' near' : ''}`} title=${words}><progress max="1" value=${Math.min(1, spent / limit)} aria-label=${words}></progress>
		${used} <span class="muted">/ ${money(limit)}</span></span>`;
}

// What is lost, since when, and what still works.
export function ConnectionBar({sessionStore, inbox, now}) {
	if (sessionStore?.connection === 'ended') return html`<div class="bar" role="status">${t('conn.ended')}</div>`;
	const lost = [sessionStore, inbox].find((one) => one?.connection === 'lost');
	return lost ? html`<div class="bar lost" role="status">${t('conn.lost', {span: span(now - lost.lostSince)})}</div>` : null;
}

export const Toasts = ({items, dismiss}) => html`<div class="toasts" role="status" aria-live="polite">${items.map((one) => html`<div class=${`toast ${one.kind}`} key=${one.id}>
	<span><strong class="code">${seen(one.title)}</strong> ${seen(one.words)}</span><${Close} act=${() => dismiss(one.id)} /></div>`)}</div>`;

const KEYS = {'?': 'keys.help', t: 'nav.team', c: 'nav.conversation', d: 'nav.changes', i: 'nav.inbox', s: 'nav.sessions', '/': 'keys.find', m: 'keys.compose',
	'Shift X': 'keys.stop', '← →': 'keys.pan', '+ −': 'keys.zoom', '↑ ↓': 'keys.rows', Esc: 'keys.close'};

export function Help({close}) {
	const box = useRef(null);
	useEffect(() => box.current.showModal(), []);
	// Closed at once, and drawn no more at the next frame: a key pressed in between is for the page.
	return html`<dialog class="help" ref=${box} onClose=${close} aria-labelledby="help-title"><header class="row"><h2 id="help-title" class="grow">${t('help')}</h2><${Close} act=${() => box.current.close()} /></header>
		<${Facts} rows=${Object.entries(KEYS).map(([key, word]) => [html`<kbd>${key}</kbd>`, t(word)])} /></dialog>`;
}
