// The page: which screen, what it shows, and what a person can do with it.

import {Component, html, render} from './vendor/preact.js';
import {clock, get, newKey, patch, post, query, remove} from './api.js';
import {SessionStore, Store} from './store.js';
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

const TABS = {team: TeamView, conversation: ConversationView, changes: ChangesView};
const SCREENS = {sessions: SessionsView, inbox: InboxView, settings: SettingsView};

function readRoute(hash) {
	const [path, rest = ''] = hash.replace(/^#\/?/, '').split('?');
	const [screen, id, tab, seq] = path.split('/').map((part) => decodeURIComponent(part));
	const params = Object.fromEntries(new URLSearchParams(rest));
	if (screen === 's' && /^[A-Za-z0-9_-]{1,64}$/.test(id || '')) {
		return {screen: 'session', id, tab: Object.hasOwn(TABS, tab) ? tab : 'team', seq: /^\d{1,15}$/.test(seq || '') ? Number(seq) : null, params};
	}
	return {screen: Object.hasOwn(SCREENS, screen) ? screen : 'sessions', params};
}

// A browser may keep nothing.
const memory = (work) => {
	try {
		return work(localStorage) || '';
	} catch {
		return '';
	}
};
const remembered = (name) => memory((kept) => kept.getItem(`planck.${name}`));
const remember = (name, value) => memory((kept) => kept.setItem(`planck.${name}`, value));

export function mount(root) {
	const listing = {status: 'loading', items: [], next: null};
	const state = {
		access: 'checking', route: {screen: 'sessions', params: {}}, sessionStore: null, now: clock.now(), toasts: [], help: false, notices: [], me: null,
		inbox: {items: [], connection: 'connecting', lostSince: 0, ready: false}, sessions: listing, models: listing, teams: listing,
		theme: remembered('theme') || 'auto', language: remembered('language'), keys: remembered('keys') || 'on', problem: null,
	};
	const store = new Store(state, () => render(html`<${App} state=${state} act=${act} />`, root));
	const act = new Actions(store);
	act.applyLook();
	addEventListener('hashchange', () => act.go());
	addEventListener('keydown', (event) => act.press(event));
	setInterval(() => {
		if (document.visibilityState === 'visible') store.set({now: clock.now()});
	}, 1000);
	store.touch();
	act.enter();
}

const given = (sessionStore) => ({sessionStore, tick: sessionStore.lanes, words: sessionStore.words, facts: sessionStore.facts});

// The same lanes and transcript over a log that is in the file itself: no server, no way to change anything.
export function mountOffline(root, {events, session = {}}) {
	const sessionStore = SessionStore.of(events, session);
	let tab = 'team';
	const choose = (one) => {
		tab = one;
		sessionStore.touch();
	};
	sessionStore.touch = () => render(html`<div class="app"><header class="topbar"><div class="where"><h1 class="clip"><bdi>${seen(sessionStore.board.name || session.name || sessionStore.board.id)}</bdi></h1></div>
		<nav class="tabs" aria-label=${t('nav.session')}>${['team', 'conversation'].map((one) => html`<button key=${one} aria-current=${tab === one ? 'page' : undefined} onClick=${() => choose(one)}>${t(`nav.${one}`)}</button>`)}</nav></header>
		<main class="main"><${TABS[tab]} ...${given(sessionStore)} now=${Date.parse(sessionStore.board.updated)} act=${null} /></main></div>`, root);
	sessionStore.touch();
	return sessionStore;
}

class App extends Component {
	componentDidCatch(problem) { this.setState({problem}); }

	render({state, act}) {
		const {sessionStore, route, inbox, now} = state;
		if (this.state.problem) return html`<main class="page"><${Problem} problem=${this.state.problem} retry=${() => location.reload()} /></main>`;
		if (state.access !== 'in') return html`<${Door} state=${state} act=${act} />`;
		const skip = (event) => {
			event.preventDefault();
			document.getElementById('main').focus();
		};
		return html`<div class=${`app at-${route.screen}`}><a class="skip" href="#main" onClick=${skip}>${t('skip')}</a>
			<${Topbar} state=${state} act=${act} /><${ConnectionBar} sessionStore=${sessionStore} inbox=${inbox} now=${now} />
			<main class="main" id="main" tabindex="-1"><${CurrentScreen} state=${state} act=${act} /></main>
			<${Toasts} items=${state.toasts} dismiss=${(id) => act.dismiss(id)} />
			<div class="hidden" aria-live="polite">${sessionStore?.finished ? seen(sessionStore.finished.slice(0, 1000)) : ''}</div>
			${state.help && html`<${Help} close=${() => act.store.set({help: false})} />`}</div>`;
	}
}

function CurrentScreen({state, act}) {
	const {sessionStore, now, models, route: {screen, tab, seq, params}} = state;
	if (!sessionStore) return html`<${SCREENS[screen] || SessionsView} state=${state} act=${act} />`;
	const key = tab === 'changes' ? `${sessionStore.id}?${params.call || params.agent}` : sessionStore.id;
	return html`<${TABS[tab]} key=${key} ...${given(sessionStore)} now=${now} act=${act} base=${`#/s/${sessionStore.id}`} models=${models.items} seq=${seq} agent=${params.agent} params=${params} />`;
}

// Where nobody is let in: how to come in.
function Door({state: {access, problem}, act}) {
	if (access === 'checking') return html`<main class="door" aria-busy="true"><span class="hidden">${t('loading')}</span></main>`;
	return html`<main class="door"><h1>${t('door.title')}</h1>
		${access === 'problem' ? html`<${Problem} problem=${problem} retry=${() => act.enter()} />` : html`<p>${t('door.words')}</p><p><code>planck serve --open</code></p>
		<form class="row" onSubmit=${submitted(({code}) => act.redeem(code))}><input name="code" class="grow" autocomplete="off" aria-label=${t('door.code')} placeholder=${t('door.code')} required maxlength="128" /><button class="primary">${t('door.enter')}</button></form>
		${problem && html`<p class="error">${t('door.bad')}</p>`}`}</main>`;
}

class Actions {
	constructor(store) {
		this.store = store;
		this.announced = new Set();
		this.asked = {};
	}

	get state() { return this.store.state; }

	async enter() {
		const found = /^#code=([A-Za-z0-9_-]+)(?:&to=(\/s\/[A-Za-z0-9_-]+\/team))?$/.exec(location.hash);
		if (found) {
			history.replaceState(null, '', `${location.pathname}#${found[2] || '/sessions'}`);
			await post('/auth/code', {code: found[1]}).catch(() => {}); // used already: there may be a cookie
		}
		try {
			const route = readRoute(location.hash);
			if (route.screen === 'session') this.store.set({route, sessionStore: this.makeSessionStore(route.id)}); // while the rest is asked
			const me = await get('/me');
			this.store.set({access: 'in', me, problem: null, language: remembered('language') || me.locale});
			this.applyLook();
			this.followInbox();
			this.load('models');
			get('/notices').then(({items}) => this.store.set({notices: items}), () => {});
			this.go();
		} catch (problem) {
			this.store.set({access: 'problem', problem});
			this.checkOut(problem);
		}
	}

	// Who is no longer let in stands before the door.
	checkOut({status}) { if (status === 401) this.store.set({access: 'out', problem: null}); }

	async redeem(code) {
		try {
			await post('/auth/code', {code: code.trim()});
			await this.enter();
		} catch (problem) {
			this.store.set({access: 'out', problem});
		}
	}

	go() {
		if (this.state.access !== 'in') return;
		const route = readRoute(location.hash);
		const before = this.state.route;
		let {sessionStore} = this.state;
		if (sessionStore?.id !== route.id) {
			sessionStore?.close();
			sessionStore = route.id ? this.makeSessionStore(route.id) : null;
		}
		this.store.set({route, sessionStore});
		this.setTitle();
		if (before.screen !== route.screen || before.tab !== route.tab) document.getElementById('main')?.scrollTo(0, 0);
	}

	makeSessionStore(id) {
		const sessionStore = new SessionStore(id, () => {
			if (this.state.sessionStore === sessionStore) this.setTitle();
			this.store.touch();
		});
		sessionStore.onreset = () => this.reopen();
		sessionStore.open();
		return sessionStore;
	}

	reopen() {
		const {sessionStore} = this.state;
		sessionStore.close();
		this.store.set({sessionStore: this.makeSessionStore(sessionStore.id)});
	}

	// Runs what a button asks for; what goes wrong is said, and returned.
	async attempt(work) {
		try {
			await work();
			return null;
		} catch (problem) {
			this.checkOut(problem);
			this.tell(problem.kind || 'internal_error', problem.message || t('error.away'), 'error');
			return problem;
		}
	}

	tell(title, words, kind = '') {
		const id = newKey();
		this.store.set({toasts: [...this.state.toasts.slice(-3), {id, title, words, kind}]});
		setTimeout(() => this.dismiss(id), kind === 'error' ? 12_000 : 6000);
	}

	dismiss(id) { this.store.set({toasts: this.state.toasts.filter((one) => one.id !== id)}); }

	// Lists
	async load(name, path = `/${name}`, before = []) {
		const asked = {};
		this.asked[name] = asked;
		// Of two questions the answers may come in the other order: the newest question counts.
		const set = (changes) => { if (this.asked[name] === asked) this.store.set({[name]: {...this.state[name], ...changes}}); };
		if (this.state[name].status === 'error') set({status: 'loading'});
		try {
			const {items, next} = await get(path);
			set({status: 'ready', items: [...before, ...items], next});
		} catch (problem) {
			set({status: 'error', items: [], next: null, problem});
		}
	}

	loadPlace() {
		this.load('models');
		this.load('teams');
	}

	loadSessions(words, more = {}, before = []) { return this.load('sessions', `/sessions${query({q: words.trim().slice(0, 200), limit: 50, ...more})}`, before); }

	moreSessions(words) { return this.loadSessions(words, {cursor: this.state.sessions.next}, this.state.sessions.items); }

	// Sessions
	changeRows(change) {
		const {sessions} = this.state;
		this.store.set({sessions: {...sessions, items: sessions.items.flatMap(change)}});
	}

	replace(row) { this.changeRows((one) => (one.id === row.id ? row : one)); }

	start(asked) {
		const body = Object.fromEntries(Object.entries(asked).filter(([, value]) => value !== ''));
		if (body.max_budget_usd) body.max_budget_usd = Number(body.max_budget_usd);
		return this.attempt(async () => { location.hash = `#/s/${(await post('/sessions', body)).id}/team`; });
	}

	rename(id, name) { return this.attempt(async () => this.replace(await patch(`/sessions/${id}`, {name}))); }

	deleteSession(id) {
		return this.attempt(async () => {
			await remove(`/sessions/${id}`);
			this.changeRows((one) => (one.id === id ? [] : one));
		});
	}

	fork(id, at) {
		return this.attempt(async () => {
			const made = await post(`/sessions/${id}/fork`, at ? {at} : {});
			this.tell(made.name, t('fork.made'));
			location.hash = `#/s/${made.id}/conversation`;
		});
	}

	// The session at hand
	get place() { return `/sessions/${this.state.sessionStore.id}`; }

	prompt(text, options = {}) {
		const {sessionStore} = this.state;
		return this.attempt(async () => {
			await post(`${this.place}/prompts`, {text, ...options});
			sessionStore.wake();
		});
	}

	// As if it had not been said: everyone forgets what came after, and hears this instead, if anything. Files stay.
	goOnFrom(seq, text) {
		const {place, state: {sessionStore}} = this;
		const wait = () => new Promise((done) => setTimeout(done, 200));
		return this.attempt(async () => {
			await post(`${place}/interrupt`);
			for (let left = 50; left > 0 && sessionStore.board.agents.some(isBusy); left -= 1) await wait();
			for (let left = 10; ; left -= 1) {
				try {
					await post(`${place}/rewind`, {to: Math.max(0, seq - 1)});
					break;
				} catch (problem) { // an agent may still be on its way out of its turn
					if (problem.status !== 400 || left <= 0) throw problem;
					await wait();
				}
			}
			sessionStore.wake();
			if (text) await post(`${place}/prompts`, {text});
		});
	}

	interrupt(agent) { return this.attempt(() => post(`${this.place}/interrupt`, {agent})); }

	changeMode(mode) { return this.attempt(() => patch(this.place, {mode})); }

	changeModel(agent, model) { return this.attempt(() => patch(`${this.place}/agents/${encodeURIComponent(agent)}`, {model})); }

	// The inbox
	followInbox() {
		this.inboxStream?.close();
		const others = (id) => this.state.inbox.items.filter((one) => one.id !== id);
		this.settle = (id) => this.changeInbox({items: others(id)});
		this.inboxStream = new Stream(() => '/inbox/events', {
			live: () => this.changeInbox({items: [], ready: true}),
			question: (one) => {
				this.changeInbox({items: [...others(one.id), one]});
				this.announce(one);
			},
			settled: ({id}) => this.settle(id),
			session: (row) => this.replace(row),
			state: (now) => {
				this.changeInbox({connection: now, lostSince: now === 'lost' ? this.state.inbox.lostSince || clock.now() : 0});
				if (now === 'lost') get('/me').catch((problem) => this.checkOut(problem));
			},
		});
	}

	changeInbox(changes) {
		this.store.set({inbox: {...this.state.inbox, ...changes}});
		this.setTitle();
	}

	announce(question) {
		if (this.announced.has(question.id)) return;
		this.announced.add(question.id);
		if (document.visibilityState === 'visible' || !this.notifies) return;
		const note = new Notification(t('inbox.asks', {agent: seen(question.agent).slice(0, 80)}), {body: seen(question.text).slice(0, 200), tag: question.id});
		note.onclick = () => {
			focus();
			location.hash = '#/inbox';
		};
	}

	answer({id, digest}, allow, options) {
		return this.attempt(async () => {
			await post(`/approvals/${id}`, {digest, allow, ...options});
			this.settle(id);
		});
	}

	// Without a frame: a tab that is not seen draws none, and its title is what is seen of it.
	setTitle() {
		const {inbox: {items}, sessionStore, route} = this.state;
		const where = sessionStore?.board.name || (route.screen === 'session' ? '' : t(`nav.${route.screen}`));
		document.title = `${items.length ? `(${items.length}) ` : ''}${where ? `${seen(where).slice(0, 80)} · ` : ''}Planck`;
	}

	// The look
	setLook(changes) {
		for (const [name, value] of Object.entries(changes)) remember(name, value);
		this.store.set(changes);
		this.applyLook();
	}

	applyLook() {
		const {theme, language} = this.state;
		const root = document.documentElement;
		root.dataset.theme = theme;
		root.lang = chooseLanguage(language);
		this.store.set({language: root.lang});
	}

	async setNotify(on) {
		const may = on && globalThis.Notification && await Notification.requestPermission() === 'granted';
		remember('notify', may ? 'on' : 'off');
		this.store.touch();
	}

	get notifies() { return remembered('notify') === 'on' && globalThis.Notification?.permission === 'granted'; }

	async leave() {
		await this.attempt(() => remove('/auth'));
		this.inboxStream?.close();
		this.state.sessionStore?.close();
		this.store.set({access: 'out', sessionStore: null, problem: null});
	}

	press(event) {
		const {target, key} = event;
		const {sessionStore, keys} = this.state;
		// Not `state.help`: a closed dialog reports it a moment later, and a key pressed meanwhile would be lost.
		const inDialog = document.querySelector('dialog[open]');
		if (keys === 'off' || inDialog || event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || target.closest?.('input, textarea, select')) return;
		const base = sessionStore && `#/s/${sessionStore.id}`;
		const places = {i: '#/inbox', s: '#/sessions', ...(sessionStore && {t: `${base}/team`, c: `${base}/conversation`, d: `${base}/changes`})};
		const fields = {'/': 'find', m: 'composer'};
		if (key === '?') this.store.set({help: true});
		else if (Object.hasOwn(places, key)) location.hash = places[key];
		else if (Object.hasOwn(fields, key)) document.getElementById(fields[key])?.focus();
		else if (key === 'X' && sessionStore) this.interrupt('');
		else return;
		event.preventDefault();
	}
}
