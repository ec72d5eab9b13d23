// The sessions of this place: find one, search what was said, start another.

import {html, useEffect, useRef, useState} from '../vendor/preact.js';
import {get, query} from '../api.js';
import {ago, brief, moment, money, seen, t} from '../words.js';
import {Empty, Field, Pending, Problem, SessionState, into, options, submitted, useBusy} from '../parts/common.js';

const MODES = ['ask', 'workspace', 'read-only', 'plan', 'full'];

export function SessionsView({state, act}) {
  const {sessions, now, notices} = state;
  const [words, setWords] = useState('');
  const [hits, setHits] = useState(null);
  const [starting, setStarting] = useState(false);
  const asked = useRef(0);
  useEffect(() => { act.loadSessions(''); }, []);
  useEffect(() => {
    asked.current += 1;
    const mine = asked.current;
    const timer = setTimeout(async () => {
      act.loadSessions(words);
      if (words.trim().length < 2) return setHits(null);
      try {
        const found = await get(`/search${query({q: words.trim(), limit: 30})}`);
        if (mine === asked.current) setHits(found.items);
      } catch (problem) {
        if (mine === asked.current) setHits([]);
      }
      return undefined;
    }, words ? 200 : 0);
    return () => clearTimeout(timer);
  }, [words]);
  const {items} = sessions;
  const nothing = sessions.status === 'ready' && !items.length;
  return html`<div class="page sessions">
    ${notices.map((one, at) => html`<p class="notice" key=${at}>${seen(one)}</p>`)}
    <div class="page-head"><input id="find" type="search" class="grow" value=${words} placeholder=${t('sessions.find')} aria-label=${t('sessions.find')} onInput=${into(setWords)} />
      <button class="primary" aria-expanded=${starting} onClick=${() => setStarting(!starting)}>${t('sessions.new')}</button></div>
    ${(starting || (nothing && !words)) && html`<${Start} state=${state} act=${act} />`}
    ${sessions.status !== 'ready' && html`<${Pending} of=${sessions} retry=${() => act.loadSessions(words)} />`}
    ${nothing && (words ? html`<${Empty} words=${t('sessions.none')} />` : !starting && html`<p class="muted center">${t('sessions.empty')}</p>`)}
    ${items.length > 0 && html`<ul class="list session-list" aria-label=${t('nav.sessions')}>${items.map((one) => html`<${Row} key=${one.id} one=${one} now=${now} act=${act} />`)}</ul>`}
    ${sessions.next && html`<button class="more" onClick=${() => act.moreSessions(words)}>${t('more')}</button>`}
    ${hits && html`<section aria-label=${t('search.label')}><h2>${t('search.label')}</h2>
      ${hits.length === 0 ? html`<p class="muted">${t('search.none')}</p>` : html`<ul class="list hits">${hits.map((hit) => html`<li key=${`${hit.session_id}/${hit.seq}`}>
        <a href=${`#/s/${hit.session_id}/conversation/${hit.seq}`}><span class="hit-where"><bdi>${brief(hit.session_name, 28)}</bdi> · <bdi>${brief(hit.agent, 20)}</bdi> <span class="muted num">${ago(hit.ts, now)}</span></span>
        <span class="hit-text">${brief(hit.excerpt, 240)}</span></a></li>`)}</ul>`}</section>`}
  </div>`;
}

function Row({one, now, act}) {
  const [more, setMore] = useState(false);
  return html`<li class="session-row"><a class="session-main" href=${`#/s/${one.id}/team`}>
    <span class="session-title"><bdi class="strong" title=${seen(one.name)}>${brief(one.name, 36)}</bdi> <${SessionState} state=${one.state} /></span>
    <span class="session-prompt">${brief(one.first_prompt, 160) || html`<span class="muted">${t('sessions.noPrompt')}</span>`}</span>
    <span class="session-facts muted">${one.team && html`<span>${brief(one.team.split('/').pop(), 24)}</span>`}<span class="code">${brief(one.model, 28)}</span>
      <span class="num">${one.cost_usd === null ? t('cost.unknown') : money(one.cost_usd)}</span><time class="num" datetime=${seen(one.updated)} title=${moment(one.updated)}>${ago(one.updated, now)}</time>
      ${one.holder && html`<span title=${t('sessions.heldWhere', {host: seen(one.holder.host), pid: one.holder.pid})}>${t('sessions.held')}</span>`}</span></a>
    <button class="icon" aria-expanded=${more} aria-label=${t('sessions.acts', {name: seen(one.name)})} onClick=${() => setMore(!more)}>⋯</button>
    ${more && html`<${Acts} one=${one} act=${act} done=${() => setMore(false)} />`}</li>`;
}

function Acts({one, act, done}) {
  const [name, setName] = useState(one.name);
  const [sure, setSure] = useState(false);
  const [details, setDetails] = useState(null);
  useEffect(() => { get(`/sessions/${one.id}`).then(setDetails, () => {}); }, []);
  return html`<div class="row-acts"><form class="row" onSubmit=${submitted(async () => { await act.rename(one.id, name); done(); })}>
    <label class="grow"><span class="hidden">${t('sessions.rename')}</span><input value=${name} maxlength="100" onInput=${into(setName)} /></label><button>${t('sessions.rename')}</button></form>
    <div class="row"><button onClick=${() => act.fork(one.id)}>${t('fork')}</button>
    ${['md', 'html', 'ndjson'].map((format) => html`<a class="button" key=${format} download href=${`/api/v1/sessions/${one.id}/export?format=${format}`}>${t('export', {format})}</a>`)}
    ${sure ? html`<button class="danger" onClick=${async () => { await act.deleteSession(one.id); done(); }}>${t('sessions.reallyDelete')}</button>` : html`<button onClick=${() => setSure(true)}>${t('sessions.delete')}</button>`}</div>
    ${details?.parent && html`<p class="muted">${t('sessions.forkOf')} <a href=${`#/s/${details.parent}/conversation/${details.forked_at}`}>${seen(details.parent)}</a> ${t('at', {seq: details.forked_at})}</p>`}</div>`;
}

function Start({state, act}) {
  const [busy, run] = useBusy();
  const [problem, setProblem] = useState(null);
  const {models, teams} = state;
  useEffect(() => act.loadPlace(), []);
  const submit = (given) => run(async () => setProblem(await act.start(given)));
  if (models.status === 'ready' && !models.items.some((one) => one.has_key || one.source !== 'catalog')) {
    return html`<${Empty} words=${t('start.noModel')}><a class="button primary" href="#/settings">${t('setup.first')}</a></${Empty}>`;
  }
  return html`<form class="start" onSubmit=${submitted(submit)} aria-label=${t('sessions.new')}>
    <${Field} label=${t('start.prompt')}><textarea name="prompt" rows="3" required placeholder=${t('start.example')}></textarea></${Field}>
    <div class="start-options">
      <${Field} label=${t('nav.team')}><select name="team"><option value="">${t('start.default')}</option>${teams.items.filter((one) => !one.problem).map((one) => html`<option key=${one.alias} value=${one.alias}>${brief(one.name || one.alias, 40)}</option>`)}</select></${Field}>
      <${Field} label=${t('setup.model')}><select name="model"><option value="">${t('start.default')}</option>${options(models.items.map((one) => one.id), (id) => brief(id, 48))}</select></${Field}>
      <${Field} label=${t('mode.label')}><select name="mode"><option value="">${t('start.default')}</option>${options(MODES, (mode) => t(`mode.${mode}`))}</select></${Field}>
      <${Field} label=${t('start.budget')}><input name="max_budget_usd" type="number" min="0.01" step="0.01" inputmode="decimal" placeholder=${t('start.noLimit')} /></${Field}>
    </div>
    ${problem && html`<${Problem} problem=${problem} />`}
    <div class="row end"><button class="primary" disabled=${busy}>${busy ? t('start.starting') : t('start.go')}</button></div></form>`;
}
