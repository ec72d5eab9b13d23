// Unified diffs as rows, and a small diff of two texts.

import {html, useState} from './vendor/preact.js';
import {plain, t} from './words.js';

const SHOWN = 12;
const LARGEST = 250_000; // cells of the table of a diff of two texts
const MOST = 3000;

// [{kind: 'add' | 'del' | 'same' | 'hunk' | 'file', text, old, new}]
export function readDiff(text) {
  const rows = [];
  let before = 0, after = 0, left = 0, right = 0;
  for (const line of text.replace(/\n$/, '').split('\n')) {
    const hunk = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/.exec(line);
    if (hunk) {
      [before, after] = [Number(hunk[1]), Number(hunk[3])];
      [left, right] = [Number(hunk[2] ?? 1), Number(hunk[4] ?? 1)];
      rows.push({kind: 'hunk', text: line});
    } else if (left <= 0 && right <= 0) {
      if (line) rows.push({kind: 'file', text: line});
    } else if (line[0] === '+') {
      rows.push({kind: 'add', text: line.slice(1), new: after});
      after += 1;
      right -= 1;
    } else if (line[0] === '-') {
      rows.push({kind: 'del', text: line.slice(1), old: before});
      before += 1;
      left -= 1;
    } else if (line[0] === '\\') rows.push({kind: 'file', text: line});
    else {
      rows.push({kind: 'same', text: line.slice(1), old: before, new: after});
      before += 1;
      after += 1;
      left -= 1;
      right -= 1;
    }
  }
  return rows;
}

export function diffTexts(before, after) {
  const a = before === '' ? [] : before.replace(/\n$/, '').split('\n');
  const b = after === '' ? [] : after.replace(/\n$/, '').split('\n');
  const gone = (line) => ({kind: 'del', text: line});
  const come = (line) => ({kind: 'add', text: line});
  if (a.length * b.length > LARGEST) return [...a.map(gone), ...b.map(come)];
  const longest = Array.from({length: a.length + 1}, () => new Uint16Array(b.length + 1));
  for (let i = a.length - 1; i >= 0; i -= 1) {
    for (let j = b.length - 1; j >= 0; j -= 1) longest[i][j] = a[i] === b[j] ? longest[i + 1][j + 1] + 1 : Math.max(longest[i + 1][j], longest[i][j + 1]);
  }
  const rows = [];
  let i = 0, j = 0;
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      rows.push({kind: 'same', text: a[i]});
      i += 1;
      j += 1;
    } else if (i < a.length && (j >= b.length || longest[i + 1][j] >= longest[i][j + 1])) rows.push(gone(a[i++]));
    else rows.push(come(b[j++]));
  }
  return rows;
}

export const countRows = (rows) => ({added: rows.filter((row) => row.kind === 'add').length, removed: rows.filter((row) => row.kind === 'del').length});

const SIGNS = {add: '+', del: '−', same: ' ', hunk: '', file: ''};

export function Diff({rows, all = false, label}) {
  const [open, setOpen] = useState(all);
  const useful = rows.filter((row) => row.kind !== 'file' || !/^(---|\+\+\+|diff|index)/.test(row.text));
  const shown = open ? useful.slice(0, MOST) : useful.slice(0, SHOWN);
  const numbered = useful.some((row) => row.old || row.new);
  return html`<div class="diff-box"><div class="diff" tabindex="0" role="group" aria-label=${label || t('diff')}><table><tbody>${shown.map((row, at) => html`<tr class=${row.kind} key=${at}>
    ${numbered && html`<td class="ln" aria-hidden="true">${row.old || ''}</td><td class="ln" aria-hidden="true">${row.new || ''}</td>`}
    <td class="sign">${SIGNS[row.kind]}${row.kind === 'add' && html`<span class="hidden">${t('diff.added')}</span>`}${row.kind === 'del' && html`<span class="hidden">${t('diff.removed')}</span>`}</td><td class="line">${plain(row.text)}</td></tr>`)}</tbody></table></div>
    ${useful.length > shown.length && !open && html`<button class="link" onClick=${() => setOpen(true)}>${t('showAll', {n: useful.length})}</button>`}</div>`;
}
