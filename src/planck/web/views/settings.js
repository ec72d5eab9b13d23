// The place: a first model, what there is, what works, and how the page looks.

import {html, useEffect, useState} from '../vendor/preact.js';
import {get, post} from '../api.js';
import {brief, known, languages, money, seen, short, t, took} from '../words.js';
import {Field, Mark, Pending, Problem, Skeleton, into, options, submitted, useBusy} from '../parts/common.js';

const VENDORS = {anthropic: 'Anthropic', openai: 'OpenAI', google: 'Google'};
const MARKS = {ok: '✓', warning: '▲', error: '✗'};

export function SettingsView({state, act}) {
  useEffect(() => act.loadPlace(), []);
  return html`<div class="page settings">
    <${Setup} state=${state} act=${act} /><${Look} state=${state} act=${act} />
    <${List} title=${t('models.title')} empty=${t('models.empty')} of=${state.models} Row=${Model} retry=${() => act.loadModels()} />
    <${List} title=${t('teams.title')} empty=${t('teams.empty')} of=${state.teams} Row=${Team} retry=${() => act.loadTeams()} />
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
  const [busy, run] = useBusy();
  const other = provider === 'other';
  useEffect(() => { get('/models?all=true').then(({items}) => setNames(items), () => {}); }, []);
  useEffect(() => { get('/config').then((found) => setStandard(String(found.default_model || '')), () => {}); }, [result]);
  const submit = ({name, model, key, base_url}, form) => run(async () => {
    setResult(null);
    const body = {provider: other ? name : provider, ...(model && {model}), ...(key && {key}), ...(other && {base_url})};
    const error = await act.attempt(async () => {
      const answer = await post('/setup', body);
      setResult(answer);
      if (answer.ok) {
        form.reset();
        setOpen(false);
        act.loadModels();
      }
    });
    if (error) setResult({ok: false, error});
  });
  const done = result?.ok && html`<p class="ok-box" role="status">${t('setup.done')}</p>`;
  if (!none && !open) return html`<section><h2>${t('setup.title')}</h2>${done}<p>${t('setup.have')} <span class="code strong">${brief(standard || state.models.items.find((one) => one.current)?.id || '', 60)}</span></p><button onClick=${() => setOpen(true)}>${t('setup.change')}</button></section>`;
  const offered = names.filter((one) => one.provider === provider);
  return html`<section class="setup"><h2>${none ? t('setup.first') : t('setup.title')}</h2><p class="muted">${t('setup.words')}</p><form onSubmit=${submitted(submit)}>
    <${Field} label=${t('setup.provider')}><select value=${provider} onChange=${into(setProvider)}>${options(Object.keys(VENDORS), (one) => VENDORS[one])}<option value="other">${t('setup.another')}</option></select></${Field}>
    ${other && html`<${Field} label=${t('setup.name')}><input name="name" required pattern="[A-Za-z0-9_\\-]{1,64}" autocomplete="off" /></${Field}><${Field} label=${t('setup.address')} hint=${t('setup.addressHint')}><input name="base_url" type="url" required autocomplete="off" /></${Field}>`}
    <${Field} label=${t('setup.key')} hint=${t('setup.keyHint')}><input name="key" type="password" autocomplete="off" required=${!other} /></${Field}>
    <${Field} label=${t('setup.model')}><input name="model" list="setup-models" required=${other} autocomplete="off" placeholder=${other ? '' : t('setup.default')} /></${Field}><datalist id="setup-models">${offered.map((one) => html`<option key=${one.id} value=${one.model}></option>`)}</datalist>
    ${done}${result && !result.ok && html`<${Problem} problem=${result.error} />`}
    <div class="row end"><button class="primary" disabled=${busy}>${busy ? t('models.testing') : t('setup.go')}</button></div></form></section>`;
}

function Look({state, act}) {
  return html`<section><h2>${t('look.title')}</h2><div class="start-options">
    <${Field} label=${t('look.theme')}><select value=${state.theme} onChange=${into((value) => act.setTheme(value))}>${options(['auto', 'light', 'dark'], (one) => t(`look.${one}`))}</select></${Field}>
    <${Field} label=${t('look.language')}><select value=${state.language} onChange=${into((value) => act.setLanguage(value))}>${options(languages, (one) => t(`language.${one}`))}</select></${Field}></div>
    <label class="check"><input type="checkbox" checked=${act.notifies} onChange=${(event) => act.setNotify(event.target.checked)} /> ${t('look.notify')}</label>
    <label class="check"><input type="checkbox" checked=${state.keys} onChange=${(event) => act.setKeys(event.target.checked)} /> ${t('look.keys')}</label></section>`;
}

// What a button asks for, and what came of it.
function useAnswer(ask) {
  const [result, setResult] = useState(null);
  const [busy, run] = useBusy();
  return [result, busy, () => run(() => ask().then(setResult, (error) => setResult({ok: false, error, problems: [error.message || t('error.network')]})))];
}

const Good = ({children}) => html`<span class="ok block-line" role="status">✓ ${children}</span>`;
const Bad = ({children}) => html`<span class="error block-line" role="alert">✗ ${children}</span>`;

function List({title, empty, of, retry, Row}) {
  return html`<section><h2>${title}</h2>${of.status !== 'ready' && html`<${Pending} of=${of} retry=${retry} />`}
    ${of.status === 'ready' && !of.items.length && html`<p class="muted">${empty}</p>`}
    ${of.items.length > 0 && html`<ul class="list">${of.items.map((one) => html`<${Row} key=${one.id || one.path} one=${one} />`)}</ul>`}</section>`;
}

function Model({one}) {
  const [result, busy, test] = useAnswer(() => post('/models/test', {model: one.id}));
  return html`<li class="place-row"><span class="grow"><span class="code strong" title=${seen(one.id)}>${brief(one.id, 44)}</span>${one.current && html` <span class="tag">${t('models.current')}</span>`}
    <span class="muted block-line">${t('models.window', {n: short(one.context_window)})}${one.input_usd !== null && ` · ${t('models.price', {input: money(one.input_usd), output: money(one.output_usd ?? 0)})}`}</span>
    ${result && !busy && (result.ok ? html`<${Good}>${t('models.works', {time: took(result.duration_ms)})}</${Good}>` : html`<${Bad}>${seen(result.error?.kind)} ${brief(result.error?.message || '', 200)}</${Bad}>`)}</span>
    <button disabled=${busy} onClick=${test}>${busy ? t('models.testing') : t('models.test')}</button></li>`;
}

function Team({one}) {
  const [result, busy, check] = useAnswer(() => post(`/teams/${encodeURIComponent(one.alias)}/check`, {}));
  return html`<li class="place-row"><span class="grow"><span class="strong">${brief(one.name || one.alias, 44)}</span> <span class="muted">${brief(one.description, 120)}</span>
    <span class="muted block-line">${brief(one.members.join(', '), 120)}</span>${one.problem && html`<${Bad}>${brief(one.problem, 240)}</${Bad}>`}
    ${result && !busy && (result.ok ? html`<${Good}>${t('teams.ok')}</${Good}>` : result.problems.map((words, at) => html`<${Bad} key=${at}>${seen(words)}</${Bad}>`))}</span>
    <button disabled=${busy} onClick=${check}>${t('teams.check')}</button></li>`;
}

function Doctor() {
  const [result, busy, run] = useAnswer(() => get('/doctor'));
  return html`<section><h2>${t('doctor.title')}</h2>${busy && html`<${Skeleton} />`}${!busy && result?.error && html`<${Problem} problem=${result.error} retry=${run} />`}
    ${!busy && result?.checks && html`<ul class="list checks">${result.checks.map((one) => html`<li key=${one.name} class=${one.state}><${Mark} is=${MARKS[one.state] || '·'} /><span class="hidden">${known('check', one.state)}</span>
      <span><span class="strong">${seen(one.name)}</span> ${seen(one.detail)}${one.advice && html`<span class="muted block-line">${seen(one.advice)}</span>`}</span></li>`)}</ul>`}
    ${!busy && html`<button onClick=${run}>${t('doctor.run')}</button>`}</section>`;
}

function Config() {
  const [rows, setRows] = useState([]);
  useEffect(() => { get('/config/origins').then(({items}) => setRows(items), () => {}); }, []);
  if (!rows.length) return null;
  return html`<section><h2>${t('config.title')}</h2><details><summary>${t('config.show', {n: rows.length})}</summary><dl class="facts config">${rows.map((one) => html`<dt class="code" key=${one.key}>${seen(one.key)}</dt><dd><span class="code pre">${seen(typeof one.value === 'string' ? one.value : JSON.stringify(one.value))}</span> <span class="muted">${seen(one.source)}</span></dd>`)}</dl></details></section>`;
}
