// What stands behind the answer to the newest prompt, as the server's result of that work has it.

import {html, useEffect, useState} from '../vendor/preact.js';
import {get} from '../api.js';
import {brief, seen, t} from '../words.js';
import {isBusy} from './status.js';

// `asked`: the number of that prompt; 0: it is not among the events that were loaded.
export function Proof({sessionStore, board, asked}) {
	const [found, setFound] = useState(null);
	const wanted = asked && !sessionStore.offline && !board.agents.some(isBusy) && board.agents.length > 0;
	useEffect(() => {
		let gone = false;
		setFound(null);
		if (wanted) get(`/sessions/${sessionStore.id}/result?after=${asked - 1}`).then((result) => gone || setFound(result), () => {});
		return () => { gone = true; };
	}, [sessionStore.id, asked, wanted]);
	const rows = found?.evidence ? describe(found) : [];
	if (!rows.length) return null;
	return html`<section class="box proof" aria-label=${t('proof.title')}><strong>${t('proof.title')}</strong><ul class="plain">
		${rows.map(([good, words]) => html`<li key=${words}><span class=${good ? 'ok' : 'error'} aria-hidden="true">${good ? '✓' : '!'}</span> ${seen(words)}</li>`)}</ul></section>`;
}

function describe({checks = [], evidence}) {
	const rows = checks.map((one) => [one.ok, t(one.ok ? 'proof.passed' : one.exit_code ? 'proof.failed' : 'proof.open', {command: brief(one.command, 120), code: one.exit_code})]);
	for (const one of evidence.claims) {
		rows.push([one.verdict === 'proven', t(`proof.${one.verdict}`, {name: brief(one.agent, 24), text: brief(one.text, 120)})]);
	}
	const files = evidence.files_changed.length;
	if (!files) return rows;
	const test = evidence.commands.filter((one) => one.kind === 'test').pop();
	if (!test) rows.push([false, t('proof.untested', {n: files})]);
	else rows.push([test.fresh && test.exit_code === 0, t(test.fresh ? 'proof.fresh' : 'proof.stale_test', {command: brief(test.command, 120), code: test.exit_code ?? '?'})]);
	return rows;
}
