// The bar above every screen: which session, how it stands, what waits for you, what it costs, and a way to stop it.

import {html, useEffect, useRef} from '../vendor/preact.js';
import {brief, cost, exact, known, money, seen, span, t} from '../words.js';
import {SessionState, into, options} from './common.js';

const TABS = ['team', 'conversation', 'changes'];
const ICONS = {sessions: 'M2 4h12M2 8h12M2 12h8', inbox: 'M2 9l2-6h8l2 6v4H2zM2 9h4l1 2h2l1-2h4', settings: 'M2 5h6M12 5h2M2 11h2M8 11h6M10 3v4M6 9v4'};
const MODES = ['read-only', 'plan', 'ask', 'workspace', 'full'];

export function Topbar({state, act}) {
  const {room, route, inbox} = state;
  const base = room ? `#/s/${room.id}` : '';
  const board = room?.board;
  const open = room && room.status === 'ready';
  return html`<header class="topbar">
    <a class="brand" href="#/sessions" aria-label=${t('nav.sessions')}><svg width="20" height="20" viewBox="0 0 20 20" aria-hidden="true"><path d="M3 5h9M6 10h11M3 15h6" /></svg></a>
    ${open && html`<div class="where"><h1 class="session-name" title=${seen(board.name)}><bdi>${brief(board.name || room.id, 32)}</bdi></h1><${SessionState} state=${board.state} /></div>`}
    ${room ? html`<nav class="tabs" aria-label=${t('nav.session')}>${TABS.map((tab) => html`<a key=${tab} href=${`${base}/${tab}`} aria-current=${route.tab === tab ? 'page' : undefined}>${t(`nav.${tab}`)}</a>`)}</nav>`
      : html`<h1 class="screen-name">${t(`nav.${route.screen}`)}</h1>`}
    <span class="grow"></span>
    ${open && html`<${Mode} board=${board} act=${act} />`}
    ${open && html`<${Budget} board=${board} />`}
    ${open && (board.state === 'running' || board.state === 'waiting') && html`<button class="stop" onClick=${() => act.interrupt('')}>${t('stop')}</button>`}
    <nav class="global" aria-label=${t('nav.label')}>
      ${Object.entries(ICONS).map(([name, path]) => {
        const n = name === 'inbox' && inbox.items.length;
        return html`<a key=${name} class=${n ? 'has-mail' : ''} href=${`#/${name}`} aria-current=${route.screen === name ? 'page' : undefined}><svg width="16" height="16" viewBox="0 0 16 16" aria-hidden="true"><path d=${path} /></svg>
          <span class="label">${t(`nav.${name}`)}</span>${n > 0 && html`<span class="pill num" aria-label=${t('inbox.count', {n})}>${exact(n)}</span>`}</a>`;
      })}
    </nav>
  </header>`;
}

function Mode({board, act}) {
  return html`<label class="mode"><span class="hidden">${t('mode.label')}</span><select value=${board.mode} title=${t('mode.label')} onChange=${into((mode) => act.changeMode(mode))}>
    ${options([...new Set([board.mode, ...MODES])].filter(Boolean), (mode) => known('mode', mode))}</select></label>`;
}

function Budget({board}) {
  const {budget} = board;
  if (!budget || !budget.limit_usd) return html`<span class="budget num" title=${board.unpriced ? t('cost.unknown') : t('cost.whole')}>${cost(board)}</span>`;
  const spent = budget.spent_usd || 0;
  const share = spent / budget.limit_usd;
  const words = t('budget.words', {spent: money(spent), limit: money(budget.limit_usd)});
  return html`<span class=${`budget num${share >= 0.8 ? ' near' : ''}`} title=${words}><progress max="1" value=${Math.min(1, share)} aria-label=${words}></progress>
    ${money(spent)} <span class="muted">/ ${money(budget.limit_usd)}</span></span>`;
}

// What is lost, since when, and what still works.
export function ConnectionBar({room, inbox, now}) {
  const lost = room?.connection === 'lost' ? room.lostSince : inbox.connection === 'lost' ? inbox.lostSince : 0;
  if (room?.connection === 'ended') return html`<div class="bar" role="status">${t('conn.ended')}</div>`;
  return lost ? html`<div class="bar lost" role="status">${t('conn.lost', {span: span(now - lost)})}</div>` : null;
}

export function Toasts({items, dismiss}) {
  return html`<div class="toasts" role="status" aria-live="polite">${items.map((one) => html`<div class=${`toast ${one.kind}`} key=${one.id}>
    <span><strong class="code">${seen(one.title)}</strong> ${seen(one.words)}</span><button class="icon" aria-label=${t('close')} onClick=${() => dismiss(one.id)}>×</button></div>`)}</div>`;
}

const KEYS = [['?', 'keys.help'], ['t', 'nav.team'], ['c', 'nav.conversation'], ['d', 'nav.changes'], ['i', 'nav.inbox'], ['s', 'nav.sessions'],
  ['/', 'keys.find'], ['m', 'keys.compose'], ['Shift X', 'keys.stop'], ['← →', 'keys.pan'], ['+ −', 'keys.zoom'], ['↑ ↓', 'keys.rows'], ['Esc', 'keys.close']];

export function Help({close}) {
  const box = useRef(null);
  useEffect(() => {
    box.current?.showModal();
  }, []);
  return html`<dialog class="help" ref=${box} onClose=${close} aria-labelledby="help-title"><header class="row"><h2 id="help-title" class="grow">${t('help.title')}</h2>
    <button class="icon" onClick=${close} aria-label=${t('close')}>×</button></header>
    <dl class="keys">${KEYS.map(([key, word]) => html`<dt key=${word}><kbd>${key}</kbd></dt><dd>${t(word)}</dd>`)}</dl></dialog>`;
}
