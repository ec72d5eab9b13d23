// The page: which screen, what it shows, and what a person can do with it.

import {Component, html, render} from './vendor/preact.js';
import {clock, get, newKey, patch, post, query, remove} from './api.js';
import {Room, Store} from './store.js';
import {Stream} from './stream.js';
import {chooseLanguage, seen, t} from './words.js';
import {Problem, submitted} from './parts/common.js';
import {isBusy} from './parts/status.js';
import {ConnectionBar, Help, Toasts, Topbar} from './parts/topbar.js';
import {ChangesView} from './views/changes.js';
import {ConversationView} from './views/conversation.js';
import {InboxView} from './views/inbox.js';
import {SessionsView} from './views/sessions.js';
import {SettingsView} from './views/settings.js';
import {TeamView} from './views/team.js';

const TABS = ['team', 'conversation', 'changes'];
const SCREENS = {sessions: SessionsView, inbox: InboxView, settings: SettingsView};

export function readRoute(hash) {
  const [path, rest = ''] = hash.replace(/^#\/?/, '').split('?');
  const [screen, id, tab, seq] = path.split('/').map((part) => decodeURIComponent(part));
  const params = Object.fromEntries(new URLSearchParams(rest));
  if (screen === 's' && /^[A-Za-z0-9_-]{1,64}$/.test(id || '')) {
    return {screen: 'session', id, tab: TABS.includes(tab) ? tab : 'team', seq: /^\d{1,15}$/.test(seq || '') ? Number(seq) : null, params};
  }
  return {screen: Object.hasOwn(SCREENS, screen) ? screen : 'sessions', params};
}

const remembered = (name) => {
  try {
    return localStorage.getItem(`planck.${name}`) || '';
  } catch {
    return '';
  }
};
const remember = (name, value) => {
  try {
    localStorage.setItem(`planck.${name}`, value);
  } catch { /* a browser that keeps nothing */ }
};

export function mount(root) {
  const listing = {status: 'loading', items: [], next: null};
  const state = {
    access: 'checking', route: {screen: 'sessions', params: {}}, room: null, now: clock.now(), toasts: [], help: false, notices: [], me: null,
    inbox: {items: [], connection: 'connecting', lostSince: 0, ready: false}, sessions: listing, models: listing, teams: listing,
    theme: remembered('theme') || 'auto', language: chooseLanguage(remembered('language')), keys: remembered('keys') !== 'off', problem: null,
  };
  const store = new Store(state, () => render(html`<${App} state=${state} act=${act} />`, root));
  const act = new Actions(store);
  applyLook(state);
  addEventListener('hashchange', () => act.go());
  addEventListener('keydown', (event) => act.press(event));
  setInterval(() => {
    if (document.visibilityState === 'visible') store.set({now: clock.now()});
  }, 1000);
  store.touch();
  act.enter();
}

// The same lanes and transcript over a log that is in the file itself: no server, no way to change anything.
export function mountOffline(root, {events, session = {}}) {
  chooseLanguage('');
  const room = Room.of(events, session);
  let tab = 'team';
  const draw = () => render(html`<${Offline} room=${room} session=${session} tab=${tab} choose=${(one) => { tab = one; draw(); }} tick=${room.lanes} words=${room.words} facts=${room.facts} />`, root);
  room.touch = draw;
  draw();
  return room;
}

function Offline({room, session, tab, choose, tick, words, facts}) {
  const View = tab === 'team' ? TeamView : ConversationView;
  return html`<div class="app"><header class="topbar"><div class="where"><h1 class="session-name"><bdi>${seen(room.board.name || session.name || room.board.id)}</bdi></h1></div>
    <nav class="tabs" aria-label=${t('nav.session')}>${['team', 'conversation'].map((one) => html`<button key=${one} aria-current=${tab === one ? 'page' : undefined} onClick=${() => choose(one)}>${t(`nav.${one}`)}</button>`)}</nav></header>
    <main class="main"><${View} room=${room} now=${Date.parse(room.board.updated)} act=${null} tick=${tick} words=${words} facts=${facts} /></main></div>`;
}

class App extends Component {
  componentDidCatch(problem) { this.setState({problem}); }

  render({state, act}) {
    const {room, route} = state;
    if (this.state.problem) return html`<main class="page"><${Problem} problem=${this.state.problem} retry=${() => location.reload()} /></main>`;
    if (state.access !== 'in') return html`<${Door} state=${state} act=${act} />`;
    return html`<div class=${`app at-${route.screen}`}><a class="skip" href="#main" onClick=${(event) => { event.preventDefault(); document.getElementById('main').focus(); }}>${t('skip')}</a>
      <${Topbar} state=${state} act=${act} /><${ConnectionBar} room=${room} inbox=${state.inbox} now=${state.now} />
      <main class="main" id="main" tabindex="-1"><${Screen} state=${state} act=${act} /></main>
      <${Toasts} items=${state.toasts} dismiss=${(id) => act.dismiss(id)} />
      <div class="hidden" aria-live="polite">${room?.finished ? seen(room.finished.slice(0, 1000)) : ''}</div>
      ${state.help && html`<${Help} close=${() => act.store.set({help: false})} />`}</div>`;
  }
}

function Screen({state, act}) {
  const {room, route, now} = state;
  if (route.screen !== 'session' || !room) {
    const View = SCREENS[route.screen] || SessionsView;
    return html`<${View} state=${state} act=${act} />`;
  }
  const base = `#/s/${room.id}`;
  const given = {key: room.id, room, now, act, base, tick: room.lanes, words: room.words, facts: room.facts};
  if (route.tab === 'team') return html`<${TeamView} ...${given} models=${state.models.items} />`;
  if (route.tab === 'changes') return html`<${ChangesView} key=${room.id} room=${room} act=${act} params=${route.params} />`;
  return html`<${ConversationView} ...${given} seq=${route.seq} agent=${route.params.agent || ''} />`;
}

// Where nobody is let in: how to come in.
function Door({state, act}) {
  if (state.access === 'checking') return html`<main class="door" aria-busy="true"><span class="hidden">${t('loading')}</span></main>`;
  return html`<main class="door"><h1>${t('door.title')}</h1>
    ${state.access === 'problem' ? html`<${Problem} problem=${state.problem} retry=${() => act.enter()} />` : html`<p>${t('door.words')}</p><p><code>planck serve --open</code></p>
    <form class="row" onSubmit=${submitted(({code}) => act.redeem(code))}>
      <label class="grow"><span class="hidden">${t('door.code')}</span><input name="code" autocomplete="off" placeholder=${t('door.code')} required maxlength="128" /></label><button class="primary">${t('door.enter')}</button></form>
    ${state.problem && html`<p class="error">${t('door.bad')}</p>`}`}</main>`;
}

function applyLook({theme, language}) {
  const root = document.documentElement;
  if (theme === 'auto') delete root.dataset.theme;
  else root.dataset.theme = theme;
  root.lang = language;
}

class Actions {
  constructor(store) {
    this.store = store;
  }

  get state() { return this.store.state; }

  async enter() {
    const found = /^#code=([A-Za-z0-9_-]+)(?:&to=(\/s\/[A-Za-z0-9_-]+\/team))?$/.exec(location.hash);
    if (found) {
      history.replaceState(null, '', `${location.pathname}#${found[2] || '/sessions'}`);
      try {
        await post('/auth/code', {code: found[1]});
      } catch { /* a code that was used already: there may be a cookie */ }
    }
    try {
      const route = readRoute(location.hash);
      if (route.screen === 'session') this.store.set({route, room: this.makeRoom(route.id)}); // while the rest is asked
      const me = await get('/me');
      this.store.set({access: 'in', me, problem: null});
      this.followInbox();
      this.loadModels();
      get('/notices').then(({items}) => this.store.set({notices: items}), () => {});
      this.go();
    } catch (problem) {
      this.store.set({access: problem.status === 401 ? 'out' : 'problem', problem: problem.status === 401 ? null : problem});
    }
  }

  async redeem(code) {
    try {
      await post('/auth/code', {code: String(code).trim()});
      await this.enter();
    } catch (problem) {
      this.store.set({access: 'out', problem});
    }
  }

  go() {
    if (this.state.access !== 'in') return;
    const route = readRoute(location.hash);
    const before = this.state.route;
    let {room} = this.state;
    if (route.screen === 'session' && room?.id !== route.id) {
      room?.close();
      room = this.makeRoom(route.id);
    } else if (route.screen !== 'session' && room) {
      room.close();
      room = null;
    }
    this.store.set({route, room});
    this.setTitle();
    if (before.screen !== route.screen || before.tab !== route.tab) document.getElementById('main')?.scrollTo(0, 0);
  }

  makeRoom(id) {
    const room = new Room(id, () => {
      if (this.state.room === room) this.setTitle();
      this.store.touch();
    });
    room.onreset = () => this.store.set({room: this.makeRoom(id)});
    room.open();
    return room;
  }

  reopen() {
    const {room} = this.state;
    room.close();
    this.store.set({room: this.makeRoom(room.id)});
  }

  // Runs what a button asks for; what goes wrong is said, and returned.
  async attempt(work) {
    try {
      await work();
      return null;
    } catch (problem) {
      if (problem.status === 401) this.store.set({access: 'out', problem: null});
      this.tell(problem.kind || 'internal_error', problem.message || t('error.network'), 'error');
      return problem;
    }
  }

  tell(title, words, kind = '') {
    const id = newKey();
    this.store.set({toasts: [...this.state.toasts.slice(-3), {id, title, words, kind}]});
    setTimeout(() => this.dismiss(id), kind === 'error' ? 12_000 : 6000);
  }

  dismiss(id) { this.store.set({toasts: this.state.toasts.filter((one) => one.id !== id)}); }

  // Sessions
  async loadSessions(words) {
    const {sessions} = this.state;
    if (sessions.status !== 'ready') this.store.set({sessions: {...sessions, status: 'loading'}});
    try {
      const {items, next} = await get(`/sessions${query({q: words.trim().slice(0, 200), limit: 50})}`);
      this.store.set({sessions: {status: 'ready', items, next}});
    } catch (problem) {
      this.store.set({sessions: {status: 'error', items: [], next: null, problem}});
    }
  }

  moreSessions(words) {
    const {sessions} = this.state;
    return this.attempt(async () => {
      const {items, next} = await get(`/sessions${query({q: words.trim(), limit: 50, cursor: sessions.next})}`);
      this.store.set({sessions: {status: 'ready', items: [...sessions.items, ...items], next}});
    });
  }

  start(given) {
    const body = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== ''));
    if (body.max_budget_usd) body.max_budget_usd = Number(body.max_budget_usd);
    return this.attempt(async () => {
      const made = await post('/sessions', body, {key: newKey()});
      location.hash = `#/s/${made.id}/team`;
    });
  }

  replace(row) {
    const {sessions} = this.state;
    this.store.set({sessions: {...sessions, items: sessions.items.map((one) => (one.id === row.id ? row : one))}});
  }

  rename(id, name) {
    return this.attempt(async () => {
      this.replace(await patch(`/sessions/${id}`, {name}));
    });
  }

  deleteSession(id) {
    return this.attempt(async () => {
      await remove(`/sessions/${id}`);
      const {sessions} = this.state;
      this.store.set({sessions: {...sessions, items: sessions.items.filter((one) => one.id !== id)}});
    });
  }

  fork(id, at) {
    return this.attempt(async () => {
      const made = await post(`/sessions/${id}/fork`, at ? {at} : {}, {key: newKey()});
      this.tell(made.name, t('fork.made'));
      location.hash = `#/s/${made.id}/conversation`;
    });
  }

  // The session at hand
  prompt(text, options = {}) {
    const {room} = this.state;
    return this.attempt(async () => {
      await post(`/sessions/${room.id}/prompts`, {text, ...options}, {key: newKey()});
      room.wake();
    });
  }

  // As if it had not been said: everyone forgets what came after, and hears this instead, if anything. Files stay.
  goOnFrom(seq, text) {
    const {room} = this.state;
    const {id} = room;
    const wait = () => new Promise((done) => setTimeout(done, 200));
    return this.attempt(async () => {
      await post(`/sessions/${id}/interrupt`, {});
      for (let left = 50; left > 0 && room.board.agents.some(isBusy); left -= 1) await wait();
      for (let left = 10; ; left -= 1) {
        try {
          await post(`/sessions/${id}/rewind`, {to: Math.max(0, seq - 1)});
          break;
        } catch (problem) { // an agent may still be on its way out of its turn
          if (problem.status !== 400 || left <= 0) throw problem;
          await wait();
        }
      }
      room.wake();
      if (text) await post(`/sessions/${id}/prompts`, {text}, {key: newKey()});
    });
  }

  interrupt(agent) { return this.attempt(() => post(`/sessions/${this.state.room.id}/interrupt`, agent ? {agent} : {})); }

  changeMode(mode) { return this.attempt(() => patch(`/sessions/${this.state.room.id}`, {mode})); }

  changeModel(agent, model) {
    return this.attempt(() => patch(`/sessions/${this.state.room.id}/agents/${encodeURIComponent(agent)}`, {model}));
  }

  // The inbox
  followInbox() {
    this.inboxStream?.close();
    const change = (changes) => {
      this.store.set({inbox: {...this.state.inbox, ...changes}});
      this.setTitle();
    };
    this.inboxStream = new Stream(() => '/inbox/events', {
      live: () => change({items: [], ready: true}),
      question: (one) => {
        change({items: [...this.others(one.id), one]});
        this.announce(one);
      },
      settled: ({id}) => change({items: this.others(id)}),
      session: (row) => this.replace(row),
      asleep: () => {},
      state: (now) => {
        change({connection: now, lostSince: now === 'lost' ? this.state.inbox.lostSince || clock.now() : 0});
        if (now === 'lost') this.checkAccess();
      },
    });
  }

  others(id) { return this.state.inbox.items.filter((one) => one.id !== id); }

  async checkAccess() {
    try {
      await get('/me');
    } catch (problem) {
      if (problem.status === 401) this.store.set({access: 'out', problem: null});
    }
  }

  announce(question) {
    this.announced = this.announced || new Set();
    if (this.announced.has(question.id)) return;
    this.announced.add(question.id);
    if (document.visibilityState === 'visible' || remembered('notify') !== 'on' || globalThis.Notification?.permission !== 'granted') return;
    const note = new Notification(t('inbox.asks', {agent: seen(question.agent).slice(0, 80)}), {body: seen(question.text).slice(0, 200), tag: question.id});
    note.onclick = () => {
      focus();
      location.hash = '#/inbox';
    };
  }

  answer(question, allow, options = {}) {
    return this.attempt(async () => {
      await post(`/approvals/${question.id}`, {digest: question.digest, allow, ...options}, {key: newKey()});
      this.store.set({inbox: {...this.state.inbox, items: this.others(question.id)}});
      this.setTitle();
    });
  }

  // Without a frame: a tab that is not seen draws none, and its title is what is seen of it.
  setTitle() {
    const {inbox, room, route} = this.state;
    const where = room?.board.name || (route.screen === 'session' ? '' : t(`nav.${route.screen}`));
    document.title = `${inbox.items.length ? `(${inbox.items.length}) ` : ''}${where ? `${seen(where).slice(0, 80)} · ` : ''}Planck`;
  }

  // The place
  async loadList(name, path) {
    try {
      const {items} = await get(path);
      this.store.set({[name]: {status: 'ready', items, next: null}});
    } catch (problem) {
      this.store.set({[name]: {status: 'error', items: [], next: null, problem}});
    }
  }

  loadPlace() {
    this.loadModels();
    this.loadTeams();
  }

  loadModels() { return this.loadList('models', '/models'); }

  loadTeams() { return this.loadList('teams', '/teams'); }

  setTheme(theme) {
    remember('theme', theme);
    this.store.set({theme});
    applyLook(this.state);
  }

  setLanguage(wanted) {
    remember('language', wanted);
    this.store.set({language: chooseLanguage(wanted)});
    applyLook(this.state);
  }

  setKeys(on) {
    remember('keys', on ? 'on' : 'off');
    this.store.set({keys: on});
  }

  async setNotify(on) {
    if (on && globalThis.Notification && await Notification.requestPermission() !== 'granted') on = false;
    remember('notify', on ? 'on' : 'off');
    this.store.touch();
  }

  get notifies() { return remembered('notify') === 'on' && globalThis.Notification?.permission === 'granted'; }

  async leave() {
    await this.attempt(() => remove('/auth'));
    this.inboxStream?.close();
    this.state.room?.close();
    this.store.set({access: 'out', room: null, problem: null});
  }

  press(event) {
    const {target, key} = event;
    const {room, help, keys} = this.state;
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
    if (!keys || help || target.closest?.('input, textarea, select, [contenteditable]')) return;
    const base = room ? `#/s/${room.id}` : '';
    const places = {i: '#/inbox', s: '#/sessions', ...(room ? {t: `${base}/team`, c: `${base}/conversation`, d: `${base}/changes`} : {})};
    if (key === '?') this.store.set({help: true});
    else if (Object.hasOwn(places, key)) location.hash = places[key];
    else if (key === '/') document.getElementById('find')?.focus();
    else if (key === 'm') document.getElementById('composer')?.focus();
    else if (key === 'X' && room) this.interrupt('');
    else return;
    event.preventDefault();
  }
}
