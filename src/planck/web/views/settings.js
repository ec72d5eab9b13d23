// The place: a first model, what there is, what works, and how the page looks.

import {html, useEffect, useState} from '../vendor/preact.js';
import {get, post} from '../api.js';
import {brief, known, languages, money, seen, short, t, took} from '../words.js';
import {Empty, Field, Problem, Skeleton} from '../parts/common.js';

const VENDORS = ['anthropic', 'openai', 'google'];
const MARKS = {ok: '✓', warning: '▲', error: '✗'};

export function SettingsView({state, act}) {
  useEffect(() => {
    act.loadModels();
    act.loadTeams();
  }, []);
  return html`<div class="page settings">
    <${Setup} state=${state} act=${act} /><${Look} state=${state} act=${act} /><${Models} models=${state.models} act=${act} /><${Teams} teams=${state.teams} act=${act} />
    <${Doctor} /><${Config} />
    <section><h2>${t('set.server')}</h2><dl class="facts"><dt>${t('set.version')}</dt><dd class="num">${seen(state.me.version)}</dd><dt>${t('set.workspace')}</dt><dd class="code">${seen(state.me.workspace)}</dd></dl>
      <button onClick=${() => act.leave()}>${t('set.leave')}</button></section></div>`;
}

// Tried before anything is kept; a key goes to the server once and never comes back.
function Setup({state, act}) {
  const none = state.models.status === 'ready' && !state.models.items.some((one) => one.current || one.has_key || one.source !== 'catalog');
  const [open, setOpen] = useState(false);
  const [provider, setProvider] = useState('anthropic');
  const [names, setNames] = useState([]);
  const [standard, setStandard] = useState('');
  const [result, setResult] = useState(null);
  const [busy, setBusy] = useState(false);
  const other = provider === 'other';
  useEffect(() => { get('/models?all=true').then(({items}) => setNames(items), () => {}); }, []);
  useEffect(() => { get('/config').then((found) => setStandard(String(found.default_model || '')), () => {}); }, [result]);
  const submit = async (event) => {
    event.preventDefault();
    const form = event.target;
    const given = Object.fromEntries(new FormData(form));
    setBusy(true);
    setResult(null);
    const body = {provider: other ? given.name : provider, ...(given.model ? {model: given.model} : {}), ...(given.key ? {key: given.key} : {}), ...(other ? {base_url: given.base_url} : {})};
    const problem = await act.attempt(async () => {
      const answer = await post('/setup', body);
      setResult(answer);
      if (answer.ok) {
        form.reset();
        act.loadModels();
      }
    });
    if (problem) setResult({ok: false, error: {kind: problem.kind, message: problem.message}});
    setBusy(false);
  };
  if (!none && !open) return html`<section><h2>${t('setup.title')}</h2><p>${t('setup.have')} <span class="code strong">${brief(standard || state.models.items.find((one) => one.current)?.id || '', 60)}</span></p><button onClick=${() => setOpen(true)}>${t('setup.change')}</button></section>`;
  const offered = names.filter((one) => one.provider === provider);
  return html`<section class="setup"><h2>${none ? t('setup.first') : t('setup.title')}</h2><p class="muted">${t('setup.words')}</p><form onSubmit=${submit}>
    <${Field} label=${t('setup.provider')}><select value=${provider} onChange=${(event) => setProvider(event.target.value)}>${VENDORS.map((one) => html`<option key=${one} value=${one}>${known('vendor', one)}</option>`)}<option value="other">${t('setup.another')}</option></select></${Field}>
    ${other && html`<${Field} label=${t('setup.name')}><input name="name" required pattern="[A-Za-z0-9_\\-]{1,64}" autocomplete="off" /></${Field}><${Field} label=${t('setup.address')} hint=${t('setup.addressHint')}><input name="base_url" type="url" required autocomplete="off" /></${Field}>`}
    <${Field} label=${t('setup.key')} hint=${t('setup.keyHint')}><input name="key" type="password" autocomplete="off" required=${!other} /></${Field}>
    <${Field} label=${t('setup.model')}><input name="model" list="setup-models" required=${other} autocomplete="off" placeholder=${other ? '' : t('setup.default')} /></${Field}><datalist id="setup-models">${offered.map((one) => html`<option key=${one.id} value=${one.model}></option>`)}</datalist>
    ${result && (result.ok ? html`<p class="ok-box" role="status">${t('setup.done')}</p>` : html`<${Problem} problem=${result.error} />`)}
    <div class="row end"><button class="primary" disabled=${busy}>${busy ? t('setup.testing') : t('setup.go')}</button></div></form></section>`;
}

function Look({state, act}) {
  return html`<section><h2>${t('look.title')}</h2><div class="start-options">
    <${Field} label=${t('look.theme')}><select value=${state.theme} onChange=${(event) => act.setTheme(event.target.value)}>${['auto', 'light', 'dark'].map((one) => html`<option key=${one} value=${one}>${t(`look.${one}`)}</option>`)}</select></${Field}>
    <${Field} label=${t('look.language')}><select value=${state.language} onChange=${(event) => act.setLanguage(event.target.value)}>${languages.map((one) => html`<option key=${one} value=${one}>${t(`language.${one}`)}</option>`)}</select></${Field}></div>
    <label class="check"><input type="checkbox" checked=${act.notifies} onChange=${(event) => act.setNotify(event.target.checked)} /> ${t('look.notify')}</label>
    <label class="check"><input type="checkbox" checked=${state.keys} onChange=${(event) => act.setKeys(event.target.checked)} /> ${t('look.keys')}</label></section>`;
}

function Models({models, act}) {
  return html`<section><h2>${t('models.title')}</h2>
    ${models.status === 'loading' && html`<${Skeleton} />`}${models.status === 'error' && html`<${Problem} problem=${models.problem} retry=${() => act.loadModels()} />`}
    ${models.status === 'ready' && !models.items.length && html`<${Empty} words=${t('models.empty')} />`}
    ${models.items.length > 0 && html`<ul class="list">${models.items.map((one) => html`<${Model} key=${one.id} one=${one} />`)}</ul>`}</section>`;
}

function Model({one}) {
  const [result, setResult] = useState(null);
  const test = async () => {
    setResult('busy');
    try {
      setResult(await post('/models/test', {model: one.id}));
    } catch (problem) {
      setResult({ok: false, error: problem});
    }
  };
  return html`<li class="place-row"><span class="grow"><span class="code strong" title=${seen(one.id)}>${brief(one.id, 44)}</span>${one.current && html` <span class="tag">${t('models.current')}</span>`}
    <span class="muted block-line">${t('models.window', {n: short(one.context_window)})}${one.input_usd !== null && ` · ${t('models.price', {input: money(one.input_usd), output: money(one.output_usd ?? 0)})}`}</span>
    ${result && result !== 'busy' && (result.ok ? html`<span class="ok block-line" role="status">✓ ${t('models.works', {time: took(result.duration_ms)})}</span>` : html`<span class="error block-line" role="alert">✗ ${seen(result.error?.kind || '')} ${brief(result.error?.message || '', 200)}</span>`)}</span>
    <button disabled=${result === 'busy'} onClick=${test}>${result === 'busy' ? t('models.testing') : t('models.test')}</button></li>`;
}

function Teams({teams, act}) {
  return html`<section><h2>${t('teams.title')}</h2>${teams.status === 'error' && html`<${Problem} problem=${teams.problem} retry=${() => act.loadTeams()} />`}
    ${teams.status === 'ready' && !teams.items.length && html`<p class="muted">${t('teams.empty')}</p>`}
    ${teams.items.length > 0 && html`<ul class="list">${teams.items.map((one) => html`<${Team} key=${one.path} one=${one} />`)}</ul>`}</section>`;
}

function Team({one}) {
  const [result, setResult] = useState(null);
  const check = async () => {
    setResult('busy');
    try {
      setResult(await post(`/teams/${encodeURIComponent(one.alias)}/check`, {}));
    } catch (problem) {
      setResult({ok: false, problems: [problem.message || t('error.network')]});
    }
  };
  return html`<li class="place-row"><span class="grow"><span class="strong">${brief(one.name || one.alias, 44)}</span> <span class="muted">${brief(one.description, 120)}</span>
    <span class="muted block-line">${brief(one.members.join(', '), 120)}</span>${one.problem && html`<span class="error block-line">✗ ${brief(one.problem, 240)}</span>`}
    ${result && result !== 'busy' && (result.ok ? html`<span class="ok block-line" role="status">✓ ${t('teams.ok')}</span>` : result.problems.map((words, at) => html`<span class="error block-line" key=${at}>✗ ${seen(words)}</span>`))}</span>
    <button disabled=${result === 'busy'} onClick=${check}>${t('teams.check')}</button></li>`;
}

function Doctor() {
  const [result, setResult] = useState(null);
  const run = async () => {
    setResult('busy');
    try {
      setResult(await get('/doctor'));
    } catch (problem) {
      setResult({problem});
    }
  };
  return html`<section><h2>${t('doctor.title')}</h2>${result === 'busy' && html`<${Skeleton} />`}${result?.problem && html`<${Problem} problem=${result.problem} retry=${run} />`}
    ${result?.checks && html`<ul class="list checks">${result.checks.map((one) => html`<li key=${one.name} class=${one.state}><span class="mark" aria-hidden="true">${MARKS[one.state] || '·'}</span><span class="hidden">${known('check', one.state)}</span>
      <span><span class="strong">${seen(one.name)}</span> ${seen(one.detail)}${one.advice && html`<span class="muted block-line">${seen(one.advice)}</span>`}</span></li>`)}</ul>`}
    ${result !== 'busy' && html`<button onClick=${run}>${t('doctor.run')}</button>`}</section>`;
}

function Config() {
  const [rows, setRows] = useState([]);
  useEffect(() => { get('/config/origins').then(({items}) => setRows(items), () => {}); }, []);
  if (!rows.length) return null;
  return html`<section><h2>${t('config.title')}</h2><details><summary>${t('config.show', {n: rows.length})}</summary><dl class="facts config">${rows.map((one) => html`<dt class="code" key=${one.key}>${seen(one.key)}</dt><dd><span class="code pre">${seen(typeof one.value === 'string' ? one.value : JSON.stringify(one.value))}</span> <span class="muted">${seen(one.source)}</span></dd>`)}</dl></details></section>`;
}
