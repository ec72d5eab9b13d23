// Unified diffs as rows, and what differs between two texts.

import {html, useState} from './vendor/preact.js';
import {plain, t} from './words.js';

const SHOWN = 12;
const MOST = 3000;

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
		} else if (sign === '\\') rows.push({kind: 'hunk', text: line});
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

// What the two begin and end with is the same; what is between them was another thing.
export function diffTexts(before, after) {
	const [a, b] = [before, after].map((text) => (text === '' ? [] : text.replace(/\n$/, '').split('\n')));
	let top = 0, end = 0;
	while (top < Math.min(a.length, b.length) && a[top] === b[top]) top += 1;
	while (end < Math.min(a.length, b.length) - top && a[a.length - 1 - end] === b[b.length - 1 - end]) end += 1;
	const rows = (kind, lines) => lines.map((text) => ({kind, text}));
	return [...rows('same', a.slice(0, top)), ...rows('del', a.slice(top, a.length - end)), ...rows('add', b.slice(top, b.length - end)), ...rows('same', a.slice(a.length - end))];
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
	return html`<div class="diff-box"><div class="diff" tabindex="0" role="group" aria-label=${t('diff')}><table><tbody>${useful.slice(0, open ? MOST : SHOWN).map(({kind, ...row}, at) => html`<tr class=${kind} key=${at}>
		${number(row.old)}${number(row.new)}<td class="sign">${SIGNS[kind]?.[0]}${SIGNS[kind] && html`<span class="hidden">${t(SIGNS[kind][1])} </span>`}</td><td class="line">${plain(row.text)}</td></tr>`)}</tbody></table></div>
		${useful.length > SHOWN && !open && html`<button class="link" onClick=${() => setOpen(true)}>${t('showAll', {n: useful.length})}</button>`}</div>`;
}
