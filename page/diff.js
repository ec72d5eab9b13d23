// Unified diffs as rows, and a small diff of two texts.

import {html, useState} from './vendor/preact.js';
import {plain, t} from './words.js';

const SHOWN = 12;
const MOST_ROWS = 3000;
const LARGEST = 250_000; // cells of the table of a diff of two texts

// [{kind: 'add' | 'del' | 'same' | 'hunk' | 'file', text, old, new}]; the text of a `file` is its path
export function readDiff(text) {
	const rows = [];
	let before = 0, after = 0, left = 0, right = 0, path = '';
	for (const line of text.replace(/\n$/, '').split('\n')) {
		const hunk = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/.exec(line);
		const [sign] = line;
		if (hunk) {
			[before, left, after, right] = hunk.slice(1).map((one) => Number(one ?? 1));
			rows.push({kind: 'hunk', text: line});
		} else if (sign === '\\' || sign === '[') rows.push({kind: 'hunk', text: line}); // notes: no line of a hunk begins with these
		else if (left <= 0 && right <= 0) {
			if (/^(---|\+\+\+) [^/]/.test(line)) path = line.slice(6); // a removed file has no name after it, a new one none before
			if (line.startsWith('+++')) rows.push({kind: 'file', text: path});
		} else {
			const row = {kind: sign === '+' ? 'add' : sign === '-' ? 'del' : 'same', text: line.slice(1)};
			if (sign !== '+') [row.old, before, left] = [before, before + 1, left - 1];
			if (sign !== '-') [row.new, after, right] = [after, after + 1, right - 1];
			rows.push(row);
		}
	}
	return rows;
}

export function diffTexts(before, after) {
	const [a, b] = [before, after].map((text) => (text === '' ? [] : text.replace(/\n$/, '').split('\n')));
	const rows = (kind, lines) => lines.map((text) => ({kind, text}));
	if (a.length * b.length > LARGEST) return [...rows('del', a), ...rows('add', b)];
	const common = Array.from({length: a.length + 1}, () => new Uint16Array(b.length + 1));
	for (let i = a.length - 1; i >= 0; i -= 1) {
		for (let j = b.length - 1; j >= 0; j -= 1) common[i][j] = a[i] === b[j] ? common[i + 1][j + 1] + 1 : Math.max(common[i + 1][j], common[i][j + 1]);
	}
	const found = [];
	let i = 0, j = 0;
	while (i < a.length && j < b.length) {
		if (a[i] === b[j]) {
			found.push({kind: 'same', text: a[i++]});
			j += 1;
		} else if (common[i + 1][j] >= common[i][j + 1]) found.push({kind: 'del', text: a[i++]});
		else found.push({kind: 'add', text: b[j++]});
	}
	return [...found, ...rows('del', a.slice(i)), ...rows('add', b.slice(j))];
}

export const countRows = (rows) => ({added: rows.filter((row) => row.kind === 'add').length, removed: rows.filter((row) => row.kind === 'del').length});

export const countFiles = (rows) => rows.filter((row) => row.kind === 'file').length;

const SIGNS = {add: ['+', 'diff.added'], del: ['−', 'diff.removed']};

export function Diff({rows, all = false}) {
	const [open, setOpen] = useState(all);
	const several = countFiles(rows) > 1;
	const useful = rows.filter((row) => several || row.kind !== 'file');
	const numbered = useful.some((row) => row.old || row.new);
	const number = (value) => numbered && html`<td class="ln" aria-hidden="true">${value || ''}</td>`;
	return html`<div class="diff-box"><div class="diff" tabindex="0" role="group" aria-label=${t('diff')}><table><tbody>${useful.slice(0, open ? MOST_ROWS : SHOWN).map(({kind, ...row}, at) => html`<tr class=${kind} key=${at}>
		${number(row.old)}${number(row.new)}<td class="sign">${SIGNS[kind]?.[0]}${SIGNS[kind] && html`<span class="hidden">${t(SIGNS[kind][1])} </span>`}</td><td>${plain(row.text)}</td></tr>`)}</tbody></table></div>
		${useful.length > SHOWN && !open && html`<button class="link" onClick=${() => setOpen(true)}>${t('showAll', {n: useful.length})}</button>`}
		${open && useful.length > MOST_ROWS && html`<p class="strong">${t('diff.hidden', {n: useful.length - MOST_ROWS})}</p>`}</div>`;
}
