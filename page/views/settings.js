// The place: a first model, what there is, what works, and how the page looks.

import {html, useEffect, useState} from '../vendor/preact.js';
import {get, post} from '../api.js';
import {LANGUAGES, brief, known, money, seen, short, t, took} from '../words.js';
import {Check, Choice, Facts, Field, Fold, Mark, Pending, Problem, Skeleton, submitted, useBusy} from '../parts/common.js';

const VENDORS = {anthropic: 'Anthropic', openai: 'OpenAI', google: 'Google'};
const CHECK_MARKS = {ok: '✓', warning: '▲', error: '✗'};

export function SettingsView({state, act}) {
	const {models, teams, me} = state;
	useEffect(() => act.loadPlace(), []);
	return html`<div class="page settings">
		<${Setup} models=${models} act=${act} /><${Look} state=${state} act=${act} />
		<${List} title=${t('models.title')} empty=${t('models.empty')} of=${models} Row=${Model} act=${act} />
		<${List} title=${t('teams.title')} empty=${t('teams.empty')} of=${teams} Row=${Team} act=${act} />
		<${Doctor} /><${Config} />
		<section><h2>${t('set.server')}</h2><${Facts} rows=${[[t('set.version'), seen(me.version), {class: 'num'}], [t('set.workspace'), seen(me.workspace), {class: 'code'}]]} />
			<button onClick=${() => act.leave()}>${t('set.leave')}</button></section></div>`;
}

// What the server says, once it has.
function useAnswer(path, say, again) {
	const [found, setFound] = useState(null);
	useEffect(() => { get(path).then((answer) => setFound(say(answer)), () => {}); }, [again]);
	return found;
}

// Tried before anything is kept; a key goes to the server once and never comes back.
function Setup({models, act}) {
	const none = models.status === 'ready' && !models.items.some((one) => one.current || one.has_key || one.source !== 'catalog');
	const [open, setOpen] = useState(false);
	const [provider, setProvider] = useState('anthropic');
	const [result, setResult] = useState(null);
	const [busy, run] = useBusy();
	const names = useAnswer('/models?all=true', ({items}) => items) || [];
	const standard = useAnswer('/config', (found) => found.default_model, result);
	const other = provider === 'other';
	const submit = ({name, model, key, base_url}, form) => run(async () => {
		setResult(null);
		const body = {provider: other ? name : provider, ...(model && {model}), ...(key && {key}), ...(other && {base_url})};
		const error = await act.attempt(async () => {
			const answer = await post('/setup', body);
			setResult(answer);
			if (answer.ok) {
				form.reset();
				setOpen(false);
				act.loadPlace();
			}
		});
		if (error) setResult({ok: false, error});
	});
	const done = result?.ok && html`<p class="box ok" role="status">${t('setup.done')}</p>`;
	if (!none && !open) return html`<section><h2>${t('setup.title')}</h2>${done}<p>${t('setup.have')} <span class="code strong">${brief(standard || models.items.find((one) => one.current)?.id, 60)}</span></p><button onClick=${() => setOpen(true)}>${t('setup.change')}</button></section>`;
	const field = (name, label, given, hint) => html`<${Field} label=${label} hint=${hint}><input name=${name} autocomplete="off" ...${given} /><//>`;
	return html`<section class="setup"><h2>${t(none ? 'setup.first' : 'setup.title')}</h2><p class="muted">${t('setup.words')}</p><form class="start" onSubmit=${submitted(submit)}>
		<${Choice} label=${t('setup.provider')} of=${[...Object.keys(VENDORS), 'other']} say=${(one) => VENDORS[one] || t('setup.other')} value=${provider} set=${setProvider} />
		${other && [field('name', t('setup.name'), {required: true, pattern: '[A-Za-z0-9_\\-]{1,64}'}), field('base_url', t('setup.address'), {type: 'url', required: true}, t('setup.where'))]}
		${field('key', t('setup.key'), {type: 'password', required: !other}, t('setup.kept'))}
		${field('model', t('setup.model'), {list: 'setup-models', required: other, placeholder: other ? '' : t('setup.default')})}<datalist id="setup-models">${names.filter((one) => one.provider === provider).map((one) => html`<option key=${one.id} value=${one.model}></option>`)}</datalist>
		${done}${result && !result.ok && html`<${Problem} problem=${result.error} />`}
		<div class="row end"><button class="primary" disabled=${busy}>${t(busy ? 'models.busy' : 'setup.go')}</button></div></form></section>`;
}

const Look = ({state, act}) => html`<section><h2>${t('look.title')}</h2><div class="options">
	<${Choice} label=${t('look.theme')} of=${['auto', 'light', 'dark']} say=${(one) => t(`look.${one}`)} value=${state.theme} set=${(theme) => act.setLook({theme})} />
	<${Choice} label=${t('look.words')} of=${LANGUAGES} say=${(one) => t(`language.${one}`)} value=${state.language} set=${(language) => act.setLook({language})} /></div>
	<${Check} label=${t('look.notify')} checked=${act.notifies} set=${(on) => act.setNotify(on)} /><${Check} label=${t('look.keys')} checked=${state.keys === 'on'} set=${(on) => act.setLook({keys: on ? 'on' : 'off'})} /></section>`;

// What a button asks for, and what came of it: [answer, busy, ask].
function useQuestion(ask) {
	const [result, setResult] = useState(null);
	const [busy, run] = useBusy();
	return [busy ? null : result, busy, () => run(() => ask().then(setResult, (error) => setResult({ok: false, error, problems: [error.message || t('error.away')]})))];
}

// A row with a button that tries it; below stands what came of that.
function Tried({children, problem, ask, word, good}) {
	const [result, busy, run] = useQuestion(ask);
	const bad = [problem, ...(result && !result.ok ? result.problems || [`${result.error.kind} ${result.error.message}`] : [])].filter(Boolean);
	return html`<li class="place-row"><span class="grow">${children}${bad.map((words, at) => html`<span class="error small" role="alert" key=${at}>✗ ${brief(words, 240)}</span>`)}
		${result?.ok && html`<span class="ok small" role="status">✓ ${good(result)}</span>`}</span><button disabled=${busy} onClick=${run}>${t(busy ? 'models.busy' : word)}</button></li>`;
}

const List = ({title, empty, of, act, Row}) => html`<section><h2>${title}</h2>${of.status !== 'ready' ? html`<${Pending} of=${of} retry=${() => act.loadPlace()} />`
	: of.items.length ? html`<ul class="list">${of.items.map((one) => html`<${Row} key=${one.id || one.path} one=${one} />`)}</ul>` : html`<p class="muted">${empty}</p>`}</section>`;

const Model = ({one}) => html`<${Tried} ask=${() => post('/models/test', {model: one.id})} word="models.test" good=${(result) => t('models.works', {time: took(result.duration_ms)})}>
	<span class="code strong" title=${seen(one.id)}>${brief(one.id, 44)}</span>${one.current && html` <span class="tag">${t('models.used')}</span>`}
	<span class="muted small">${t('models.window', {n: short(one.context_window)})}${one.input_usd !== null && ` · ${t('models.price', {input: money(one.input_usd), output: money(one.output_usd ?? 0)})}`}</span><//>`;

const Team = ({one}) => html`<${Tried} ask=${() => post(`/teams/${encodeURIComponent(one.alias)}/check`)} word="teams.check" good=${() => t('teams.ok')} problem=${one.problem}>
	<span class="strong">${brief(one.name || one.alias, 44)}</span> <span class="muted">${brief(one.description, 120)}</span><span class="muted small">${brief(one.members.join(', '), 120)}</span><//>`;

function Doctor() {
	const [result, busy, run] = useQuestion(() => get('/doctor'));
	return html`<section><h2>${t('doctor.title')}</h2>${result?.error && html`<${Problem} problem=${result.error} retry=${run} />`}
		${result?.checks && html`<ul class="list">${result.checks.map((one) => html`<li key=${one.name} class=${`place-row is-${one.state}`}><${Mark} is=${CHECK_MARKS[one.state] || '·'} /><span class="hidden">${known('check', one.state)}</span>
			<span><span class="strong">${seen(one.name)}</span> ${seen(one.detail)}${one.advice && html`<span class="muted small">${seen(one.advice)}</span>`}</span></li>`)}</ul>`}
		${busy ? html`<${Skeleton} />` : html`<button onClick=${run}>${t('doctor.run')}</button>`}</section>`;
}

function Config() {
	const rows = useAnswer('/config/origins', ({items}) => items);
	return rows && html`<section><h2>${t('config.title')}</h2><${Fold} title=${t('config.show', {n: rows.length})}><${Facts} rows=${rows.map(({key, value, source}) => [
		html`<span class="code">${seen(key)}</span>`, html`<span class="code pre">${seen(typeof value === 'string' ? value : JSON.stringify(value))}</span> <span class="muted">${seen(source)}</span>`])} /><//></section>`;
}
